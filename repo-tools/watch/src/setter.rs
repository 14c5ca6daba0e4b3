//! The thread that sets watches. notify's own thread cannot set them, because it serves the requests for watches.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use muninn_base::RelPath;
use notify::{Config, ErrorKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::WatchError;
use super::events::Events;
use super::shared::{Shared, Work};

/// Whether each directory has its own watch. Other systems watch a tree as cheaply as a directory, but adding a watch
/// is slow.
const ONE_BY_ONE: bool = cfg!(any(target_os = "linux", target_os = "android"));

pub(super) struct WatchSetter {
    shared: Arc<Shared>,
    system: RecommendedWatcher,
    max_directories: usize,
}

/// Why the setter thread stops: an error, or `None` if watching has ended.
type SetupStop = Option<WatchError>;

impl WatchSetter {
    pub(super) fn new(shared: &Arc<Shared>, max_directories: usize) -> Result<Self, WatchError> {
        let config = Config::default().with_follow_symlinks(false);
        let system = RecommendedWatcher::new(Events(Arc::clone(shared)), config).map_err(unavailable)?;
        Ok(Self { shared: Arc::clone(shared), system, max_directories })
    }

    /// Runs until the watcher is dropped or fails. At the end all watches are removed, because the user's limit of
    /// watches is shared between processes.
    pub(super) fn run(mut self) {
        while let Some(work) = self.shared.next_work() {
            let done = if work.all { self.watch_all() } else { self.watch_below(&work) };
            match done {
                Ok(()) => self.shared.update(|state| state.finish(work.all)),
                Err(Some(error)) => self.shared.fail(error),
                Err(None) => {}
            }
        }
    }

    /// Watches the whole worktree anew. Earlier watches are unreliable, for instance if a directory was replaced by
    /// another with its name meanwhile.
    fn watch_all(&mut self) -> Result<(), SetupStop> {
        let (old, marks) = {
            let mut state = self.shared.lock();
            (std::mem::take(&mut state.directories), state.marks.clone())
        };
        // Old watches are removed before new ones are set. A renamed directory is still watched under its old name, and
        // removing that watch later would also remove the new one.
        if ONE_BY_ONE {
            for directory in &old {
                self.system.unwatch(&self.absolute(directory)).ok();
            }
        }
        self.watch_one(&marks)?;
        self.watch_excludes()?;
        let mode = if ONE_BY_ONE { RecursiveMode::NonRecursive } else { RecursiveMode::Recursive };
        let root = self.shared.scope.root().to_owned();
        if let Err(error) = self.system.watch(&root, mode) {
            let gone = !root.is_dir();
            return Err(Some(if gone { WatchError::Gone { root } } else { unavailable(error) }));
        }
        self.watch_tree(None)
    }

    /// Watches new directories and reports them, because events in them were missed until now.
    fn watch_below(&mut self, work: &Work) -> Result<(), SetupStop> {
        for top in &work.below {
            self.watch_tree(Some(top))?;
            self.shared.lock().see(top.clone());
        }
        Ok(())
    }

    /// Watches `top`, or the root, and everything below it. Directories that are created between listing and watching
    /// are found by listing again, until a listing contains nothing new. Events after that listing are reported,
    /// because the directory is then watched.
    fn watch_tree(&mut self, top: Option<&RelPath>) -> Result<(), SetupStop> {
        let mut done = HashSet::new();
        loop {
            let found = self.shared.scope.directories(top, self.max_directories);
            let known = self.shared.lock().directories.len();
            let new: Vec<_> = found.paths.iter().filter(|path| !done.contains(*path)).collect();
            if found.cut || known + new.len() > self.max_directories {
                let max = self.max_directories;
                return Err(Some(WatchError::TooMany { max }));
            }
            if new.is_empty() {
                self.unwatch_missing(done, &found.paths);
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

    /// Removes the watches of directories that were meanwhile removed, renamed, or turned into repositories. If such a
    /// directory returns, its event is reported and it is watched again.
    fn unwatch_missing(&mut self, mut done: HashSet<RelPath>, there: &[RelPath]) {
        there.iter().for_each(|path| {
            done.remove(path);
        });
        for directory in done {
            if ONE_BY_ONE {
                self.system.unwatch(&self.absolute(&directory)).ok();
            }
            self.shared.lock().directories.remove(&directory);
        }
    }

    /// Watches `info/exclude`, which decides what is ignored. If there is no `info`, its parent is watched.
    fn watch_excludes(&mut self) -> Result<(), SetupStop> {
        let Some(common) = self.shared.scope.common_dir().map(Path::to_owned) else {
            return Ok(());
        };
        let info = common.join("info");
        self.watch_one(if info.is_dir() { &info } else { &common })
    }

    /// Watches one directory. A missing or inaccessible one has no events and is ignored.
    fn watch_one(&mut self, directory: &Path) -> Result<(), SetupStop> {
        match self.system.watch(directory, RecursiveMode::NonRecursive) {
            Err(error) if matches!(error.kind, ErrorKind::MaxFilesWatch) => Err(Some(WatchError::Refused)),
            _ => Ok(()),
        }
    }

    fn absolute(&self, path: &RelPath) -> PathBuf {
        self.shared.scope.root().join(path.to_path_buf())
    }
}

fn unavailable(error: notify::Error) -> WatchError {
    WatchError::Unavailable { source: Box::new(error) }
}
