//! The state that must survive a restart and a cache clean-up: the injection ledger, the receipts, and the usage of each
//! access key; also rate limits and circuits.
//!
//! One narrow trait stands before them, because this is what several replicas would have to share one day. It is
//! asynchronous: whoever asks waits without holding up others. All SQL about shared state is in `sqlite/`; nothing else
//! in the gateway knows that it is a database. What every implementation has to do is written down in `conformance`.

#[cfg(test)]
mod conformance;
mod counters;
mod entry;
mod error;
mod health;
mod receipt;
mod sqlite;
mod tries;
mod turn_key;
mod usage;

use std::sync::Arc;

use async_trait::async_trait;
use serde::Serialize;

pub use counters::{Admission, CircuitId, CircuitOpen, CircuitOutcome, CircuitState, Counters, LocalCounters};
pub use entry::{Entry, EntryId, NewEntry, Use};
pub use error::StoreError;
pub use health::{DamagedLedger, LedgerHealth};
pub(crate) use receipt::rounded;
pub use receipt::{Outcome, Receipt, ReceiptItem, Replays};
pub use sqlite::{Inspected, SqliteStore, inspect, put_aside};
pub use tries::{Try, TryOutcome};
pub use turn_key::{TurnKey, is_recent};
pub use usage::{KeyUsage, UsageSum, utc_today};

/// The size of the store's contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StoreCounts {
    /// Turns in the ledger.
    pub turns: i64,
    /// Turns that carry a block.
    pub blocks: i64,
    /// Receipts.
    pub receipts: i64,
}

/// The state that outlives a process. A method that a request waits for answers within a bounded time; those named
/// `note_` return at once and are carried out later. A future that was polled once is carried out to its end, whether
/// or not anybody waits for it.
#[async_trait]
pub trait Store: Send + Sync {
    /// The rate limits and circuits.
    fn counters(&self) -> Arc<dyn Counters>;

    /// All rows under each key, oldest first, and last those that are noted and not yet written.
    ///
    /// # Errors
    /// [`StoreError`] where the ledger cannot be read.
    async fn entries(&self, keys: &[TurnKey]) -> Result<Vec<Vec<Entry>>, StoreError>;

    /// Durably writes a row unless the conversation has one already, and gives back the row that holds: concurrent
    /// retries agree on it.
    ///
    /// # Errors
    /// [`StoreError`] where nothing could be made durable; then nothing may be injected.
    async fn record(&self, key: TurnKey, entry: NewEntry) -> Result<Entry, StoreError>;

    /// Remembers that a turn goes without. Once this returns it holds, also after the death of the process; it is
    /// written to the ledger later. Where it cannot be remembered that is logged, and the turn goes on.
    async fn went_without(&self, key: TurnKey, entry: NewEntry);

    /// Notes which rows were used, for retention and for telling conversations apart.
    fn note_uses(&self, uses: Vec<Use>);

    /// Writes a receipt.
    fn note_receipt(&self, receipt: Receipt);

    /// Adds to what a key used on a day of UTC. The name is empty for requests without a key.
    fn note_usage(&self, key: &str, day: jiff::civil::Date, usage: UsageSum);

    /// What each key used, up to and including a day of UTC, by name.
    ///
    /// # Errors
    /// [`StoreError`] where it cannot be read.
    async fn usage(&self, today: jiff::civil::Date) -> Result<Vec<KeyUsage>, StoreError>;

    /// Returns a receipt by its whole id.
    ///
    /// # Errors
    /// [`StoreError`] where receipts cannot be read.
    async fn receipt(&self, id: &str) -> Result<Option<Receipt>, StoreError>;

    /// The ids of receipts that have this part, in any case, newest first; so many at most.
    ///
    /// # Errors
    /// [`StoreError`] where receipts cannot be read.
    async fn receipt_ids(&self, part: &str, limit: usize) -> Result<Vec<String>, StoreError>;

    /// The newest receipts, newest first.
    ///
    /// # Errors
    /// [`StoreError`] where receipts cannot be read.
    async fn receipts(&self, limit: usize) -> Result<Vec<Receipt>, StoreError>;

    /// The number of rows and receipts.
    ///
    /// # Errors
    /// [`StoreError`] where it cannot be read.
    async fn counts(&self) -> Result<StoreCounts, StoreError>;

    /// The ledger's health.
    async fn health(&self) -> LedgerHealth;

    /// Waits until everything noted so far is written, or, where it cannot be, for some seconds.
    async fn flush(&self);
}
