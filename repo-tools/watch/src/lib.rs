//! Watches a worktree, or a folder of pages, for changes, through the operating system.
//!
//! Every change is a hint: a reported file can be unchanged or ignored, but a changed file is never missed. If this
//! cannot be guaranteed, the result is [`Changes::Everything`], and the caller must walk the worktree. There are four
//! such cases: watches are being set up; the system's queue overflowed; an ignore file changed, which changes the set
//! of watched directories; or the worktree cannot be watched at all.
//!
//! Each walked directory has its own watch, so `target/` and `node_modules/` cost nothing. On systems that can only
//! watch a whole tree, events in other directories are dropped.
//!
//! A watcher has two threads, which sleep until an event arrives. notify's thread reads events and records paths
//! (`events.rs`). The thread of `setter.rs` sets watches. A new directory is reported twice: when its event arrives, and
//! when its watch is set. A walk below it after the second report finds everything that was created before.
//!
//! Not reported: writes through a memory map before the file is closed, writes through a hard link elsewhere, a nested
//! repository that ceases to be one, and changes by other machines on a shared file system (which is refused if
//! recognised).

mod events;
mod folder;
mod marks;
mod setter;
mod shared;
#[cfg(target_os = "linux")]
mod shares;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use muninn_base::{RelPath, Supervisor, Task};
use muninn_repo_tools::{Directories, Worktree, visible_directories, walked_directories};

pub use folder::WatchedFolder;
use marks::Marks;
use setter::WatchSetter;
use shared::Shared;

/// Maximum number of changed paths. With more paths, a walk is as fast.
const MAX_PATHS: usize = 1_000;
/// Maximum number of watched directories. Each takes about 1 kB of kernel memory.
const MAX_DIRECTORIES: usize = 100_000;

/// The directories that are watched.
#[derive(Debug, Clone)]
pub enum Scope {
    /// Those that a walk of a worktree enters.
    Worktree(Worktree),
    /// A folder and all directories below it, but no hidden ones.
    Folder(PathBuf),
}

impl Scope {
    fn root(&self) -> &Path {
        match self {
            Self::Worktree(worktree) => worktree.root(),
            Self::Folder(root) => root,
        }
    }

    /// The directory of `info/exclude`, which decides what is ignored.
    fn common_dir(&self) -> Option<&Path> {
        match self {
            Self::Worktree(worktree) => Some(worktree.common_dir()),
            Self::Folder(_) => None,
        }
    }

    /// Whether changes of an entry of the root are of no interest.
    fn leaves_out(&self, path: &RelPath) -> bool {
        matches!(self, Self::Worktree(_)) && path.as_str() == ".muninn"
    }

    /// Lists the directories without the root, or only `top` and those below it; at most `max`.
    fn directories(&self, top: Option<&RelPath>, max: usize) -> Directories {
        match self {
            Self::Worktree(worktree) => walked_directories(worktree, top, max),
            Self::Folder(root) => visible_directories(root, top, max),
        }
    }
}

/// Watches directories until it is dropped.
pub struct Watcher {
    shared: Arc<Shared>,
    marks: Marks,
    setter: Option<Task>,
}

/// The changes that can have happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changes {
    /// No change.
    None,
    /// These files, and everything below these directories. A missing path was removed, with everything below it.
    Paths(BTreeSet<RelPath>),
    /// Any file: the worktree must be walked.
    Everything,
}

