//! Listing one directory.

use std::fs::{DirEntry, FileType};
use std::ops::ControlFlow;
use std::path::Path;

use muninn_base::{PathError, RelPath, Until};
use parking_lot::Mutex;
use serde::Serialize;

use crate::cut::{Cut, Cuts};
use crate::files::FileFilter;
use crate::secret::is_secret;
use crate::walk::{Found, Walker};
use crate::worktree::Worktree;

/// The result of [`list`].
#[derive(Debug, Serialize)]
pub struct Listing {
    /// The entries: directories first, then files and symlinks, each by name.
    pub entries: Vec<ListEntry>,
    /// The limits that were reached.
    pub cuts: Cuts,
}

/// One entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListEntry {
    /// The path from the worktree's root.
    pub path: RelPath,
    pub kind: EntryKind,
    /// The size of a file, in bytes.
    pub size: Option<u64>,
}

/// The kind of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    Directory,
    /// A regular file.
    File,
    /// A symlink, which is not followed.
    Symlink,
}

/// Why a directory was not listed.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// The path does not exist, or leads out of the worktree.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The path is not a directory.
    #[error("{path} is not a directory")]
    NotADirectory { path: RelPath },
}

/// Lists a directory, or the root if `directory` is `None`. Ignored files, secrets and nested repositories are omitted.
///
/// # Errors
/// [`ListError`] if there is no such directory.
pub fn list(
    worktree: &Worktree,
    directory: Option<&RelPath>,
    max_entries: usize,
    until: &Until,
) -> Result<Listing, ListError> {
    if let Some(path) = directory
        && !worktree.resolve(path)?.is_dir()
    {
        return Err(ListError::NotADirectory { path: path.clone() });
    }
    let filter = FileFilter { globs: Vec::new(), under: directory.cloned().into_iter().collect() };
    let empty = Listing { entries: Vec::new(), cuts: Cuts::default() };
    // Compiling cannot fail, because the filter has no glob.
    let Ok(filter) = filter.compile(worktree.root()) else {
        return Ok(empty);
    };
    let depth = 1 + directory.map_or(0, |path| path.as_str().split('/').count());
    let listing = Mutex::new(empty);
    let walker = Walker {
        worktree,
        wanted: |path: &Path, directory: bool| filter.accepts(path, directory),
        max_depth: depth,
        threads: 1,
    };
    let unknown_rules = walker.run(|| {
        |found: Found<'_>| {
            let mut listing = listing.lock();
            if until.is_over() {
                listing.cuts.add(Cut::Time);
                return ControlFlow::Break(());
            }
            let entry = match found {
                Found::Directory(path) => entry_of(path, None),
                Found::Entry(path, kind, entry) => entry_of(path, Some((kind, entry))),
                Found::NestedRepository(_) | Found::Unreadable | Found::LeftOut => None,
            };
            let is_listed = |entry: &ListEntry| entry.path.as_str().split('/').count() == depth;
            listing.entries.extend(entry.filter(is_listed));
            ControlFlow::Continue(())
        }
    });
    let mut listing = listing.into_inner();
    if unknown_rules > 0 {
        listing.cuts.add(Cut::IgnoreFile);
    }
    listing.entries.sort_by(|a, b| {
        let files_last = |entry: &ListEntry| entry.kind != EntryKind::Directory;
        (files_last(a), &a.path).cmp(&(files_last(b), &b.path))
    });
    if listing.entries.len() > max_entries {
        listing.entries.truncate(max_entries);
        listing.cuts.add(Cut::Matches);
    }
    Ok(listing)
}

/// The entry of a directory, or of a file or symlink; `None` for anything else and for secrets.
fn entry_of(path: &Path, file: Option<(FileType, &DirEntry)>) -> Option<ListEntry> {
    let path = RelPath::from_relative(path).filter(|path| !is_secret(path))?;
    let kind = match file {
        None => EntryKind::Directory,
        Some((kind, _)) if kind.is_file() => EntryKind::File,
        Some((kind, _)) if kind.is_symlink() => EntryKind::Symlink,
        Some(_) => return None,
    };
    let metadata = file.filter(|_| kind == EntryKind::File);
    let metadata = metadata.and_then(|(_, entry)| entry.metadata().ok());
    Some(ListEntry { path, kind, size: metadata.map(|metadata| metadata.len()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    fn soon() -> Until {
        Until::within(std::time::Duration::from_secs(600))
    }

    #[test]
    fn lists_one_directory() {
        let repo = Fixture::with(&[
            (".gitignore", "*.log\n"),
            ("a/b/c.rs", "x"),
            ("a/z.rs", "four"),
            ("a/x.log", "x"),
            ("a/.env", "x"),
            ("b.txt", "x"),
        ]);
        let shown = |directory: Option<&str>| -> Vec<String> {
            let path = directory.map(|path| RelPath::new(path).unwrap());
            let listing = list(&repo.worktree(), path.as_ref(), 10, &soon()).unwrap();
            let line = |entry: &ListEntry| format!("{} {:?} {:?}", entry.path, entry.kind, entry.size);
            listing.entries.iter().map(line).collect()
        };
        assert_eq!(shown(None), ["a Directory None", ".gitignore File Some(6)", "b.txt File Some(1)"]);
        assert_eq!(shown(Some("a")), ["a/b Directory None", "a/z.rs File Some(4)"]);
        let fails = |path: &str| list(&repo.worktree(), Some(&RelPath::new(path).unwrap()), 10, &soon());
        assert!(matches!(fails("b.txt"), Err(ListError::NotADirectory { .. })));
        assert!(matches!(fails("gone"), Err(ListError::Path(_))));
        assert!(list(&repo.worktree(), None, 1, &soon()).unwrap().cuts.has(Cut::Matches));
    }

    #[cfg(unix)]
    #[test]
    fn symlinks_out_of_the_worktree_are_refused() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("x.txt"), "x").unwrap();
        let repo = Fixture::with(&[("a.txt", "x")]);
        std::os::unix::fs::symlink(outside.path(), repo.path("out")).unwrap();
        let out = list(&repo.worktree(), Some(&RelPath::new("out").unwrap()), 10, &soon());
        assert!(matches!(out, Err(ListError::Path(PathError::Outside { .. }))));
        let top = list(&repo.worktree(), None, 10, &soon()).unwrap();
        assert_eq!(top.entries[1].kind, EntryKind::Symlink);
    }
}
