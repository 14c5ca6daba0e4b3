//! Versions of the personal memory in a git repository of its own: a commit for each changed file, whoever changed it.
//!
//! Muninn lists the files of the memory and tells git their contents and names. Git itself never looks for files, so neither a
//! nested repository nor an attribute in the directory has an effect.

mod changes;
mod commit;
mod error;
mod repository;

pub use commit::{Committed, Pushing, UnconfirmedRemote, begin, commit, problem, unconfirmed_remote};
pub use error::VersionError;
