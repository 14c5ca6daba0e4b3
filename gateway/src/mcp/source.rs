//! The application behind the door, and the session of a client on the standard streams.

use std::sync::{Arc, OnceLock};

use thiserror::Error;

use crate::app::App;
use crate::config::ConfigError;

/// The application cannot be opened: the state directory is unknown.
#[derive(Debug, Clone, Error)]
#[error("{0}")]
pub(super) struct NoApp(Arc<ConfigError>);

type OpenApp = Box<dyn Fn() -> Result<Arc<App>, ConfigError> + Send + Sync>;

/// The application: open, or opened by the first call, so that a client's start costs nothing.
pub struct AppSource {
    app: OnceLock<Result<Arc<App>, NoApp>>,
    open: OpenApp,
}

impl AppSource {
    /// An open application.
    #[must_use]
    pub fn of(app: &Arc<App>) -> AppSource {
        let app = Arc::clone(app);
        AppSource::lazy(move || Ok(Arc::clone(&app)))
    }

    /// An application that the first call opens. Later calls get the same result.
    #[must_use]
    pub fn lazy(open: impl Fn() -> Result<Arc<App>, ConfigError> + Send + Sync + 'static) -> AppSource {
        AppSource {
            app: OnceLock::new(),
            open: Box::new(open),
        }
    }

    /// The application. The first call of a lazy one blocks until it is open.
    pub(super) fn get(&self) -> Result<Arc<App>, NoApp> {
        let open = || (self.open)().map_err(|error| NoApp(Arc::new(error)));
        self.app.get_or_init(open).clone()
    }

    /// The application, if a call has opened it.
    #[must_use]
    pub fn opened(&self) -> Option<&Arc<App>> {
        self.app.get()?.as_ref().ok()
    }
}

/// The session of a client on the standard streams: one process serves one.
#[derive(Debug, Clone)]
pub struct LocalSession {
    /// The session that the client named in the environment, or a new one.
    pub id: String,
}
