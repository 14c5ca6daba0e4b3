//! The state that must survive a restart and a cache clean-up: the injection ledger, the receipts, and the usage of
//! each access key. Rate limits and circuits also belong here.
//!
//! The rest of the gateway uses one narrow trait, because several replicas would have to share this state. Its methods
//! are asynchronous, so that a waiting request does not block others. All SQL about shared state is in `sqlite/`.
//! `conformance` tests what every implementation must do.

#[cfg(test)]
mod conformance;
mod counters;
mod entry;
mod error;
mod health;
mod pack_value;
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
pub use pack_value::{Effect, Estimate};
pub use receipt::rounded;
pub use receipt::{Outcome, PreamblePart, Receipt, ReceiptItem, Replays};
pub use sqlite::{Inspected, SqliteStore, damaged_ledgers, inspect};
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
    pub receipts: i64,
}

/// The state that outlives a process.
///
/// The asynchronous methods return within a bounded time. The methods named `note_` return at once; their writes follow
/// later. Dropping a future after its first poll does not cancel its work.
#[async_trait]
pub trait Store: Send + Sync {
    /// The rate limits and circuits.
    fn counters(&self) -> Arc<dyn Counters>;

    /// All rows of each key, in the order of `keys`: written rows, oldest first, then rows that are not written yet.
    async fn entries(&self, keys: &[TurnKey]) -> Result<Vec<Vec<Entry>>, StoreError>;

    /// Durably writes a row unless the conversation has one. Returns the conversation's row, on which concurrent
    /// retries agree.
    ///
    /// # Errors
    /// [`StoreError`] if no row is durable; then nothing may be injected.
    async fn record(&self, key: TurnKey, entry: NewEntry) -> Result<Entry, StoreError>;

    /// Records that a turn has no block. When this returns, the record survives the end of the process; the ledger row
    /// is written later. A failure is logged, and the request continues.
    async fn record_without_block(&self, key: TurnKey, entry: NewEntry);

    /// Notes which rows were used, for retention and to tell conversations apart.
    fn note_uses(&self, uses: Vec<Use>);

    /// Writes a receipt.
    fn note_receipt(&self, receipt: Receipt);

    /// Adds to the usage of a key on a UTC day. The name is empty for requests without a key.
    fn note_usage(&self, key: &str, day: jiff::civil::Date, usage: UsageSum);

    /// The usage of each key, sorted by name, with `today` as the current UTC day.
    async fn usage(&self, today: jiff::civil::Date) -> Result<Vec<KeyUsage>, StoreError>;

    /// The receipt with this whole id.
    async fn receipt(&self, id: &str) -> Result<Option<Receipt>, StoreError>;

    /// The receipt ids that contain `part`, ignoring case, newest first, at most `limit`.
    async fn receipt_ids(&self, part: &str, limit: usize) -> Result<Vec<String>, StoreError>;

    /// The newest `limit` receipts, newest first.
    async fn receipts(&self, limit: usize) -> Result<Vec<Receipt>, StoreError>;

    /// The receipts of a conversation, by [`Receipt::conversation`]: those that are not written yet, and those among the
    /// newest `among` of all that are. The newest by id come first.
    async fn receipts_of(&self, conversation: &str, among: usize) -> Result<Vec<Receipt>, StoreError>;

    /// The newest `limit` receipts of a worktree whose [`Receipt::effect`] is known, newest first.
    async fn measured(&self, worktree: &str, limit: usize) -> Result<Vec<Receipt>, StoreError>;

    /// The number of rows and receipts.
    ///
    /// # Errors
    /// [`StoreError`] if they cannot be counted.
    async fn counts(&self) -> Result<StoreCounts, StoreError>;

    /// The ledger's health.
    async fn health(&self) -> LedgerHealth;

    /// Waits until the rows that a session adopted in earlier requests are written, so that [`Self::entries`] finds them.
    async fn settle(&self, session: Option<&str>);

    /// Waits until everything noted so far is written, at most a few seconds.
    async fn flush(&self);
}
