//! The differences between two commits, or between a commit and the worktree.

use std::collections::BTreeMap;
use std::time::Duration;

use gix::bstr::ByteSlice;
use gix::index::entry::Mode;
use serde::Serialize;

use super::compare::{Disk, DiskState, Side, differences, shown, tree};
use super::status::Change;
use super::text::{TextDiff, is_binary, text_diff};
use super::{HistoryError, commit, open};
use crate::cut::{Cut, Cuts, shorten};
use crate::files::FileFilter;
use crate::path::RelPath;
use crate::until::Until;
use crate::walk::SkipCounts;
use crate::worktree::Worktree;

/// A comparison to make.
#[derive(Debug, Clone)]
pub struct DiffQuery {
    /// The revision of the old side; `None` for HEAD.
    pub from: Option<String>,
    /// The revision of the new side; `None` for the worktree.
    pub to: Option<String>,
    /// The files to include.
    pub filter: FileFilter,
    /// The number of unchanged lines around a change.
    pub context: u32,
    /// Maximum number of files.
    pub max_files: usize,
    /// Maximum size of a file on either side, in bytes; a larger file is listed without its text.
    pub max_file_bytes: usize,
    /// Maximum size of all texts together, in bytes.
    pub max_bytes: usize,
    /// The deadline.
    pub until: Until,
}

impl Default for DiffQuery {
    fn default() -> Self {
        Self {
            from: None,
            to: None,
            filter: FileFilter::default(),
            context: 3,
            max_files: 200,
            max_file_bytes: 1 << 20,
            max_bytes: 1 << 18,
            until: Until::within(Duration::from_secs(10)),
        }
    }
}

/// The result of [`diff`].
#[derive(Debug, Default, Serialize)]
pub struct Diff {
    /// The changed files, by path.
    pub files: Vec<FileDiff>,
    /// The changed files that are not shown, by reason.
    pub skipped: SkipCounts,
    /// The limits that were reached.
    pub cuts: Cuts,
}

/// The difference of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileDiff {
    /// The file.
    pub path: RelPath,
    /// The kind of change.
    pub change: Change,
    /// The number of added lines.
    pub added: u32,
    /// The number of removed lines.
    pub removed: u32,
    /// The unified hunks; empty for a binary file.
    pub text: String,
    /// Whether one side is binary.
    pub binary: bool,
    /// Whether the text is incomplete: the file is too large, `max_bytes` is used up, or the clone lacks a side.
    pub cut: bool,
}

impl FileDiff {
    /// Formats the hunks below the `---` and `+++` lines of `git diff`.
    pub fn unified(&self) -> String {
        let path = self.path.printed();
        let side = |there: bool, prefix: &str| {
            if there {
                format!("{prefix}/{path}")
            } else {
                "/dev/null".to_owned()
            }
        };
        let (before, after) = (
            side(self.change != Change::Added, "a"),
            side(self.change != Change::Deleted, "b"),
        );
        let mut text = format!("--- {before}\n+++ {after}\n");
        if self.binary {
            text.push_str("(binary)\n");
        }
        text.push_str(&self.text);
        if self.cut {
            text.push_str("(cut)\n");
        }
        text
    }
}

/// Compares two commits, or a commit with the tracked files of the worktree.
///
/// # Errors
/// [`HistoryError`] if a revision does not exist or the repository cannot be read.
pub fn diff(worktree: &Worktree, query: &DiffQuery) -> Result<Diff, HistoryError> {
    let repository = open(worktree)?;
    let filter = query.filter.compile(worktree.root())?;
    let from = tree(&repository, commit(&repository, query.from.as_deref())?.as_ref())?;
    let index = repository.index_or_empty().map_err(HistoryError::git)?;
    let mut answer = Diff::default();
    let changes = match &query.to {
        Some(to) => {
            let to = tree(&repository, commit(&repository, Some(to))?.as_ref())?;
            let all = differences(&from, &to).into_iter();
            let blob = |side: Side| Content::Blob(side);
            all.filter_map(|(path, was, is)| Some((shown(path.as_ref(), &mut answer.skipped)?, (was, is.map(blob)))))
                .collect()
        }
        None => worktree_changes(worktree, &repository, &from, &index, query, &mut answer),
    };
    let disk = Disk::new(worktree, &repository, &index);
    let mut remaining = query.max_bytes;
    for (path, (was, is)) in changes {
        if !filter.accepts(&path.to_path_buf(), false) {
            continue;
        }
        let stop = if answer.files.len() >= query.max_files {
            Some(Cut::Files)
        } else if query.until.is_over() {
            Some(Cut::Time)
        } else {
            None
        };
        if let Some(cut) = stop {
            answer.cuts.add(cut);
            break;
        }
        let found = Sides {
            repository: &repository,
            disk: &disk,
            query,
        }
        .compare(path, was, is, &mut remaining);
        if found.cut {
            answer.cuts.add(Cut::Bytes);
        }
        // Git treats a difference in converted line endings as no change.
        let only_converted = disk.converts && found.change == Change::Modified && found.added + found.removed == 0;
        if !only_converted || found.binary || found.cut {
            answer.files.push(found);
        }
    }
    Ok(answer)
}

