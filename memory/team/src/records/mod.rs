//! Records of memory, one JSON object per line.
//!
//! A [`Record`] is typed, and rewriting it loses nothing. Live records wait in a [`Spool`] in the user's state
//! directory, become write-once [`Segments`] that travel through git, and end in `.muninn/memory/main.jsonl`.

mod archive;
mod decisions;
mod file;
mod home;
pub mod kinds;
pub mod lines;
mod members;
mod moment;
mod reconciled;
mod record;
mod same;
mod segment;
mod source;
mod spool;
mod statement;
mod status;
mod withdrawn;

#[cfg(test)]
mod tests;

pub(crate) use archive::is_pruned;
pub use archive::{ARCHIVE, PRUNED};
pub(crate) use decisions::{Decision, Decisions};
pub use file::{ATTRIBUTES, CONFLICTS, MAIN, PATTERNS, RecordFile};
pub use home::Home;
pub use kinds::Body;
pub use moment::Moment;
pub use reconciled::RECONCILED;
pub(crate) use reconciled::ReconciledSegments;
pub use record::{InvalidRecord, Origin, Record};
pub use same::{Links, ordered};
pub use segment::create_new_file;
pub use segment::{SESSIONS, SegmentError, SegmentWrite, Segments};
pub use source::Source;
pub use spool::{Durability, Flushed, PendingRecords, Sessions, Spool, SpoolError, SpoolView};
pub use statement::{Statement, refers_to_its_file};
pub use status::Superseded;
pub use status::{RecordReferences, RecordStatus};
pub use withdrawn::WithdrawnRecords;
