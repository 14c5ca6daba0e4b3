//! Errors of the store.

use std::sync::Arc;

use thiserror::Error;

/// Why a store operation failed.
#[derive(Debug, Clone, Error)]
pub enum StoreError {
    /// The database is locked, full, corrupt or unreachable.
    #[error("the ledger at {path} cannot be used: {reason}")]
    Unusable {
        /// The ledger's path.
        path: String,
        /// SQLite's message.
        reason: String,
    },
    /// The database was removed while in use.
    #[error("the ledger {path} was removed while in use; restart the gateway")]
    Removed {
        /// The ledger's path.
        path: String,
    },
    /// A newer program wrote the database.
    #[error(
        "the ledger {path} was written by a newer muninn (version {version}; this one reads up to {known}): \
         update muninn"
    )]
    Newer {
        /// The ledger's path.
        path: String,
        /// The schema version of the file.
        version: i32,
        /// The newest schema version that this program reads.
        known: i32,
    },
    /// The state directory cannot be created or read.
    #[error("the state directory {path} cannot be used: {source}")]
    Directory {
        /// The directory.
        path: String,
        /// The system's error.
        source: Arc<std::io::Error>,
    },
    /// A receipt cannot be read.
    #[error("receipt {id} is damaged: {source}")]
    Receipt {
        /// The receipt's id.
        id: String,
        /// The parser's error.
        source: Arc<serde_json::Error>,
    },
    /// The ledger's thread has ended, or panicked on this request.
    #[error("the thread of the ledger at {path} did not answer")]
    Unanswered {
        /// The ledger's path.
        path: String,
    },
}
