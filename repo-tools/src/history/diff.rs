//! What differs between two commits, or between a commit and the worktree.

use std::collections::BTreeMap;
use std::time::Duration;

use gix::bstr::ByteSlice;
use gix::index::entry::Mode;
use serde::Serialize;

use super::compare::{Disk, OnDisk, Side, differences, shown, tree};
use super::status::Change;
use super::text::{TextDiff, is_binary, text_diff};
use super::{HistoryError, commit, open};
use crate::cut::{Cut, Cuts, shorten};
use crate::files::FileFilter;
use crate::path::RelPath;
use crate::until::Until;
use crate::walk::SkipCounts;
use crate::worktree::Worktree;

/// What to compare.
#[derive(Debug, Clone)]
pub struct DiffQuery {
    /// The older side; HEAD if not given.
    pub from: Option<String>,
    /// The newer side; the worktree if not given.
    pub to: Option<String>,
    /// Which files.
    pub filter: FileFilter,
    /// Unchanged lines around a change.
    pub context: u32,
    /// So many files at most.
    pub max_files: usize,
    /// Files that are larger on one side are only named, in bytes.
    pub max_file_bytes: usize,
    /// The text of all together, in bytes.
    pub max_bytes: usize,
    /// When to give up.
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

/// A difference.
#[derive(Debug, Default, Serialize)]
pub struct Diff {
    /// The changed files, by path.
    pub files: Vec<FileDiff>,
    /// Changed files that are not shown, by reason.
    pub skipped: SkipCounts,
    /// Which bounds were reached.
    pub cuts: Cuts,
}

/// The difference of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileDiff {
    /// The file.
    pub path: RelPath,
    /// How it changed.
    pub change: Change,
    /// Lines that came.
    pub added: u32,
    /// Lines that went.
    pub removed: u32,
    /// Unified hunks; empty for a binary file.
    pub text: String,
    /// One side is binary.
    pub binary: bool,
    /// The text is not all: the file is too large, or the bytes were used up, or a side is not in the clone.
    pub cut: bool,
}

impl FileDiff {
    /// With the head that `git diff` prints, as far as it is known.
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
/// [`HistoryError`] where a side is not there, or the repository cannot be read.
pub fn diff(worktree: &Worktree, query: &DiffQuery) -> Result<Diff, HistoryError> {
    let repository = open(worktree)?;
    let chosen = query.filter.compile(worktree.root())?;
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
        None => on_disk(worktree, &repository, &from, &index, query, &mut answer),
    };
    let disk = Disk::new(worktree, &repository, &index);
    let mut left = query.max_bytes;
    for (path, (was, is)) in changes {
        if !chosen.wants(&path.to_path_buf(), false) {
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
        .compare(path, was, is, &mut left);
        if found.cut {
            answer.cuts.add(Cut::Bytes);
        }
        // Another line ending, which git takes for the same.
        let only_converted = disk.converts && found.change == Change::Modified && found.added + found.removed == 0;
        if !only_converted || found.binary || found.cut {
            answer.files.push(found);
        }
    }
    Ok(answer)
}

/// Where the newer content is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    Blob(Side),
    /// In the worktree; whether it is a symlink.
    Disk {
        link: bool,
    },
}

type Changes = BTreeMap<RelPath, (Option<Side>, Option<Content>)>;

/// The tracked files that differ between a tree and the worktree.
fn on_disk(
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
        let is = match disk.look(entry, &path) {
            OnDisk::Same | OnDisk::NotLooked => continue,
            OnDisk::Gone => None,
            OnDisk::Modified => Some(Content::Disk {
                link: entry.mode == Mode::SYMLINK,
            }),
            OnDisk::TypeChanged => Some(Content::Disk {
                link: entry.mode != Mode::SYMLINK,
            }),
        };
        let was = from
            .entry_by_path(entry.path(index))
            .map(|entry| (entry.mode, entry.id));
        if was.is_none() && is.is_none() {
            // Added to the index and gone again.
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
    fn compare(&self, path: RelPath, was: Option<Side>, is: Option<Content>, left: &mut usize) -> FileDiff {
        let new = match is {
            Some(Content::Blob(side)) => Some(side),
            // The kind is all that is asked of it.
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
            // As git has it: all of the old thing goes, all of the new one comes.
            Change::TypeChanged => {
                let (gone, come) = (text_diff(&before, b"", 0), text_diff(b"", &after, 0));
                TextDiff {
                    text: gone.text + &come.text,
                    added: come.added,
                    removed: gone.removed,
                }
            }
            _ => text_diff(&before, &after, self.query.context),
        };
        (found.added, found.removed) = (text.added, text.removed);
        let (kept, cut) = shorten(&text.text, *left);
        *left -= kept.len();
        (found.text, found.cut) = (kept.to_owned(), cut);
        found
    }

    /// The content of a blob; of a submodule the words that git shows for it.
    fn blob(&self, (mode, id): Side) -> Option<Vec<u8>> {
        if mode == Mode::COMMIT {
            return Some(format!("Subproject commit {id}\n").into_bytes());
        }
        let mut blob = self.repository.find_blob(id).ok()?;
        Some(blob.take_data())
    }
}
