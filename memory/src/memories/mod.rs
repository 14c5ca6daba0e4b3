//! What is remembered, one by one: sections of knowledge and records, redacted, with what is known of each.

mod contested;
mod loaded;
mod memory;
mod newest;
mod record;
mod skipped;

pub(crate) use contested::ConflictPairs;
pub use contested::ConflictSide;
pub(crate) use loaded::LoadedMemories;
pub use memory::{CitedFile, Memory, MemoryKind};
pub(crate) use record::FILES_TOUCHED;
