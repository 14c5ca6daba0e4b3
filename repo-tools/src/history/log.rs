//! The commit log.

use std::time::Duration;

use serde::Serialize;

use super::{HistoryError, commit, open};
use crate::cut::{Cut, Cuts, shorten};
use crate::path::RelPath;
use crate::until::Until;
use crate::worktree::Worktree;

/// Maximum length of a message body, in bytes.
const MAX_MESSAGE: usize = 4_000;

/// The commits to list.
#[derive(Debug, Clone)]
pub struct LogQuery {
    /// The newest revision: a branch, a tag, a commit id, `HEAD~3`; `None` for HEAD.
    pub from: Option<String>,
    /// Lists only commits that changed this file or directory, like git's `--full-history` without merges.
    pub path: Option<RelPath>,
    /// Maximum number of commits.
    pub max_commits: usize,
    /// The deadline.
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

/// The result of [`log`].
#[derive(Debug, Default, Serialize)]
pub struct Log {
    /// The commits, newest first.
    pub commits: Vec<Commit>,
    /// The limits that were reached. [`Cut::Shallow`]: the clone ends here.
    pub cuts: Cuts,
}

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Commit {
    /// The commit id, in hexadecimal.
    pub id: String,
    /// The ids of the parents.
    pub parents: Vec<String>,
    /// The name of the author.
    pub author: String,
    /// The author's time, in seconds since 1970.
    pub time: i64,
    /// The author's date in their time zone, as `2024-05-31`.
    pub date: String,
    /// The first line of the message.
    pub summary: String,
    /// The rest of the message.
    pub body: String,
}

/// Lists commits by time, newest first.
///
/// # Errors
/// [`HistoryError`] if the revision does not exist or the repository cannot be read.
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

/// Returns whether a commit's entry at `path` differs from that of every parent. Missing parents, as at the end of a
/// shallow clone, are ignored; without any parent, the commit counts as the one that added the entry.
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
