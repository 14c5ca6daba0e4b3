//! The commits before HEAD.

use std::time::Duration;

use serde::Serialize;

use super::{HistoryError, commit, open};
use crate::cut::{Cut, Cuts, shorten};
use crate::path::RelPath;
use crate::until::Until;
use crate::worktree::Worktree;

/// Messages are shown up to here, in bytes.
const MAX_MESSAGE: usize = 4_000;

/// Which commits to list.
#[derive(Debug, Clone)]
pub struct LogQuery {
    /// Where to start: a branch, a tag, a commit id, `HEAD~3`; HEAD if not given.
    pub from: Option<String>,
    /// Only commits that changed this file or directory. As git's `--full-history` without merges.
    pub path: Option<RelPath>,
    /// So many commits at most.
    pub max_commits: usize,
    /// When to give up.
    pub until: Until,
}

impl Default for LogQuery {
    fn default() -> Self {
        Self {
            from: None,
            path: None,
            max_commits: 50,
            until: Until::within(Duration::from_secs(10)),
        }
    }
}

/// Commits, the newest first.
#[derive(Debug, Default, Serialize)]
pub struct Log {
    /// The commits.
    pub commits: Vec<Commit>,
    /// Which bounds were reached. [`Cut::Shallow`]: the clone has no more.
    pub cuts: Cuts,
}

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Commit {
    /// Its id, in hexadecimal.
    pub id: String,
    /// Its parents' ids.
    pub parents: Vec<String>,
    /// Who wrote it.
    pub author: String,
    /// When, in seconds since 1970.
    pub time: i64,
    /// When, as `2024-05-31`, in the author's time zone.
    pub date: String,
    /// The first line of its message.
    pub summary: String,
    /// The rest of its message.
    pub body: String,
}

/// Lists commits, by time.
///
/// # Errors
/// [`HistoryError`] where there is no such starting point, or the repository cannot be read.
pub fn log(worktree: &Worktree, query: &LogQuery) -> Result<Log, HistoryError> {
    let repository = open(worktree)?;
    let mut log = Log::default();
    let Some(start) = commit(&repository, query.from.as_deref())? else {
        return Ok(log);
    };
    let order = gix::revision::walk::Sorting::ByCommitTime(gix::traverse::commit::simple::CommitTimeOrder::default());
    let walk = repository
        .rev_walk([start.id])
        .sorting(order)
        .all()
        .map_err(HistoryError::git)?;
    for info in walk {
        if query.until.is_over() {
            log.cuts.add(Cut::Time);
            return Ok(log);
        }
        let commit = info.map_err(HistoryError::git)?.object().map_err(HistoryError::git)?;
        if let Some(path) = &query.path
            && !touches(&repository, &commit, path)
        {
            continue;
        }
        if log.commits.len() >= query.max_commits {
            log.cuts.add(Cut::Matches);
            return Ok(log);
        }
        log.commits.push(described(&commit)?);
    }
    if repository.is_shallow().unwrap_or(false) {
        log.cuts.add(Cut::Shallow);
    }
    Ok(log)
}

/// Whether a commit has another thing at `path` than every parent of it. Where a parent is missing, as at the end of a
/// shallow clone, nothing can be said, and the commit is taken for one that made what it has.
fn touches(repository: &gix::Repository, commit: &gix::Commit<'_>, path: &RelPath) -> bool {
    let at = |commit: &gix::Commit<'_>| {
        let entry = commit.tree().ok()?.lookup_entry_by_path(path.to_path_buf()).ok()??;
        Some((entry.object_id(), entry.mode().value()))
    };
    let here = at(commit);
    let mut parents = commit
        .parent_ids()
        .filter_map(|id| repository.find_commit(id).ok())
        .peekable();
    match parents.peek() {
        None => here.is_some(),
        Some(_) => parents.all(|parent| at(&parent) != here),
    }
}

fn described(commit: &gix::Commit<'_>) -> Result<Commit, HistoryError> {
    let author = commit.author().map_err(HistoryError::git)?;
    let time = author.time().or_else(|_| commit.time()).map_err(HistoryError::git)?;
    let message = commit.message_raw_sloppy().to_string();
    let (summary, body) = message.split_once('\n').unwrap_or((&message, ""));
    Ok(Commit {
        id: commit.id.to_string(),
        parents: commit.parent_ids().map(|id| id.to_string()).collect(),
        author: author.name.to_string(),
        time: time.seconds,
        date: time.format(gix::date::time::format::SHORT).unwrap_or_default(),
        summary: summary.trim_end().to_owned(),
        body: shorten(body.trim(), MAX_MESSAGE).0.to_owned(),
    })
}
