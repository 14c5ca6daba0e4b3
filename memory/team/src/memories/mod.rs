//! Memories: sections of knowledge and records, redacted, with their metadata.

mod conflict_side;
mod contested;
mod loaded;
mod memory;
mod newest;
mod record;
mod skipped;

pub use conflict_side::ConflictSide;
pub use contested::ConflictPairs;
pub use loaded::LoadedMemories;
pub use memory::{Memory, MemoryKind};
pub use record::{FILES_TOUCHED, MOST_ANSWERS, answers};
