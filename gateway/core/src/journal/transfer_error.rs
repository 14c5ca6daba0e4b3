use muninn_notebooks::journal::IntakeError;
use muninn_repo_tools::{GitRunError, IncomingError, RemoteError};
use thiserror::Error;

/// Why nothing was exchanged.
#[derive(Debug, Error)]
pub enum TransferError {
    /// There is no such remote, or the repository's settings of it are not used.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// git failed.
    #[error("git {what} {remote}")]
    Git {
        /// The command.
        what: &'static str,
        remote: String,
        /// Why.
        source: GitRunError,
    },
    /// There is no room for what is fetched.
    #[error("nothing can be fetched")]
    Incoming(#[source] IncomingError),
    /// The history of the remote is refused.
    #[error("the journal of {remote} is refused, and nothing of it is kept")]
    Refused {
        remote: String,
        /// Why.
        source: IntakeError,
    },
    /// The remote has entries that this journal lacks.
    #[error("{0} has entries that this journal lacks: `muninn journal sync` takes them in")]
    Behind(String),
    /// git refused the push each time, because others pushed.
    #[error("others keep pushing to {0}: try again")]
    Busy(String),
}
