//! The state that must survive a restart and a cache clean-up: the injection ledger, the receipts, and the usage of
//! each access key. Rate limits and circuits also belong here.
//!
//! The rest of the gateway uses one narrow trait, because several replicas would have to share this state. Its methods
//! are asynchronous, so that a waiting request does not block others. All SQL about shared state is in `sqlite/`.
//! `conformance` tests what every implementation must do.

mod counters;
mod entry;
mod error;
mod health;
mod pack_value;
mod receipt;
mod sqlite;
mod store;
mod tries;
mod turn_key;
mod usage;

pub use counters::{Admission, CircuitId, CircuitOpen, CircuitOutcome, CircuitState, Counters, LocalCounters};
pub use entry::{Entry, EntryId, NewEntry, Use};
pub use error::StoreError;
pub use health::{DamagedLedger, LedgerHealth};
pub use pack_value::{Effect, Estimate, rounded};
pub use receipt::{Outcome, PreamblePart, Receipt, ReceiptItem, Replays, Trial};
pub use sqlite::{Inspected, SqliteStore, damaged_ledgers, inspect};
pub use store::{ReceiptsOf, Store, StoreCounts};
pub use tries::{Placement, Try, TryOutcome};
pub use turn_key::{TurnKey, is_recent};
pub use usage::{KeyUsage, UsageSum, utc_today};

#[cfg(test)]
mod conformance;
