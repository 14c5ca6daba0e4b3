//! Walking a worktree on several threads.

use std::ffi::OsStr;
use std::fs::{DirEntry, FileType, read_dir};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::patterns::Candidate;
use super::rules::{DOT_IGNORE, DirectoryRules, GITIGNORE, IgnoreFiles, WalkRules};
use crate::worktree::Worktree;

/// A walk over the entries of a worktree that git does not ignore, without `.git`, `.muninn` and nested repositories.
/// Symlinks are not followed.
pub(crate) struct Walker<'w, W> {
    pub(crate) worktree: &'w Worktree,
    /// Decides on each file and directory (`true`) below the root, by its path.
    pub(crate) wanted: W,
    /// Maximum number of levels below the root.
    pub(crate) max_depth: usize,
    /// Maximum number of threads.
    pub(crate) threads: usize,
}

/// What a walk finds.
pub(crate) enum Found<'e> {
    /// A directory that is entered.
    Directory(&'e Path),
    /// Any other entry.
    Entry(&'e Path, FileType, &'e DirEntry),
    /// An entry that is ignored, or not wanted.
    LeftOut,
    /// A nested repository, which is not entered.
    NestedRepository(&'e Path),
    /// A directory or an entry that the file system refused.
    Unreadable,
}

/// A directory that waits to be read.
struct Directory {
    path: PathBuf,
    depth: usize,
    above: DirectoryRules,
}

impl<W: Fn(&Path, bool) -> bool + Sync> Walker<'_, W> {
    /// Walks until a visitor returns `Break`. `visitor` makes one for each thread, and each entry is passed to one of them,
    /// in no order. Returns the number of directories that count as ignored because their ignore files are unknown.
    pub(crate) fn run<V: FnMut(Found<'_>) -> ControlFlow<()>>(&self, visitor: impl Fn() -> V + Sync) -> usize {
        let (rules, known) = WalkRules::read(self.worktree.common_dir());
        if known.is_err() {
            return rules.unknown();
        }
        let queue = Queue::new(Directory { path: PathBuf::new(), depth: 0, above: DirectoryRules::default() });
        let work = || {
            let mut visit = visitor();
            // The queue must not wait for a thread whose visitor panicked.
            let _end = EndOnPanic(&queue);
            let mut below = Vec::new();
            while let Some(directory) = queue.next() {
                let end = self.directory(&rules, directory, &mut below, &mut visit).is_break();
                queue.done(&mut below, end);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.threads {
                scope.spawn(work);
            }
            work();
        });
        rules.unknown()
    }

    /// Reads a directory, and adds those to enter to `below`.
    fn directory(
        &self,
        rules: &WalkRules,
        directory: Directory,
        below: &mut Vec<Directory>,
        visit: &mut impl FnMut(Found<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Directory { path, depth, above } = directory;
        let absolute = self.worktree.root().join(&path);
        let mut entries = Vec::new();
        let mut has = Contents::default();
        if depth < self.max_depth {
            let Ok(read) = read_dir(&absolute) else {
                return visit(Found::Unreadable);
            };
            for entry in read {
                match entry {
                    Ok(entry) => {
                        has.note(&entry.file_name());
                        entries.push(entry);
                    }
                    Err(_) => visit(Found::Unreadable)?,
                }
            }
        } else {
            has.look(&absolute);
        }
        if depth > 0 && (has.repository || self.worktree.is_git_dir(&absolute)) {
            return visit(Found::NestedRepository(&path));
        }
        let base = path.as_os_str().len() + usize::from(depth > 0);
        let Ok(inside) = rules.enter(&above, &absolute, base, has.ignore_files) else {
            return ControlFlow::Continue(());
        };
        if depth > 0 {
            visit(Found::Directory(&path))?;
        }
        for entry in entries {
            let name = entry.file_name();
            if name == ".git" || (depth == 0 && name == ".muninn") {
                continue;
            }
            let Ok(kind) = entry.file_type() else {
                visit(Found::Unreadable)?;
                continue;
            };
            let path = path.join(name);
            let candidate = Candidate { path: &bytes(path.as_os_str()), directory: kind.is_dir() };
            if rules.is_ignored(&inside, candidate) || !(self.wanted)(&path, kind.is_dir()) {
                visit(Found::LeftOut)?;
                continue;
            }
            if kind.is_dir() {
                below.push(Directory { path, depth: depth + 1, above: inside.clone() });
            } else {
                visit(Found::Entry(&path, kind, &entry))?;
            }
        }
        ControlFlow::Continue(())
    }
}

/// The entries of a directory that decide on it.
#[derive(Default)]
struct Contents {
    repository: bool,
    ignore_files: IgnoreFiles,
}

impl Contents {
    fn note(&mut self, name: &OsStr) {
        self.repository |= name == ".git";
        self.ignore_files.gitignore |= name == GITIGNORE;
        self.ignore_files.dot_ignore |= name == DOT_IGNORE;
    }

    /// Looks for them in a directory that is not read.
    fn look(&mut self, directory: &Path) {
        for name in [".git", GITIGNORE, DOT_IGNORE] {
            if directory.join(name).symlink_metadata().is_ok() {
                self.note(OsStr::new(name));
            }
        }
    }
}

#[cfg(unix)]
fn bytes(path: &OsStr) -> std::borrow::Cow<'_, [u8]> {
    std::os::unix::ffi::OsStrExt::as_bytes(path).into()
}

#[cfg(not(unix))]
fn bytes(path: &OsStr) -> std::borrow::Cow<'_, [u8]> {
    path.to_string_lossy().replace('\\', "/").into_bytes().into()
}

/// The directories that wait, newest first: a walk in depth keeps fewer ignore rules.
struct Queue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

struct QueueState {
    waiting: Vec<Directory>,
    /// The number of directories that are being read.
    read: usize,
    ended: bool,
}

impl Queue {
    fn new(root: Directory) -> Self {
        Self { state: Mutex::new(QueueState { waiting: vec![root], read: 0, ended: false }), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock()
    }

    /// Takes a directory, or waits for one; `None` at the end of the walk.
    fn next(&self) -> Option<Directory> {
        let mut state = self.state();
        loop {
            if state.ended {
                return None;
            }
            if let Some(directory) = state.waiting.pop() {
                state.read += 1;
                return Some(directory);
            }
            self.changed.wait(&mut state);
        }
    }

    /// Adds the directories below one that was read.
    fn done(&self, below: &mut Vec<Directory>, end: bool) {
        let mut state = self.state();
        let added = below.len();
        state.waiting.append(below);
        state.read -= 1;
        state.ended |= end || state.read == 0 && state.waiting.is_empty();
        if state.ended {
            self.changed.notify_all();
        } else {
            for _ in 1..added {
                self.changed.notify_one();
            }
        }
    }
}

/// Ends the walk if its thread panics.
struct EndOnPanic<'q>(&'q Queue);

impl Drop for EndOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.state().ended = true;
            self.0.changed.notify_all();
        }
    }
}
