//! Safe reading of a git worktree.
//!
//! All other crates rely on three guarantees. First, nothing outside the worktree is opened: no `..`, no absolute path,
//! no symlink that leads out of the worktree, no nested repository. Second, no file with the name of a secret is read.
//! Third, every operation is limited in bytes, results and time, because the files are untrusted.
//!
//! ```no_run
//! use muninn_repo_tools::{WalkLimits, Worktree, read_text, walk};
//!
//! let worktree = Worktree::discover(std::path::Path::new("."))?;
//! for entry in walk(&worktree, &WalkLimits::default()).files {
//!     let file = read_text(&worktree, &entry.path, 1 << 20)?;
//!     assert!(file.size <= 1 << 20);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod blob;
mod checkout;
mod commit_chain;
mod cut;
mod discovery;
pub mod files;
mod find;
#[cfg(any(test, feature = "fixture"))]
#[expect(clippy::unwrap_used, reason = "only tests use it")]
pub mod fixture;
pub mod front_matter;
mod git_metadata;
mod git_program;
mod globs;
mod grep;
mod hashed;
pub mod history;
mod lines;
mod list;
pub mod metis;
mod object_id;
mod read;
mod references;
mod reverts;
mod secret;
mod tree;
mod walk;
mod worktree;

pub use blob::BlobId;
pub use checkout::Checkout;
pub use commit_chain::{
    ChainCommit, ChainError, ChainFile, ChainLimit, CommitChain, History, IncomingError, IncomingObjects, MAX_COMMITS,
    MAX_OBJECT_BYTES, Signature,
};
pub use cut::{Cut, Cuts, shorten};
pub use discovery::{DiscoverError, FormatError, GitFileError};
pub use files::{FileFilter, FilterError, files};
pub use find::{FindQuery, FindResult, find};
pub use git_program::{GitRunError, Remote, RemoteError, RunLimits, git, is_remote, run_git, transfer_git};
pub use globs::GlobSet;
pub use grep::{
    Detail, FileCount, GrepError, GrepLimits, GrepPattern, GrepQuery, GrepResult, Match, grep, grep_many, grep_paths,
};
pub use lines::{Excerpt, Line, LineRange, read_lines, split_lines};
pub use list::{EntryKind, ListEntry, ListError, Listing, list};
pub use object_id::ObjectId;
pub use read::{FileText, ReadError, read_text, stat};
pub use references::ReferenceError;
pub use reverts::{CommitFile, RevertReader, RevertedCommit};
pub use secret::is_secret;
pub use tree::{Tree, TreeLimits, TreeLine, tree, tree_of};
pub use walk::{
    Directories, FileEntry, SkipCounts, Walk, WalkLimits, visible_directories, walk, walk_at, walk_until,
    walked_directories,
};
pub use worktree::Worktree;
