//! Finding the worktree that contains a directory, as git finds it.
//!
//! The nearest directory with a usable `.git` decides. It must belong to the user, or be allowed by `safe.directory`. The
//! worktree is the directory in which `.git` is, whether that is a directory, a link or a file, and wherever the git
//! directory is. Variables such as `GIT_DIR` are ignored.
//!
//! `core.worktree` can name another directory, and an unpacked archive can carry a configuration that names the user's
//! home. Its files would be read and sent. So Muninn is stricter than git: it follows `core.worktree` only to
//!
//! 1. the directory of `.git`, or a directory below it;
//! 2. a directory whose own `.git` leads back to this git directory, as in a submodule;
//! 3. a directory that this repository checked files out to. The index notes inode and change time of each file, to the
//!    nanosecond. Nobody can write them into an archive.
//!
//! Any other directory is an error.

mod discover;
mod error;
mod format;
mod git_dir;
mod ownership;

pub(crate) use discover::{Discovered, GitDir, OpenError, discover};
pub use error::{DiscoverError, FormatError};
pub(crate) use format::RefStorage;
pub use git_dir::GitFileError;
