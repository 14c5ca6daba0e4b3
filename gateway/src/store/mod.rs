//! What must survive a restart and a cache clean-up: the injection ledger, the receipts, and what
//! each access key used.
//!
//! One narrow trait stands before them, because this is what several replicas would have to share one day. All SQL about
//! shared state is in `sqlite`, `ledger`, `usage` and `writer`; nothing else in the gateway knows that it is a database.

#[cfg(test)]
mod contention;
mod damage;
mod database;
mod health;
mod inspect;
mod journal;
mod ledger;
mod receipt;
mod retention;
mod salvage;
mod schema;
mod sqlite;
mod tries;
mod turn_key;
mod usage;
mod write_queue;
mod writer;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use health::{LedgerHealth, PutAside};
pub use inspect::{Inspected, inspect, put_aside};
pub use receipt::{Outcome, Receipt, ReceiptItem, Replays};
pub use sqlite::SqliteStore;
pub use tries::{Happened, Try};
pub use turn_key::{TurnKey, is_recent};
pub use usage::{KeyUsage, UsageSum, utc_today};

/// One row of the ledger: what was put at one turn of one conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Row number; grows with time.
    pub id: i64,
    /// The session that it was made in, where the client named one.
    pub session: Option<String>,
    /// The exact text that was injected, `None` where the turn went without.
    pub block: Option<String>,
    /// The block's tokens.
    pub tokens: u32,
    /// The rows that were replayed when this one was made: what the conversation's history is made of, for good.
    pub before: Vec<i64>,
    /// When the row was written, in milliseconds since the epoch.
    pub created_ms: i64,
    /// The chain after the model's answer, for each way in which the conversation was seen to go on.
    pub continuations: Vec<TurnKey>,
}

/// What is to be remembered about a turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewEntry {
    /// The session, where the client named one.
    pub session: Option<String>,
    /// The block, `None` for a turn that goes without.
    pub block: Option<String>,
    /// The block's tokens.
    pub tokens: u32,
    /// The rows that were replayed before it, and how the conversation went on after each.
    pub before: Vec<Use>,
    /// Earlier turns of the conversation that have no row: they went without, and stay so. With each the rows before it.
    pub absent: Vec<(TurnKey, Vec<i64>)>,
    /// Now, in milliseconds since the epoch.
    pub now_ms: i64,
}

/// A row that was replayed, and how its conversation went on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Use {
    /// The row.
    pub entry: i64,
    /// The chain after the model's answer, where it is new.
    pub continuation: Option<TurnKey>,
    /// The session that has the row in its history from now on, where it was made in another one; empty for one without
    /// a name.
    pub adopted_by: Option<String>,
}

impl Use {
    /// A row that was replayed, and nothing new about it.
    #[must_use]
    pub fn of(entry: i64) -> Use {
        Use {
            entry,
            continuation: None,
            adopted_by: None,
        }
    }
}

/// Why the store could not answer.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The database refused: locked, full, corrupt.
    #[error("the ledger at {path} cannot be used: {source}")]
    Database {
        /// The database file.
        path: String,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// It was removed while in use.
    #[error("the ledger {path} was removed while in use; restart the gateway")]
    Removed {
        /// The database file.
        path: String,
    },
    /// A newer program wrote it.
    #[error("the ledger {path} is of a newer muninn (version {version}; this one knows {known}): update this one")]
    Newer {
        /// The database file.
        path: String,
        /// The version of the file.
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
        source: std::io::Error,
    },
    /// A receipt in the database cannot be read.
    #[error("receipt {id} is damaged: {source}")]
    Receipt {
        /// The receipt's id.
        id: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

/// How much the store holds.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct StoreCounts {
    /// Turns in the ledger.
    pub turns: i64,
    /// Turns that carry a block.
    pub blocks: i64,
    /// Receipts.
    pub receipts: i64,
}

/// The state that outlives a process. Methods that a request waits for return within the busy time of the database;
/// those named `note_` return at once and are carried out later.
pub trait Store: Send + Sync {
    /// All rows under each key, oldest first, and last those that are noted and not yet written.
    ///
    /// # Errors
    /// [`StoreError`] where the ledger cannot be read.
    fn entries(&self, keys: &[TurnKey]) -> Result<Vec<Vec<Entry>>, StoreError>;

    /// Durably writes a row unless the conversation has one already, and gives back the row that holds: concurrent
    /// retries agree on it.
    ///
    /// # Errors
    /// [`StoreError`] where nothing could be made durable; then nothing may be injected.
    fn record(&self, key: TurnKey, entry: &NewEntry) -> Result<Entry, StoreError>;

    /// Remembers that a turn goes without. It holds from now on, also after the death of the process, and is written to
    /// the ledger later.
    fn note_went_without(&self, key: TurnKey, entry: NewEntry);

    /// Notes which rows were used, for retention and for telling conversations apart.
    fn note_uses(&self, uses: Vec<Use>);

    /// Keeps a receipt.
    fn note_receipt(&self, receipt: Receipt);

    /// Adds to what a key used on a day of UTC. The name is empty for requests without a key.
    fn note_usage(&self, key: &str, day: jiff::civil::Date, usage: UsageSum);

    /// What each key used, up to and including a day of UTC, by name.
    ///
    /// # Errors
    /// [`StoreError`] where the database cannot be read.
    fn usage(&self, today: jiff::civil::Date) -> Result<Vec<KeyUsage>, StoreError>;

    /// One receipt by id or unambiguous beginning of it.
    ///
    /// # Errors
    /// [`StoreError`] where receipts cannot be read.
    fn receipt(&self, id: &str) -> Result<Option<Receipt>, StoreError>;

    /// The ids of receipts that have this part, in any case, newest first; so many at most.
    ///
    /// # Errors
    /// [`StoreError`] where receipts cannot be read.
    fn receipt_ids(&self, part: &str, limit: usize) -> Result<Vec<String>, StoreError>;

    /// The newest receipts, newest first.
    ///
    /// # Errors
    /// [`StoreError`] where receipts cannot be read.
    fn receipts(&self, limit: usize) -> Result<Vec<Receipt>, StoreError>;

    /// How much there is.
    ///
    /// # Errors
    /// [`StoreError`] where the database cannot be read.
    fn counts(&self) -> Result<StoreCounts, StoreError>;

    /// How the ledger is doing.
    fn health(&self) -> LedgerHealth;

    /// Waits until everything noted so far is written, or, where it cannot be, for some seconds.
    fn flush(&self);
}
