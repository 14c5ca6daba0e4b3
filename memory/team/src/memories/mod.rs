//! Memories: sections of knowledge and records, redacted, with their metadata.

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
