//! What all requests of one gateway share.

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use tokio_util::task::TaskTracker;

use crate::access::Access;
use crate::backend::{Router, Transport};
use crate::config::{Config, ConfigError, paths};
use crate::metrics::{Finished, Forwarded, Metrics};
use crate::server::Repository;
use crate::store::{SqliteStore, Store, UsageSum};
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
}

/// The state behind all requests; one for each process.
pub struct Shared {
    settings: RwLock<Arc<Settings>>,
    /// The served repository.
    pub repository: Repository,
    /// What is counted, for `GET /metrics`.
    pub metrics: Arc<Metrics>,
    /// Whether other machines reach the address that is listened on. It was settled when the process started: whatever
    /// the configuration says later, nobody is served there without a key.
    pub exposed: bool,
    /// Ledger and receipts; absent where the state directory cannot be used, and then nothing is injected.
    pub store: Option<Arc<dyn Store>>,
    /// Why there is no store.
    pub store_problem: Option<String>,
}

impl Shared {
    /// Opens the repository and the state directory. Neither failing keeps a gateway from forwarding; both are said.
    ///
    /// # Errors
    /// [`ConfigError`] where not even the places can be told.
    pub fn open(config: Config, directory: &Path, own_port: u16) -> Result<Shared, ConfigError> {
        let state_dir = paths::state_dir()?;
        let repository = Repository::open(directory, &config, &state_dir);
        config.check_key_roots(&repository.root)?;
        if let Some(problem) = &repository.problem {
            tracing::warn!("{problem}: requests are forwarded without context");
        }
        if let Some(problem) = &repository.config_problem {
            tracing::warn!("{problem}; the file is ignored");
        }
        let (store, store_problem) = open_store(&config, &state_dir);
        let metrics = Arc::new(Metrics::default());
        metrics.know_backends(config.backends.iter().map(|backend| backend.name.as_str()));
        let settings = Settings {
            router: Router::new(&config, own_port),
            access: Access::new(&config.keys),
            config,
        };
        Ok(Shared {
            exposed: !settings.config.listen.ip().is_loopback(),
            settings: RwLock::new(Arc::new(settings)),
            repository,
            metrics,
            store,
            store_problem,
        })
    }

    /// The settings in force now.
    #[must_use]
    pub fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings.read().unwrap_or_else(PoisonError::into_inner))
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

/// The day of UTC.
fn utc_today() -> jiff::civil::Date {
    jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date()
}

fn open_store(config: &Config, state_dir: &Path) -> (Option<Arc<dyn Store>>, Option<String>) {
    match SqliteStore::open(state_dir, &config.limits) {
        Ok((store, opened)) => {
            if let Some(aside) = opened.set_aside {
                tracing::error!(
                    "the ledger was damaged and is kept as {}; open conversations go on without their blocks",
                    aside.display()
                );
            }
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
