//! The thread that sets watches. notify's own must not do that: it is the one that serves the requests for them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use muninn_repo_tools::{RelPath, Worktree, walked_directories};
use notify::{Config, ErrorKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::WatchError;
use super::events::Events;
use super::shared::{Shared, Work};

/// Whether each directory has a watch of its own. The other systems watch a tree as easily as a directory, and are slow
/// to begin with one more.
const ONE_BY_ONE: bool = cfg!(any(target_os = "linux", target_os = "android"));

pub(super) struct WatchSetter {
    worktree: Worktree,
    shared: Arc<Shared>,
    system: RecommendedWatcher,
    max_directories: usize,
}

/// Why no more watches are set: for a reason, or because it is over.
type SetupStop = Option<WatchError>;

impl WatchSetter {
    pub(super) fn new(worktree: &Worktree, shared: &Arc<Shared>, max_directories: usize) -> Result<Self, WatchError> {
        let config = Config::default().with_follow_symlinks(false);
        let system = RecommendedWatcher::new(Events(Arc::clone(shared)), config).map_err(unavailable)?;
        Ok(Self {
            worktree: worktree.clone(),
            shared: Arc::clone(shared),
            system,
            max_directories,
        })
    }

    /// Works until the watcher is dropped or gives up. The watches end with it: others need them too.
    pub(super) fn run(mut self) {
        while let Some(work) = self.shared.next_work() {
            let done = if work.all {
                self.watch_all()
            } else {
                self.watch_below(&work)
            };
            match done {
                Ok(()) => self.shared.update(|state| state.finish(work.all)),
                Err(Some(error)) => self.shared.fail(error),
                Err(None) => {}
            }
        }
    }

    /// Watches the worktree as it is now. What was watched before cannot be relied upon, for instance because a
    /// directory was replaced by another of its name while nobody listened.
    fn watch_all(&mut self) -> Result<(), SetupStop> {
        let (old, marks) = {
            let mut state = self.shared.lock();
            (std::mem::take(&mut state.directories), state.marks.clone())
        };
        // Before anything is watched: a directory that was renamed is still watched under its old name, and to let go of
        // that later would let go of both.
        if ONE_BY_ONE {
            for directory in &old {
                let _was_gone = self.system.unwatch(&self.absolute(directory));
            }
        }
        self.watch_one(&marks)?;
        self.watch_excludes()?;
        let mode = if ONE_BY_ONE {
            RecursiveMode::NonRecursive
        } else {
            RecursiveMode::Recursive
        };
        let root = self.worktree.root().to_owned();
        if let Err(error) = self.system.watch(&root, mode) {
            let gone = !root.is_dir();
            return Err(Some(if gone {
                WatchError::Gone { root }
            } else {
                unavailable(error)
            }));
        }
        self.watch_tree(None)
    }

    /// Watches what appeared, and says that it did: nobody heard what was made in it until now.
    fn watch_below(&mut self, work: &Work) -> Result<(), SetupStop> {
        for top in &work.below {
            self.watch_tree(Some(top))?;
            self.shared.lock().see(top.clone());
        }
        Ok(())
    }

    /// Watches `top`, or all, and what is below it. A directory that was made after its parent was listed and before it
    /// was watched is found by listing once more, until there is nothing new. What happens in a directory after that
    /// listing is told, because by then it is among those that count.
    fn watch_tree(&mut self, top: Option<&RelPath>) -> Result<(), SetupStop> {
        let mut done = HashSet::new();
        loop {
            let found = walked_directories(&self.worktree, top, self.max_directories);
            let known = self.shared.lock().directories.len();
            let new: Vec<_> = found.paths.iter().filter(|path| !done.contains(*path)).collect();
            if found.cut || known + new.len() > self.max_directories {
                let max = self.max_directories;
                return Err(Some(WatchError::TooMany { max }));
            }
            if new.is_empty() {
                self.let_go(done, &found.paths);
                return Ok(());
            }
            for directory in &new {
                if self.shared.is_stopped() {
                    return Err(None);
                }
                if ONE_BY_ONE {
                    self.watch_one(&self.absolute(directory))?;
                }
            }
            self.shared.lock().directories.extend(new.iter().copied().cloned());
            done.extend(new.into_iter().cloned());
        }
    }

    /// Lets go of what was removed, renamed, or became another repository while it was being watched. If it is back by
    /// now, its coming was told, and it will be watched again.
    fn let_go(&mut self, mut done: HashSet<RelPath>, there: &[RelPath]) {
        there.iter().for_each(|path| {
            done.remove(path);
        });
        for directory in done {
            if ONE_BY_ONE {
                let _was_gone = self.system.unwatch(&self.absolute(&directory));
            }
            self.shared.lock().directories.remove(&directory);
        }
    }

    /// `info/exclude` decides what is ignored. Where there is no `info`, its coming is waited for.
    fn watch_excludes(&mut self) -> Result<(), SetupStop> {
        let common = self.worktree.common_dir().to_owned();
        let info = common.join("info");
        self.watch_one(if info.is_dir() { &info } else { &common })
    }

    /// A directory that cannot be watched because it is gone or closed to us has nothing to tell either.
    fn watch_one(&mut self, directory: &Path) -> Result<(), SetupStop> {
        match self.system.watch(directory, RecursiveMode::NonRecursive) {
            Err(error) if matches!(error.kind, ErrorKind::MaxFilesWatch) => Err(Some(WatchError::Refused)),
            _ => Ok(()),
        }
    }

    fn absolute(&self, path: &RelPath) -> PathBuf {
        self.worktree.root().join(path.to_path_buf())
    }
}

fn unavailable(error: notify::Error) -> WatchError {
    WatchError::Unavailable {
        source: Box::new(error),
    }
}
