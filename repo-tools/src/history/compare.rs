//! Two sides that hold files: a commit, the index, the worktree.

use std::path::PathBuf;

use gix::bstr::{BStr, BString, ByteSlice};
use gix::index::entry::{Flags, Mode, Stage, Stat};

use super::HistoryError;
use crate::path::RelPath;
use crate::secret::is_secret;
use crate::walk::SkipCounts;
use crate::worktree::Worktree;

/// Larger files are not hashed; whether they changed is told by their size and time.
const MAX_HASHED_BYTES: u64 = 64 << 20;

/// A file on one side: its mode and the id of its blob.
pub(super) type Side = (Mode, gix::ObjectId);

/// The content of a tree, as an index so that it can be compared with one.
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

/// All paths that differ between two sides, in order. Both have at most one entry for a path, conflicts left out.
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

/// A path that may be shown; counts those that may not.
pub(super) fn shown(path: &BStr, skipped: &mut SkipCounts) -> Option<RelPath> {
    let plain = path.to_str().ok().and_then(|path| RelPath::new(path).ok());
    match plain {
        None => skipped.not_utf8 += 1,
        Some(path) if is_secret(&path) => skipped.secret += 1,
        found => return found,
    }
    None
}

/// What lies in the worktree where the index has an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OnDisk {
    /// As the index has it.
    Same,
    /// Another content or mode.
    Modified,
    /// A file became a symlink, or the like.
    TypeChanged,
    /// Nothing, or something beyond a symlink.
    Gone,
    /// A submodule, or a file that a sparse checkout leaves out.
    NotLooked,
}

/// Compares entries of the index with the worktree.
pub(super) struct Disk<'a> {
    pub(super) worktree: &'a Worktree,
    pub(super) index: &'a gix::index::State,
    /// The repository says that line endings are converted.
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

    pub(super) fn look(&self, entry: &gix::index::Entry, path: &RelPath) -> OnDisk {
        let elsewhere = entry.mode == Mode::COMMIT || entry.mode == Mode::DIR;
        if elsewhere || entry.flags.contains(Flags::SKIP_WORKTREE) {
            return OnDisk::NotLooked;
        }
        let at = self.at(path);
        let Ok(metadata) = gix::index::fs::Metadata::from_path_no_follow(&at) else {
            return OnDisk::Gone;
        };
        let is_link = metadata.is_symlink();
        if metadata.is_dir() {
            return OnDisk::Gone;
        }
        if is_link != (entry.mode == Mode::SYMLINK) {
            return OnDisk::TypeChanged;
        }
        if !is_link && metadata.is_executable() != (entry.mode == Mode::FILE_EXECUTABLE) && cfg!(unix) {
            return OnDisk::Modified;
        }
        let options = gix::index::entry::stat::Options::default();
        if let Ok(now) = Stat::from_fs(&metadata)
            && entry.stat.matches(&now, options)
            && !entry.stat.is_racy(self.index.timestamp(), options)
        {
            return OnDisk::Same;
        }
        match self.content(path, is_link) {
            None => OnDisk::Gone,
            Some(content) if self.is_blob(&content, entry.id) => OnDisk::Same,
            Some(_) => OnDisk::Modified,
        }
    }

    fn at(&self, path: &RelPath) -> PathBuf {
        self.worktree.root().join(path.to_path_buf())
    }

    /// The bytes of a file, or where a symlink points; `None` for what lies beyond a symlink, or is too large.
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
