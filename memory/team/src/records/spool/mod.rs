//! The spool of live records.
//!
//! Records wait in the user's state directory and not in a tracked file: a modified tracked file would block `git
//! checkout` and `git rebase`, and after a `git stash` writes through an open descriptor would be lost:
//!
//! ```text
//! <spool>/
//!   lock                                      taken for each append and each flush; several processes write at once
//!   sessions.db                               each session's id, the number of its next segment, and its marks
//!   waiting/live-<client>-<branch>.jsonl      records of a branch; opened for each append, which is one write
//!   waiting/flushing-<client>-<branch>.jsonl  the same, while it becomes a segment
//!   aside/<client>-<ulid>-<branch>.jsonl      copies of flushed files that held invalid lines
//! ```
//!
//! File names use a hash of the client's session name and of the branch, because these can hold any character. A
//! session has no file before its first record, and none after its records are in a segment: only its row in the index
//! remains. Earlier versions had a folder for every session; [`Spool::compact`] migrates them.

mod append;
mod error;
mod file;
mod flush;
mod index;
mod legacy;
mod state;
mod view;
mod waiting;

pub use append::Sessions;
pub(super) use error::at;
pub use error::{Durability, SpoolError};
pub use state::{Flushed, PendingRecords, Spool};
pub(super) use state::{Locked, short_hash};
pub use view::SpoolView;
