//! Memories: sections of knowledge and records, redacted, with their metadata.

mod contested;
mod loaded;
mod memory;
mod newest;
mod record;
mod skipped;

pub use contested::ConflictPairs;
pub use contested::ConflictSide;
pub use loaded::LoadedMemories;
pub use memory::{CitedFile, Memory, MemoryKind};
pub use record::FILES_TOUCHED;
