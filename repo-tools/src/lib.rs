//! The ground floor: a git worktree, read safely.
//!
//! Everything above this crate trusts three promises. Nothing outside the worktree is ever opened: no `..`, no
//! absolute path, no symlink that leads out, no nested repository. Nothing that looks like a secret is ever read.
//! And everything is bounded, in bytes, in matches and in time, because the files belong to strangers.
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
pub mod code;
mod cut;
mod files;
mod find;
pub mod front_matter;
mod globs;
mod grep;
pub mod history;
mod lines;
mod list;
pub mod metis;
mod ordered;
mod path;
mod read;
mod secret;
mod supervisor;
pub mod syntax;
mod tree;
mod until;
mod walk;
mod worktree;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod over;

pub use blob::BlobId;
pub use checkout::Checkout;
pub use cut::{Cut, Cuts};
pub use files::{FileFilter, FilterError};
pub use find::{FindQuery, FindResult, find};
pub use globs::GlobSet;
pub use grep::{
    Detail, FileCount, GrepError, GrepLimits, GrepPattern, GrepQuery, GrepResult, Match, grep, grep_many, grep_paths,
};
pub use lines::{Excerpt, Line, LineRange, read_lines};
pub use list::{EntryKind, ListEntry, ListError, Listing, list};
pub use path::{PathError, RelPath};
pub use read::{FileText, ReadError, read_text, stat};
pub use secret::is_secret;
pub use supervisor::{Supervisor, Task, TaskReport, TaskState};
pub use tree::{Tree, TreeLimits, TreeLine, tree, tree_of};
pub use until::{CancelFlag, Until};
pub use walk::{Directories, FileEntry, SkipCounts, Walk, WalkLimits, walk, walk_at, walk_until, walked_directories};
pub use worktree::{DiscoverError, Worktree};
