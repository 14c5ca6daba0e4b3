//! The status of the worktree: changes since HEAD.

use std::collections::BTreeMap;
use std::time::Duration;

use gix::index::entry::{Flags, Mode, Stage};
use serde::Serialize;

use super::compare::{Disk, DiskState, Side, differences, shown, tree};
use super::{HistoryError, commit, open};
use crate::cut::{Cut, Cuts};
use crate::files::{FileFilter, files};
use crate::path::RelPath;
use crate::until::Until;
use crate::walk::{SkipCounts, WalkLimits};
use crate::worktree::Worktree;

/// Number of entries between two checks of the deadline.
const ENTRIES_PER_CHECK: usize = 256;

/// The scope of a status.
#[derive(Debug, Clone)]
pub struct StatusQuery {
    /// The files to include.
    pub filter: FileFilter,
    /// Whether to list untracked files.
    pub untracked: bool,
    /// Maximum number of files.
    pub max_entries: usize,
    /// The deadline.
    pub until: Until,
}

impl Default for StatusQuery {
    fn default() -> Self {
        Self {
            filter: FileFilter::default(),
            untracked: true,
            max_entries: 1_000,
            until: Until::within(Duration::from_secs(10)),
        }
    }
}

/// The result of [`status`]. A rename is a deletion and an addition, as in git's data.
#[derive(Debug, Default, Serialize)]
pub struct Status {
    /// The current branch; `None` on a detached HEAD.
    pub branch: Option<String>,
    /// The commit of HEAD; `None` before the first commit.
    pub head: Option<String>,
    /// The changed files, by path.
    pub entries: Vec<StatusEntry>,
    /// The number of submodules, which are not compared.
    pub submodules: usize,
    /// The number of files outside the sparse checkout.
    pub sparse: usize,
    /// The changed files that are not shown, by reason.
    pub skipped: SkipCounts,
    /// The limits that were reached.
    pub cuts: Cuts,
}

/// A changed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StatusEntry {
    /// The file.
    pub path: RelPath,
    /// The change between HEAD and the index.
    pub staged: Option<Change>,
    /// The change between the index and the worktree.
    pub unstaged: Option<Change>,
}

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// The file is new.
    Added,
    /// The content or mode changed.
    Modified,
    /// The file is gone.
    Deleted,
    /// The file type changed, for instance to a symlink.
    TypeChanged,
    /// The file has an unresolved merge conflict.
    Conflicted,
    /// Git does not track the file.
    Untracked,
}

impl Change {
    /// Returns the letter of `git status --short`.
    pub fn letter(self) -> char {
        match self {
            Self::Added => 'A',
            Self::Modified => 'M',
            Self::Deleted => 'D',
            Self::TypeChanged => 'T',
            Self::Conflicted => 'U',
            Self::Untracked => '?',
        }
    }

    pub(super) fn between(was: Option<Side>, is: Option<Side>) -> Self {
        let kind = |mode: Mode| mode & Mode::from_bits_retain(0o170_000);
        match (was, is) {
            (None, _) => Self::Added,
            (_, None) => Self::Deleted,
            (Some((was, _)), Some((is, _))) if kind(was) != kind(is) => Self::TypeChanged,
            _ => Self::Modified,
        }
    }
}

/// Compares HEAD, the index and the worktree.
///
/// # Errors
/// [`HistoryError`] if the repository cannot be read.
pub fn status(worktree: &Worktree, query: &StatusQuery) -> Result<Status, HistoryError> {
    let repository = open(worktree)?;
    let filter = query.filter.compile(worktree.root())?;
    let head = commit(&repository, None)?;
    let index = repository.index_or_empty().map_err(HistoryError::git)?;
    let mut status = Status {
        branch: worktree.branch(),
        head: head.as_ref().map(|commit| commit.id.to_string()),
        ..Status::default()
    };
    let mut changed: BTreeMap<RelPath, (Option<Change>, Option<Change>)> = BTreeMap::new();
    let accepted = |path: &gix::bstr::BStr, status: &mut Status| {
        let path = shown(path, &mut status.skipped)?;
        filter.accepts(&path.to_path_buf(), false).then_some(path)
    };
    let folded: Vec<_> = index.entries().iter().filter(|entry| entry.mode == Mode::DIR).collect();
    for (path, was, is) in differences(&tree(&repository, head.as_ref())?, &index) {
        let in_folded = folded.iter().any(|folder| path.starts_with(folder.path(&index)));
        let unmerged = is.is_none() && index.entry_range(path.as_ref()).is_some();
        let intended = index
            .entry_by_path(path.as_ref())
            .is_some_and(|entry| entry.flags.contains(Flags::INTENT_TO_ADD));
        if in_folded || unmerged || intended {
            continue;
        }
        if let Some(path) = accepted(path.as_ref(), &mut status) {
            changed.entry(path).or_default().0 = Some(Change::between(was, is));
        }
    }
    let disk = Disk::new(worktree, &repository, &index);
    for (number, entry) in index.entries().iter().enumerate() {
        if number.is_multiple_of(ENTRIES_PER_CHECK) && query.until.is_over() {
            status.cuts.add(Cut::Time);
            break;
        }
        if entry.mode == Mode::COMMIT {
            status.submodules += 1;
        } else if entry.flags.contains(Flags::SKIP_WORKTREE) || entry.mode == Mode::DIR {
            status.sparse += 1;
        } else if let Some(path) = accepted(entry.path(&index), &mut status) {
            let change = match disk.compare(entry, &path) {
                _ if entry.stage() != Stage::Unconflicted => Some(Change::Conflicted),
                _ if entry.flags.contains(Flags::INTENT_TO_ADD) => Some(Change::Added),
                DiskState::Same | DiskState::NotCompared => None,
                DiskState::Modified => Some(Change::Modified),
                DiskState::TypeChanged => Some(Change::TypeChanged),
                DiskState::Missing => Some(Change::Deleted),
            };
            if let Some(change) = change {
                changed.entry(path).or_default().1 = Some(change);
            }
        }
    }
    if query.untracked {
        let listed = files(worktree, &query.filter, WalkLimits::default().max_files, &query.until)?;
        status.cuts.extend(&listed.cuts);
        let untracked = listed
            .paths
            .into_iter()
            .filter(|path| index.entry_range(path.as_str().into()).is_none());
        for path in untracked {
            changed.entry(path).or_default().1 = Some(Change::Untracked);
        }
    }
    if changed.len() > query.max_entries {
        status.cuts.add(Cut::Matches);
    }
    let entry = |(path, (staged, unstaged))| StatusEntry { path, staged, unstaged };
    status.entries = changed.into_iter().take(query.max_entries).map(entry).collect();
    Ok(status)
}
