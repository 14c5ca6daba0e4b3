//! Reverted commits: what they brought into a directory, and whether it came back.
//!
//! A revert is a commit that says so, in git's words: `This reverts commit ID`, and whose own changes take back some of the
//! changes of that commit. A file that was moved or combined since cannot be found in the tree, so the tree alone does not
//! show all that a revert takes away; a message alone can name any commit. Where the history does not tell, as at the end of
//! a shallow clone, nothing counts as reverted.

mod change;
mod graph;
mod reader;
mod state;
mod stated;

pub use reader::{CommitFile, RevertedCommit};
pub use state::RevertReader;
