//! Records: what was learned, one JSON object a line.
//!
//! A [`Record`] is typed and loses nothing when it is written again. Live ones wait in a [`Spool`] in the user's state
//! directory, become write-once [`Segments`] that travel through git, and end in `.muninn/memory/main.jsonl`.

mod archive;
mod decisions;
mod file;
mod home;
pub mod kinds;
pub mod lines;
mod members;
mod moment;
mod record;
mod same;
mod segment;
mod source;
mod spool;
mod standing;
mod taken;

#[cfg(test)]
mod tests;

pub(crate) use archive::is_pruned;
pub use archive::{ARCHIVE, PRUNED};
pub use file::{CONFLICTS, MAIN, RecordFile};
pub use home::Home;
pub use kinds::Body;
pub use moment::Moment;
pub use record::{InvalidRecord, Origin, Record};
pub(crate) use same::{Links, ordered};
pub(crate) use segment::anew;
pub use segment::{SESSIONS, SegmentError, Segments, Written};
pub use source::Source;
pub use spool::{Durability, Flushed, Recorded, Sessions, Spool, SpoolError, Waiting};
pub use standing::Superseded;
pub(crate) use standing::{Standing, Statements};
pub use taken::RECONCILED;
pub(crate) use taken::TakenIn;
