//! What all requests of one gateway share.

use std::path::Path;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use tokio_util::task::TaskTracker;

use super::body_memory::BodyMemory;
use super::deep::Explorations;
use super::large::LargeBodies;
use super::learn::Learner;
use super::refusal::RefusalLog;
use crate::access::Access;
use crate::backend::{Courier, Router, Transport};
use crate::config::{Config, ConfigError, paths};
use crate::metrics::{Finished, Forwarded, Metrics};
use crate::server::{Repositories, Repository};
use crate::store::{SqliteStore, Store, UsageSum, utc_today};
use crate::wire::convert::answer::Usage;

/// What the user's configuration says, ready for use. Replaced as a whole when the configuration is read again, so a
/// request takes it once, at its start, and sees one configuration to its end.
pub struct Settings {
    /// The configuration in force.
    pub config: Config,
    /// Which backend answers what.
    pub router: Router,
    /// Who may ask. Taken over from the settings before by [`Access::renewed`], so that rates go on being counted.
    pub access: Access,
    own_port: u16,
}

impl Settings {
    /// Settles a configuration for a process that starts. `own_port` is the one that it listens on itself.
    #[must_use]
    pub fn new(config: Config, own_port: u16) -> Settings {
        Settings {
            router: Router::new(&config, own_port),
            access: Access::new(&config.keys),
            config,
            own_port,
        }
    }

    /// Settles a configuration that takes the place of another one. What was counted goes on being counted where it is
    /// still about the same: the requests of a key within the last minute.
    #[must_use]
    pub fn reloaded(config: Config, previous: &Settings) -> Settings {
        Settings {
            router: previous.router.renewed(&config, previous.own_port),
            access: previous.access.renewed(&config.keys),
            config,
            own_port: previous.own_port,
        }
    }
}

/// The state behind all requests; one for each process.
pub struct Shared {
    settings: RwLock<Arc<Settings>>,
    /// The served repository.
    pub repository: Arc<Repository>,
    /// All worktrees, the served one among them.
    pub repositories: Repositories,
    /// What is counted, for `GET /metrics`.
    pub metrics: Arc<Metrics>,
    /// Whether other machines reach the address that is listened on. It was settled when the process started: whatever
    /// the configuration says later, nobody is served there without a key.
    pub exposed: bool,
    /// Ledger and receipts; absent where the state directory cannot be used, and then nothing is injected.
    pub store: Option<Arc<dyn Store>>,
    /// Why there is no store.
    pub store_problem: Option<String>,
    /// What models explore beside the conversations.
    pub(super) explorations: Explorations,
    /// What learns from the conversations.
    pub(super) learner: Learner,
    /// Bounds the log lines of refused requests.
    pub(super) refusals: RefusalLog,
    /// The memory of all request bodies.
    pub(super) body_memory: Arc<BodyMemory>,
    /// Threads for work on large bodies.
    pub(super) large: LargeBodies,
    /// Carries the requests of our own; started by the first.
    courier: OnceLock<Option<Courier>>,
}

impl Shared {
    /// Opens the repository and the state directory. Neither failing keeps a gateway from forwarding; both are said.
    ///
    /// # Errors
    /// [`ConfigError`] where not even the places can be told.
    pub fn open(config: Config, directory: &Path, own_port: u16) -> Result<Shared, ConfigError> {
        let state_dir = paths::state_dir()?;
        let repository = Arc::new(Repository::open(directory, &config, &state_dir));
        config.check_key_roots(&repository.root)?;
        if let Some(problem) = &repository.problem {
            tracing::warn!("{problem}: requests are forwarded without context");
        }
        let (store, store_problem) = open_store(&config, &state_dir);
        let metrics = Arc::new(Metrics::default());
        metrics.know_backends(config.backends.iter().map(|backend| backend.name.as_str()));
        let repositories = Repositories::new(Arc::clone(&repository), &config, &state_dir);
        let settings = Settings::new(config, own_port);
        let learner = Learner::start(&state_dir, store.clone(), Arc::clone(&repository));
        Ok(Shared {
            exposed: !settings.config.listen.ip().is_loopback(),
            settings: RwLock::new(Arc::new(settings)),
            repository,
            repositories,
            metrics,
            store,
            store_problem,
            explorations: Explorations::default(),
            learner,
            refusals: RefusalLog::default(),
            body_memory: Arc::default(),
            large: LargeBodies::default(),
            courier: OnceLock::new(),
        })
    }

