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
mod note_use;
mod paths;
mod reconciled;
mod record;
mod same;
mod segment;
mod segment_error;
mod source;
mod spool;
mod statement;
mod status;
mod superseded;
mod withdrawn;
mod withdrawn_records;

pub(crate) use archive::is_pruned;
pub use archive::{ARCHIVE, PRUNED};
pub use decisions::Decision;
pub(crate) use decisions::Decisions;
pub use file::{ATTRIBUTES, CONFLICTS, PATTERNS, RecordFile};
pub use home::Home;
pub use kinds::{Body, RULES};
pub use moment::Moment;
pub use note_use::NoteUse;
pub use paths::MAIN;
pub use reconciled::RECONCILED;
pub(crate) use reconciled::ReconciledSegments;
pub use record::{InvalidRecord, Origin, Record};
pub use same::{Links, ordered};
pub use segment::{SESSIONS, SegmentWrite, Segments, create_new_file};
pub use segment_error::SegmentError;
pub use source::Source;
pub use spool::{Durability, Flushed, PendingRecords, Sessions, Spool, SpoolError, SpoolView};
pub use statement::{Statement, main_clause, refers_to_its_file};
pub use status::{RecordReferences, RecordStatus};
pub use superseded::Superseded;
pub use withdrawn_records::WithdrawnRecords;

#[cfg(test)]
mod tests;
