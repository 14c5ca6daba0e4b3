use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use serde::Serialize;

use super::counters::Counters;
use super::entry::{Entry, NewEntry, Use};
use super::error::StoreError;
use super::health::LedgerHealth;
use super::receipt::Receipt;
use super::turn_key::TurnKey;
use super::usage::{KeyUsage, UsageSum};

/// The size of the store's contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StoreCounts {
    /// Turns in the ledger.
    pub turns: i64,
    /// Turns that carry a block.
    pub blocks: i64,
    pub receipts: i64,
}

/// A question for receipts; see [`Store::receipts_of`].
#[derive(Debug, Clone, Copy)]
pub struct ReceiptsOf<'a> {
    /// The name of the conversation.
    pub conversation: &'a str,
    /// The number of newest receipts among which those that are written are looked for.
    pub among: usize,
    /// Only those with these first words, or without any.
    pub about: Option<&'a str>,
    /// What other processes have written since may be missing.
    pub as_of: Instant,
}

impl<'a> ReceiptsOf<'a> {
    /// Asks for all receipts of a conversation as of now.
    pub fn conversation(conversation: &'a str, among: usize) -> ReceiptsOf<'a> {
        ReceiptsOf { conversation, among, about: None, as_of: Instant::now() }
    }
}

/// The state that outlives a process.
///
/// The asynchronous methods return within a bounded time. The methods named `note_` return at once; their writes follow
/// later. Dropping a future after its first poll does not cancel its work.
#[async_trait]
pub trait Store: Send + Sync {
    /// The rate limits and circuits.
    fn counters(&self) -> Arc<dyn Counters>;

    /// All rows of each key, in the order of `keys`, oldest first. Rows that are not written yet, and what noted uses add to rows,
    /// are included.
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
    /// newest of all that are. The newest by id come first.
    async fn receipts_of(&self, asked: ReceiptsOf<'_>) -> Result<Vec<Receipt>, StoreError>;

    /// The newest `limit` receipts of a worktree whose [`Receipt::effect`] is known, newest first.
    async fn measured(&self, worktree: &str, limit: usize) -> Result<Vec<Receipt>, StoreError>;

    /// The number of rows and receipts.
    ///
    /// # Errors
    /// [`StoreError`] if they cannot be counted.
    async fn counts(&self) -> Result<StoreCounts, StoreError>;

    /// The ledger's health.
    async fn health(&self) -> LedgerHealth;

    /// Waits until everything noted so far is written, at most a few seconds.
    async fn flush(&self);
}
