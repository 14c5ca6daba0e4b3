use muninn_backend::BlockingClientError;
use muninn_notebooks::journal::{JournalError, SynthesisError};
use thiserror::Error;

use super::transfer_error::TransferError;

/// Why a journal cannot be used.
#[derive(Debug, Error)]
pub enum JournalUseError {
    /// The journal itself.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// There is no repository.
    #[error("there is no git repository, and no `[journal] path`")]
    NoRepository,
    /// The version of a write is none.
    #[error("`{0}` is no version: `journal read` shows it")]
    Version(String),
    /// The journal of a remote cannot be fetched or pushed.
    #[error(transparent)]
    Transfer(#[from] TransferError),
    /// The model merged nothing.
    #[error(transparent)]
    Synthesis(#[from] SynthesisError),
    /// The model cannot be asked.
    #[error(transparent)]
    Client(#[from] BlockingClientError),
    /// The name of an entry where a section is needed.
    #[error("`{0}` is an entry, and a section is needed")]
    NoSection(String),
}
