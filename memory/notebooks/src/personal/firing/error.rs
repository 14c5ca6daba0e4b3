use thiserror::Error;

use super::super::error::PersonalError;

/// The database's name in the state directory.
pub(super) const FILE: &str = "reminders.db";

/// Why firings cannot be read or written.
#[derive(Debug, Error)]
pub enum FiringError {
    #[error("cannot use {FILE}: {0}")]
    Database(#[from] rusqlite::Error),
    /// The reminder, or the directory of the database.
    #[error(transparent)]
    Personal(#[from] PersonalError),
}