/// Why a worktree is not watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The system cannot watch files, or has no resources left.
    #[error("cannot start watching files")]
    Unavailable {
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The mark directory cannot be created.
    #[error("cannot make a temporary directory to be watched")]
    Marks {
        /// The cause.
        source: std::io::Error,
    },
    /// No thread could be started.
    #[error("cannot start the thread that sets watches")]
    Thread {
        /// The cause.
        source: std::io::Error,
    },
    /// Other machines can write to this file system without an event.
    #[error("{} is on a file system that does not report all changes", root.display())]
    Share {
        /// The root of the worktree.
        root: PathBuf,
    },
    /// The worktree has too many directories.
    #[error("more than {max} directories to watch")]
    TooMany {
        /// The maximum.
        max: usize,
    },
    /// The user's limit of watches is reached. On Linux: `fs.inotify.max_user_watches`.
    #[error("the system refuses to watch any more directories")]
    Refused,
    /// The system stopped reporting.
    #[error("the system stopped reporting changes")]
    Broken {
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The worktree was removed or renamed.
    #[error("{} is gone", root.display())]
    Gone {
        /// The former path.
        root: PathBuf,
    },
}

impl Watcher {
    /// Starts watching. `home` is the parent of the mark directory; without it the system's temporary directory is
    /// used. Returns at once: watches are set in the background, and until then everything can have changed.
    ///
    /// # Errors
    /// [`WatchError`] if the system cannot watch these directories. Later failures are returned by [`Watcher::failure`].
    pub fn start(scope: Scope, home: Option<&Path>, supervisor: &Supervisor) -> Result<Self, WatchError> {
        Self::start_bounded(scope, home, supervisor, MAX_DIRECTORIES)
    }

    fn start_bounded(
        scope: Scope,
        home: Option<&Path>,
        supervisor: &Supervisor,
        max_directories: usize,
    ) -> Result<Self, WatchError> {
        #[cfg(target_os = "linux")]
        shares::refuse(scope.root())?;
        let (marks, directory) = Marks::new(home).map_err(|source| WatchError::Marks { source })?;
        let shared = Arc::new(Shared::new(scope, directory));
        let setter = WatchSetter::new(&shared, max_directories)?;
        let setter = supervisor.run("watch", move || setter.run()).map_err(|source| WatchError::Thread { source })?;
        Ok(Self { shared, marks, setter: Some(setter) })
    }

    /// Takes the changes since the last call; costs a lock. Changes are returned once: the caller must apply them
    /// before another question uses the same snapshot.
    ///
    /// A change is visible once its event has been read; [`Watcher::settle`] waits for that.
    pub fn changes(&self) -> Changes {
        self.shared.take()
    }

    /// Blocks until there are changes. Returns false when watching has stopped.
    pub fn wait(&self) -> bool {
        self.shared.wait_for_changes()
    }

    /// Restores [`Changes::Everything`], for a caller that took the changes and then could not walk.
    pub fn put_back(&self) {
        self.shared.put_back();
    }

    /// Waits until all changes have been taken; false after the deadline.
    pub fn wait_taken(&self, deadline: Instant) -> bool {
        self.shared.wait_taken(deadline)
    }

    /// Stops watching, wakes waiting callers, and removes the mark directory.
    pub fn stop(&self) {
        self.shared.stop();
        self.marks.remove();
    }

    /// Ensures that the next [`Watcher::changes`] includes everything that happened before this call.
    ///
    /// Renames a file in the watched mark directory and waits for the event: events arrive in order, so all earlier
    /// events have arrived as well. The wait is usually well under a millisecond. Returns `false` after the deadline,
    /// or if watches are incomplete; then `changes` returns everything. On Windows the order of events of two
    /// directories is very likely, but not guaranteed.
    pub fn settle(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let Some(resets) = self.shared.resets_if_complete() else {
            return false;
        };
        match self.marks.set() {
            Ok(mark) => self.shared.wait_for(mark, resets, deadline),
            Err(_) => {
                // System services delete temporary directories that were not used for some days.
                match self.marks.renew() {
                    Ok(directory) => self.shared.renew(directory),
                    Err(source) => self.shared.fail(WatchError::Marks { source }),
                }
                false
            }
        }
    }

    /// Waits until all watches are set; false after the deadline, or if watching failed.
    pub fn wait_ready(&self, patience: Duration) -> bool {
        self.shared.wait_ready(Instant::now() + patience)
    }

    /// Why watching stopped, if it did.
    pub fn failure(&self) -> Option<&WatchError> {
        self.shared.failure()
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.shared.stop();
        if let Some(setter) = self.setter.take() {
            setter.wait();
        }
    }
}
