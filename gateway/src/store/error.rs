//! Errors of the store.

use std::sync::Arc;

use thiserror::Error;

/// Why a store operation failed.
#[derive(Debug, Clone, Error)]
pub enum StoreError {
    /// The database is locked, full, corrupt or unreachable.
    #[error("the ledger at {path} cannot be used: {reason}")]
    Refused {
        /// Where the ledger is.
        path: String,
        /// What it said.
        reason: String,
    },
    /// The database was removed while in use.
    #[error("the ledger {path} was removed while in use; restart the gateway")]
    Removed {
        /// Where the ledger was.
        path: String,
    },
    /// A newer program wrote it.
    #[error("the ledger {path} is of a newer muninn (version {version}; this one knows {known}): update this one")]
    Newer {
        /// Where the ledger is.
        path: String,
        /// Its version.
        version: i32,
        /// The version of this program.
        known: i32,
    },
    /// The state directory cannot be made or read.
    #[error("the state directory {path} cannot be used: {source}")]
    Directory {
        /// The directory.
        path: String,
        /// What the system said.
        source: Arc<std::io::Error>,
    },
    /// A receipt cannot be read.
    #[error("receipt {id} is damaged: {source}")]
    Receipt {
        /// The receipt's id.
        id: String,
        /// What is wrong with it.
        source: Arc<serde_json::Error>,
    },
    /// The ledger's thread has ended, or panicked on this request.
    #[error("nobody answers for the ledger at {path}")]
    Unanswered {
        /// Where the ledger is.
        path: String,
    },
}
