//! What is remembered, one by one: sections of knowledge and records, redacted, with what is known of each.

mod contested;
mod loaded;
mod memory;
mod newest;
mod record;
mod told;

pub use contested::Contested;
pub(crate) use contested::Disputes;
pub(crate) use loaded::Loaded;
pub use memory::{CitedFile, Memory, MemoryKind};
pub(crate) use record::FILES_TOUCHED;
