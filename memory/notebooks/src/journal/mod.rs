//! The git journal: a tree of sections. A section is a Markdown file that holds the current understanding (the overview), and
//! each entry is a commit whose message is the entry. Git is storage, identity, history and merge.
//!
//! The commits are on a ref of their own, [`REFERENCE`], which is no branch: the index, the worktree and the branches of the
//! user never change. Writers compare the version of the section that they read; writers of other sections never notice
//! each other.

mod claims;
mod conflict;
mod entry;
mod error;
mod id;
mod intake;
mod limits;
mod log;
mod memories;
mod merge;
mod reference;
mod search;
mod searching;
mod section;
mod seen;
mod store;
mod synthesis;
mod toc;
mod undo;
mod version;
mod write;

pub use conflict::OverviewConflict;
pub use error::JournalError;
pub use id::{EntryRef, JournalIdError};
pub use intake::IntakeError;
pub use log::ListedEntry;
pub use memories::{load, stamp};
pub use merge::Merged;
pub use reference::REFERENCE;
pub use search::{FoundEntry, SearchSettings};
pub use store::{Condition, Journal, JournalSettings, ReadEntry, ReadSection};
pub use synthesis::{OverviewSides, Synthesis, SynthesisError};
pub use toc::TocNode;
pub use undo::Undone;
pub use version::Version;
pub use write::{Draft, Written};

#[cfg(test)]
mod tests;