    /// The settings in force now.
    #[must_use]
    pub fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts a configuration that was read again in force, for every request from now on; those on their way keep the one
    /// that they took. Returns what it says and what cannot be had without a restart, a line each.
    ///
    /// # Errors
    /// [`ConfigError`] where it cannot hold here; nothing has changed then.
    pub fn reload(&self, mut config: Config) -> Result<Vec<String>, ConfigError> {
        let previous = self.settings();
        let kept = keep_what_is_fixed(&mut config, &previous.config);
        if self.exposed && config.keys.is_empty() {
            return Err(ConfigError::Value {
                setting: config.setting("keys"),
                message: format!(
                    "are needed as long as {} is listened on, which other machines reach; restart to listen elsewhere",
                    config.listen
                ),
            });
        }
        config.check_key_roots(&self.repository.root)?;
        self.metrics
            .know_backends(config.backends.iter().map(|backend| backend.name.as_str()));
        self.repositories.reload(&config);
        let settings = Arc::new(Settings::reloaded(config, &previous));
        *self.settings.write().unwrap_or_else(PoisonError::into_inner) = settings;
        Ok(kept)
    }

    /// How the ledger is doing, in words; `ok` where it is as it should be.
    #[must_use]
    pub fn ledger_health(&self) -> String {
        match &self.store {
            Some(store) => store.health().to_string(),
            None => self.store_problem.clone().unwrap_or_default(),
        }
    }

    /// What carries the requests of our own; absent where the system will not have it.
    pub(super) fn courier(&self) -> Option<&Courier> {
        let start = || {
            let started = Courier::start("muninn-models", self.settings().config.limits.connect_timeout);
            started
                .inspect_err(|error| tracing::error!(%error, "no model is asked"))
                .ok()
        };
        self.courier.get_or_init(start).as_ref()
    }

    /// Looks at a worktree again, if it is time to, once the request that worked in it is on its way: for the next one.
    pub fn keep_index_fresh(&self, worktree: &str) {
        let Some(repository) = self.repositories.due(Path::new(worktree)) else {
            return;
        };
        tokio::task::spawn_blocking(move || match repository.refresh(&()) {
            Ok(_) => repository.keep_up(),
            Err(error) => tracing::warn!(%error, "the index could not be brought up to date"),
        });
    }

    /// Writes down a conversation's request that is over: in the metrics, and among what its key used.
    pub fn finished(&self, finished: &Finished<'_>) {
        self.metrics.finished(finished);
        self.note_usage(finished.key, finished.usage);
    }

    /// The same for a request of another kind.
    pub fn forwarded(&self, forwarded: &Forwarded<'_>) {
        self.metrics.forwarded(forwarded);
        self.note_usage(forwarded.key, forwarded.usage);
    }

    fn note_usage(&self, key: &str, usage: Usage) {
        if let Some(store) = &self.store {
            let sum = UsageSum {
                requests: 1,
                input: usage.input.unwrap_or(0),
                output: usage.output.unwrap_or(0),
                cached: usage.cached.unwrap_or(0),
            };
            store.note_usage(key, utc_today(), sum);
        }
    }
}

/// Takes over what was settled when the process started: the socket is bound, the ledger open, workers and their
/// connections are there. Returns what the new configuration would have had otherwise.
fn keep_what_is_fixed(config: &mut Config, previous: &Config) -> Vec<String> {
    fn keep<T: PartialEq + Clone + std::fmt::Debug>(kept: &mut Vec<String>, key: &str, new: &mut T, old: &T) {
        if new != old {
            kept.push(format!("{key} stays {old:?} until a restart; the file says {new:?}"));
            new.clone_from(old);
        }
    }
    let mut kept = Vec::new();
    keep(&mut kept, "listen", &mut config.listen, &previous.listen);
    let (limits, before) = (&mut config.limits, &previous.limits);
    keep(
        &mut kept,
        "limits.connect_timeout_ms",
        &mut limits.connect_timeout,
        &before.connect_timeout,
    );
    keep(
        &mut kept,
        "limits.header_timeout_ms",
        &mut limits.header_timeout,
        &before.header_timeout,
    );
    keep(
        &mut kept,
        "limits.drain_timeout_ms",
        &mut limits.drain_timeout,
        &before.drain_timeout,
    );
    keep(
        &mut kept,
        "limits.ledger_days",
        &mut limits.ledger_days,
        &before.ledger_days,
    );
    keep(
        &mut kept,
        "limits.ledger_megabytes",
        &mut limits.ledger_megabytes,
        &before.ledger_megabytes,
    );
    kept
}

fn open_store(config: &Config, state_dir: &Path) -> (Option<Arc<dyn Store>>, Option<String>) {
    match SqliteStore::open(state_dir, &config.limits) {
        Ok((store, _)) => {
            store.check_in_background();
            (Some(Arc::new(store)), None)
        }
        Err(error) => {
            tracing::error!(%error, "requests are forwarded without context");
            (None, Some(error.to_string()))
        }
    }
}

/// What a request handler gets: the shared state, and its worker's own connections to backends.
#[derive(Clone)]
pub struct App {
    /// Shared by all workers.
    pub shared: Arc<Shared>,
    /// This worker's.
    pub transport: Transport,
    /// What is still to be done for requests that were answered; waited for before a worker ends.
    pub bookkeeping: TaskTracker,
}
