//! What git knows: the log, differences, and what has changed in the worktree.
//!
//! Through gix, and wrapped: its interface moves with each version. Only its object database, its index and its walk
//! over commits are used, none of what runs programs that a repository's configuration names (filters, text
//! converters, monitors). What follows from that is said where it shows: a file that only a filter makes equal is
//! called modified.

mod changes;
mod compare;
mod diff;
mod log;
mod status;
mod text;

#[cfg(test)]
mod tests;

pub use changes::{CommitChanges, CommitId, CommitReader, RecentCommits};
pub use diff::{Diff, DiffQuery, FileDiff, diff};
pub use log::{Commit, Log, LogQuery, log};
pub use status::{Change, Status, StatusEntry, StatusQuery, status};

use crate::files::FilterError;
use crate::worktree::Worktree;

/// Why git could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// No commit is called that.
    #[error("{name:?} names no commit")]
    Revision {
        /// What was asked for.
        name: String,
        /// What git's library said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A malformed glob.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// The repository cannot be read.
    #[error("cannot read the git repository")]
    Git {
        /// What git's library said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl HistoryError {
    fn git(source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Git {
            source: Box::new(source),
        }
    }
}

fn open(worktree: &Worktree) -> Result<gix::Repository, HistoryError> {
    let mut repository = gix::open_opts(worktree.root(), gix::open::Options::isolated()).map_err(HistoryError::git)?;
    // Trees share most of their subtrees with their neighbours in history.
    repository.object_cache_size_if_unset(4 << 20);
    Ok(repository)
}

/// The commit that a name stands for; `None` for HEAD before the first commit.
fn commit<'r>(repository: &'r gix::Repository, name: Option<&str>) -> Result<Option<gix::Commit<'r>>, HistoryError> {
    let wrong = |name: &str, source: Box<dyn std::error::Error + Send + Sync>| HistoryError::Revision {
        name: name.to_owned(),
        source,
    };
    let spec = name.unwrap_or("HEAD");
    if spec == "HEAD" && repository.head().map_err(HistoryError::git)?.is_unborn() {
        return Ok(None);
    }
    let id = repository
        .rev_parse_single(spec)
        .map_err(|error| wrong(spec, Box::new(error)))?;
    let object = id.object().map_err(|error| wrong(spec, Box::new(error)))?;
    let commit = object.peel_to_commit().map_err(|error| wrong(spec, Box::new(error)))?;
    Ok(Some(commit))
}