/// The location of the new content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    Blob(Side),
    /// A file of the worktree, or a symlink.
    Disk {
        link: bool,
    },
}

type Changes = BTreeMap<RelPath, (Option<Side>, Option<Content>)>;

/// Returns the tracked files that differ between a tree and the worktree.
fn worktree_changes(
    worktree: &Worktree,
    repository: &gix::Repository,
    from: &gix::index::State,
    index: &gix::index::State,
    query: &DiffQuery,
    answer: &mut Diff,
) -> Changes {
    let mut changes = Changes::new();
    for (path, was, is) in differences(from, index) {
        let folded = index
            .entries()
            .iter()
            .any(|entry| entry.mode == Mode::DIR && path.starts_with(entry.path(index)));
        let unmerged = is.is_none() && index.entry_range(path.as_ref()).is_some();
        if !folded
            && !unmerged
            && let Some(path) = shown(path.as_ref(), &mut answer.skipped)
        {
            changes.insert(path, (was, is.map(Content::Blob)));
        }
    }
    let disk = Disk::new(worktree, repository, index);
    for entry in index.entries() {
        if query.until.is_over() {
            answer.cuts.add(Cut::Time);
            break;
        }
        let Some(path) = shown(entry.path(index), &mut SkipCounts::default()) else {
            continue;
        };
        let is = match disk.compare(entry, &path) {
            DiskState::Same | DiskState::NotCompared => continue,
            DiskState::Missing => None,
            DiskState::Modified => Some(Content::Disk {
                link: entry.mode == Mode::SYMLINK,
            }),
            DiskState::TypeChanged => Some(Content::Disk {
                link: entry.mode != Mode::SYMLINK,
            }),
        };
        let was = from
            .entry_by_path(entry.path(index))
            .map(|entry| (entry.mode, entry.id));
        if was.is_none() && is.is_none() {
            // The file was added to the index and then removed from disk.
            changes.remove(&path);
        } else {
            changes.insert(path, (was, is));
        }
    }
    changes
}

struct Sides<'a> {
    repository: &'a gix::Repository,
    disk: &'a Disk<'a>,
    query: &'a DiffQuery,
}

impl Sides<'_> {
    fn compare(&self, path: RelPath, was: Option<Side>, is: Option<Content>, remaining: &mut usize) -> FileDiff {
        let new = match is {
            Some(Content::Blob(side)) => Some(side),
            // Only the file type is used.
            Some(Content::Disk { link }) => {
                let mode = if link { Mode::SYMLINK } else { Mode::FILE };
                Some((mode, gix::ObjectId::null(self.repository.object_hash())))
            }
            None => None,
        };
        let change = Change::between(was, new);
        let before = was.map_or(Some(Vec::new()), |side| self.blob(side));
        let after = match is {
            None => Some(Vec::new()),
            Some(Content::Blob(side)) => self.blob(side),
            Some(Content::Disk { link }) => self.disk.content(&path, link),
        };
        let mut found = FileDiff {
            path,
            change,
            added: 0,
            removed: 0,
            text: String::new(),
            binary: false,
            cut: true,
        };
        let (Some(before), Some(mut after)) = (before, after) else {
            return found;
        };
        if self.disk.converts && !before.is_empty() && before.find(b"\r\n").is_none() {
            after = after.replace(b"\r\n", b"\n");
        }
        if is_binary(&before) || is_binary(&after) {
            (found.binary, found.cut) = (true, false);
            return found;
        }
        if before.len().max(after.len()) > self.query.max_file_bytes {
            return found;
        }
        let text = match change {
            // Like git: the whole old content is removed and the whole new content added.
            Change::TypeChanged => {
                let (removal, addition) = (text_diff(&before, b"", 0), text_diff(b"", &after, 0));
                TextDiff {
                    text: removal.text + &addition.text,
                    added: addition.added,
                    removed: removal.removed,
                }
            }
            _ => text_diff(&before, &after, self.query.context),
        };
        (found.added, found.removed) = (text.added, text.removed);
        let (kept, cut) = shorten(&text.text, *remaining);
        *remaining -= kept.len();
        (found.text, found.cut) = (kept.to_owned(), cut);
        found
    }

    /// Returns the content of a blob; for a submodule, the line that git shows.
    fn blob(&self, (mode, id): Side) -> Option<Vec<u8>> {
        if mode == Mode::COMMIT {
            return Some(format!("Subproject commit {id}\n").into_bytes());
        }
        let mut blob = self.repository.find_blob(id).ok()?;
        Some(blob.take_data())
    }
}
