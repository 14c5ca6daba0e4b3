//! What Muninn does with personal memory beside prompts and tools: reminders, versions in git, and an archive to move it.

mod archive;
mod process;
pub mod reminders;
mod upkeep;
mod versions;

pub use archive::{ArchiveError, Exported, Imported, export, import};
pub use upkeep::{follow, keep};
pub use versions::{Committed, Pushing, UnconfirmedRemote, VersionError, begin, commit, problem, unconfirmed_remote};
