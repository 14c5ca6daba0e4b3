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
mod grep;
mod path;
mod read;
mod secret;
pub mod syntax;
mod walk;
mod worktree;

#[cfg(test)]
mod fixture;

pub use blob::BlobId;
pub use grep::{GrepError, GrepLimits, GrepPattern, GrepQuery, GrepResult, Match, grep};
pub use path::{PathError, RelPath};
pub use read::{FileText, ReadError, read_text, stat};
pub use secret::is_secret;
pub use walk::{FileEntry, SkipCounts, Walk, WalkLimits, walk, walk_until};
pub use worktree::{DiscoverError, Worktree};
