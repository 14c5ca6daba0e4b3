//! Comparing commits, the index and the worktree.

use std::path::PathBuf;

use gix::bstr::{BStr, BString, ByteSlice};
use gix::index::entry::{Flags, Mode, Stage, Stat};

use super::HistoryError;
use crate::path::RelPath;
use crate::secret::is_secret;
use crate::walk::SkipCounts;
use crate::worktree::Worktree;

/// Maximum size of a file to hash, in bytes. A larger file counts as missing when size or time differ from the index.
const MAX_HASHED_BYTES: u64 = 64 << 20;

/// A file on one side: its mode and the id of its blob.
pub(super) type Side = (Mode, gix::ObjectId);

/// Returns the content of a commit's tree in the form of an index; an empty one without a commit.
pub(super) fn tree(
    repository: &gix::Repository,
    commit: Option<&gix::Commit<'_>>,
) -> Result<gix::index::State, HistoryError> {
    let id = match commit {
        Some(commit) => commit.tree_id().map_err(HistoryError::git)?.detach(),
        None => gix::ObjectId::empty_tree(repository.object_hash()),
    };
    let index = repository.index_from_tree(&id).map_err(HistoryError::git)?;
    Ok(index.into_parts().0)
}

/// Returns the paths that differ between two indexes, sorted. Conflicted entries are omitted.
pub(super) fn differences(
    old: &gix::index::State,
    new: &gix::index::State,
) -> Vec<(BString, Option<Side>, Option<Side>)> {
    let plain = |entry: &&gix::index::Entry| entry.stage() == Stage::Unconflicted;
    let mut before = old.entries().iter().filter(plain).peekable();
    let mut after = new.entries().iter().filter(plain).peekable();
    let side = |entry: &gix::index::Entry| (entry.mode, entry.id);
    let mut found = Vec::new();
    loop {
        let (left, right) = (before.peek(), after.peek());
        let order = match (left, right) {
            (None, None) => return found,
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some(left), Some(right)) => left.path(old).cmp(right.path(new)),
        };
        let left = if order.is_le() { before.next() } else { None };
        let right = if order.is_ge() { after.next() } else { None };
        let (was, is) = (left.map(side), right.map(side));
        if was != is {
            let path = left
                .map(|entry| entry.path(old))
                .or_else(|| right.map(|entry| entry.path(new)));
            found.push((path.map(BStr::to_owned).unwrap_or_default(), was, is));
        }
    }
}

/// Returns the path if it may be shown; otherwise counts it in `skipped`.
pub(super) fn shown(path: &BStr, skipped: &mut SkipCounts) -> Option<RelPath> {
    let plain = path.to_str().ok().and_then(|path| RelPath::new(path).ok());
    match plain {
        None => skipped.not_utf8 += 1,
        Some(path) if is_secret(&path) => skipped.secret += 1,
        found => return found,
    }
    None
}

/// The state of an index entry's file in the worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DiskState {
    /// The content and mode of the index.
    Same,
    /// Another content or mode.
    Modified,
    /// Another file type, for instance a symlink instead of a file.
    TypeChanged,
    /// Missing, or reached through a symlink only.
    Missing,
    /// Not compared: a submodule, or a file outside a sparse checkout.
    NotCompared,
}

/// Compares entries of the index with the worktree.
pub(super) struct Disk<'a> {
    pub(super) worktree: &'a Worktree,
    pub(super) index: &'a gix::index::State,
    /// Whether the repository configures line-ending conversion.
    pub(super) converts: bool,
}

impl<'a> Disk<'a> {
    pub(super) fn new(worktree: &'a Worktree, repository: &gix::Repository, index: &'a gix::index::State) -> Self {
        let configured = repository
            .config_snapshot()
            .string("core.autocrlf")
            .is_some_and(|value| value != "false");
        Self {
            worktree,
            index,
            converts: configured || worktree.root().join(".gitattributes").is_file(),
        }
    }

    pub(super) fn compare(&self, entry: &gix::index::Entry, path: &RelPath) -> DiskState {
        let elsewhere = entry.mode == Mode::COMMIT || entry.mode == Mode::DIR;
        if elsewhere || entry.flags.contains(Flags::SKIP_WORKTREE) {
            return DiskState::NotCompared;
        }
        let at = self.at(path);
        let Ok(metadata) = gix::index::fs::Metadata::from_path_no_follow(&at) else {
            return DiskState::Missing;
        };
        let is_link = metadata.is_symlink();
        if metadata.is_dir() {
            return DiskState::Missing;
        }
        if is_link != (entry.mode == Mode::SYMLINK) {
            return DiskState::TypeChanged;
        }
        if !is_link && metadata.is_executable() != (entry.mode == Mode::FILE_EXECUTABLE) && cfg!(unix) {
            return DiskState::Modified;
        }
        let options = gix::index::entry::stat::Options::default();
        if let Ok(now) = Stat::from_fs(&metadata)
            && entry.stat.matches(&now, options)
            && !entry.stat.is_racy(self.index.timestamp(), options)
        {
            return DiskState::Same;
        }
        match self.content(path, is_link) {
            None => DiskState::Missing,
            Some(content) if self.is_blob(&content, entry.id) => DiskState::Same,
            Some(_) => DiskState::Modified,
        }
    }

    fn at(&self, path: &RelPath) -> PathBuf {
        self.worktree.root().join(path.to_path_buf())
    }

    /// Returns the bytes of a file, or the target of a symlink. `None` for a file behind a symlinked directory, and for
    /// one that is too large.
    pub(super) fn content(&self, path: &RelPath, is_link: bool) -> Option<Vec<u8>> {
        let at = self.at(path);
        let folder = at.parent()?;
        if folder.canonicalize().ok()? != folder {
            return None;
        }
        if is_link {
            let target = std::fs::read_link(&at).ok()?;
            return Some(target.to_str()?.as_bytes().to_vec());
        }
        let metadata = at.symlink_metadata().ok()?;
        if !metadata.is_file() || metadata.len() > MAX_HASHED_BYTES {
            return None;
        }
        std::fs::read(&at).ok()
    }

    fn is_blob(&self, content: &[u8], id: gix::ObjectId) -> bool {
        let is = |content: &[u8]| {
            gix::objs::compute_hash(id.kind(), gix::objs::Kind::Blob, content).is_ok_and(|own| own == id)
        };
        is(content) || self.converts && content.find(b"\r\n").is_some() && is(&content.replace(b"\r\n", b"\n"))
    }
}
