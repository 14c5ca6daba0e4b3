//! What all requests of one gateway share.

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use tokio_util::task::TaskTracker;

use crate::backend::{Router, Transport};
use crate::config::{Config, ConfigError, paths};
use crate::server::Repository;
use crate::store::{SqliteStore, Store};

/// What the user's configuration says, ready for use. Replaced as a whole when the configuration is read again, so a
/// request takes it once, at its start, and sees one configuration to its end.
pub struct Settings {
    /// The configuration in force.
    pub config: Config,
    /// Which backend answers what.
    pub router: Router,
}

/// The state behind all requests; one for each process.
pub struct Shared {
    settings: RwLock<Arc<Settings>>,
    /// The served repository.
    pub repository: Repository,
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
        if let Some(problem) = &repository.problem {
            tracing::warn!("{problem}: requests are forwarded without context");
        }
        if let Some(problem) = &repository.config_problem {
            tracing::warn!("{problem}; the file is ignored");
        }
        let (store, store_problem) = open_store(&config, &state_dir);
        let router = Router::new(&config, own_port);
        Ok(Shared {
            settings: RwLock::new(Arc::new(Settings { config, router })),
            repository,
            store,
            store_problem,
        })
    }

    /// The settings in force now.
    #[must_use]
    pub fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings.read().unwrap_or_else(PoisonError::into_inner))
    }
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
