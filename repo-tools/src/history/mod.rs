//! Git history: the log, diffs and the status of the worktree.
//!
//! The module wraps gix, whose interface changes with each version. It uses gix's object database, index and commit
//! walk, but nothing that runs programs named by a repository's configuration (filters, text converters, monitors).
//! Therefore a file that only a filter makes equal to its blob is reported as modified.

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

/// Why a question about git history failed.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The revision does not exist or is no commit.
    #[error("{name:?} names no commit")]
    Revision {
        /// The revision as written.
        name: String,
        /// The error of gix.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A glob is malformed.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// The repository cannot be read.
    #[error("cannot read the git repository")]
    Git {
        /// The error of gix.
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
    // Neighbouring commits share most of their subtrees.
    repository.object_cache_size_if_unset(4 << 20);
    Ok(repository)
}

/// Resolves a revision to a commit; `None` for HEAD before the first commit.
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
