//! The store as one SQLite file in the state directory: WAL, mode 0600, short waits.
//!
//! One thread reads, one writes ledger rows durably, and one writes everything else with a relaxed sync. Requests await
//! them asynchronously. Two operations run on the request's own worker, because waking a thread costs more than the
//! work: a lookup while a connection is free (`direct.rs`), and the journal line of a turn without a block,
//! or of what a conversation adds to earlier rows (`journal.rs`).

mod connection;
mod damage;
mod database;
mod direct;
mod file_id;
mod inspect;
mod journal;
mod ledger;
mod parsing;
mod reader;
mod recent;
mod recorder;
mod retention;
mod salvage;
mod schema;
mod store;
mod usage;
mod worker;
mod write_queue;
mod writer;

pub(super) use super::entry::{Entry, EntryId, NewEntry, Use};
pub(super) use super::error::StoreError;
pub(super) use super::health::{DamagedLedger, LedgerHealth};
pub(super) use super::receipt::Receipt;
pub(super) use super::store::ReceiptsOf;
pub(super) use super::turn_key::{TurnKey, UNNAMED_SESSION_MEMORY, is_recent};
pub(super) use super::usage::{KeyUsage, UsageSum};
pub use inspect::{Inspected, damaged_ledgers, inspect};
pub(super) use parsing::parse_receipt;
pub use store::SqliteStore;
