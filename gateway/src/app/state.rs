//! What all that a process does shares: settings, workspaces, store, and what works beside the requests.

use std::path::Path;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use muninn_memory::Clock;
use muninn_repo_tools::Supervisor;

use super::deep::Explorations;
use super::embedder::ConfiguredEmbedder;
use super::learn::Learner;
use super::settings::{Settings, keep_what_is_fixed};
use super::{Workspace, Workspaces};
use crate::backend::Courier;
use crate::config::{Config, ConfigError, paths};
use crate::metrics::{Finished, Forwarded, Metrics};
use crate::store::{Counters, LocalCounters, SqliteStore, Store, UsageSum, utc_today};
use crate::wire::convert::answer::Usage;

/// The state behind all requests; one for each process.
pub struct App {
    settings: RwLock<Arc<Settings>>,
    /// The served repository.
    pub workspace: Arc<Workspace>,
    /// All worktrees, the served one among them.
    pub workspaces: Workspaces,
    /// What is counted, for `GET /metrics`.
    pub metrics: Arc<Metrics>,
    /// Whether other machines reach the address that is listened on. It was settled when the process started: whatever
    /// the configuration says later, nobody is served there without a key.
    pub exposed: bool,
    /// Ledger and receipts; absent where the state directory cannot be used, and then nothing is injected.
    pub store: Option<Arc<dyn Store>>,
    /// Why there is no store.
    pub store_problem: Option<String>,
    /// The owner of all that works beside the requests.
    pub supervisor: Supervisor,
    /// What requests are counted for: the store's, or this process's own where there is no store.
    pub counters: Arc<dyn Counters>,
    /// What models explore beside the conversations.
    pub(crate) explorations: Explorations,
    /// What learns from the conversations.
    pub(crate) learner: Learner,
    /// Carries the requests of our own; started by the first.
    courier: OnceLock<Option<Courier>>,
}

impl App {
    /// Opens the repository and the state directory. Neither failing keeps a gateway from forwarding; both are said.
    ///
    /// # Errors
    /// [`ConfigError`] where not even the places can be told.
    pub fn open(config: Config, directory: &Path, own_port: u16) -> Result<App, ConfigError> {
        App::with_state(config, directory, own_port, &paths::state_dir()?)
    }

    /// [`App::open`], with this state directory.
    pub(super) fn with_state(
        config: Config,
        directory: &Path,
        own_port: u16,
        state_dir: &Path,
    ) -> Result<App, ConfigError> {
        let supervisor = Supervisor::default();
        let embedder = ConfiguredEmbedder::new(&config);
        let owners = (&supervisor, &embedder);
        let workspace = Workspace::supervised(directory, &config, state_dir, Clock::system(), owners);
        let workspace = Arc::new(workspace);
        config.check_key_roots(&workspace.root)?;
        if let Some(problem) = &workspace.problem {
            tracing::warn!("{problem}: requests are forwarded without context");
        }
        let (store, store_problem) = open_store(&config, state_dir, &supervisor);
        let counters: Arc<dyn Counters> = match &store {
            Some(store) => store.counters(),
            None => Arc::new(LocalCounters::default()),
        };
        let metrics = Arc::new(Metrics::default());
        metrics.know_backends(config.backends.iter().map(|backend| backend.name.as_str()));
        let workspaces = Workspaces::new(Arc::clone(&workspace), &config, state_dir, &supervisor);
        let settings = Settings::new(config, own_port, Arc::clone(&counters));
        let learner = Learner::start(&supervisor, state_dir, store.clone(), Arc::clone(&workspace));
        Ok(App {
            exposed: !settings.config.listen.ip().is_loopback(),
            settings: RwLock::new(Arc::new(settings)),
            workspace,
            workspaces,
            metrics,
            store,
            store_problem,
            supervisor,
            counters,
            explorations: Explorations::default(),
            learner,
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
        config.check_key_roots(&self.workspace.root)?;
        self.metrics
            .know_backends(config.backends.iter().map(|backend| backend.name.as_str()));
        self.workspaces.reload(&config);
        let settings = Arc::new(Settings::reloaded(config, &previous));
        *self.settings.write().unwrap_or_else(PoisonError::into_inner) = settings;
        Ok(kept)
    }

    /// How the ledger is doing, in words; `ok` where it is as it should be.
    pub async fn ledger_health(&self) -> String {
        match &self.store {
            Some(store) => store.health().await.to_string(),
            None => self.store_problem.clone().unwrap_or_default(),
        }
    }

    /// What carries the requests of our own; absent where the system will not have it.
    pub(crate) fn courier(&self) -> Option<&Courier> {
        let start = || {
            let started = Courier::start(&self.supervisor, self.settings().config.limits.connect_timeout);
            started
                .inspect_err(|error| tracing::error!(%error, "no model is asked"))
                .ok()
        };
        self.courier.get_or_init(start).as_ref()
    }

    /// Looks at a worktree again, if it is time to, once the request that worked in it is on its way: for the next one.
    pub fn keep_index_fresh(&self, worktree: &str) {
        let Some(workspace) = self.workspaces.due(Path::new(worktree)) else {
            return;
        };
        tokio::task::spawn_blocking(move || match workspace.refresh(&()) {
            Ok(_) => workspace.keep_up(),
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

fn open_store(config: &Config, state_dir: &Path, supervisor: &Supervisor) -> (Option<Arc<dyn Store>>, Option<String>) {
    match SqliteStore::supervised(state_dir, &config.limits, supervisor) {
        Ok(store) => {
            store.check_in_background();
            (Some(Arc::new(store)), None)
        }
        Err(error) => {
            tracing::error!(%error, "requests are forwarded without context");
            (None, Some(error.to_string()))
        }
    }
}
