//! What may have changed in a worktree since somebody last asked, told by the operating system.
//!
//! Everything here is a hint. A hint may name a file that holds what it held before, or one that is ignored; what is
//! never missing is a file that did change. Where that cannot be promised, the answer is [`Changes::Everything`], and
//! whoever asked walks: while the watches are being set up, after the system's queue ran over, when an ignore file
//! changed (which moves the border of what is watched), and for good where a worktree cannot be watched.
//!
//! Each directory that the walk goes into has a watch of its own, so that `target/` and `node_modules/` cost nothing.
//! On systems that can only watch a whole tree, what happens in other directories is dropped as it arrives.
//!
//! Two threads serve a watcher, and both sleep until something happens: notify's, which reads the events and writes
//! down paths ([`events`]), and the [`setter`], which sets watches. A directory that appears is named twice: when its
//! event arrives and again once it is watched, and whoever looks below it after that has seen all that was made in it
//! before.
//!
//! Not told: writes through a memory map before the file is closed, writes to a hard link elsewhere, a nested repository
//! that ceases to be one, and what another machine does to a shared file system (which is refused where it is known).

mod events;
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

use muninn_repo_tools::{RelPath, Supervisor, Task, Worktree};

use marks::Marks;
use setter::WatchSetter;
use shared::Shared;

/// More changed paths than this are no hint any more: a walk is as fast as looking at each.
const MAX_PATHS: usize = 1_000;
/// Each watched directory keeps about a kilobyte of the kernel's memory. More than this are not watched.
const MAX_DIRECTORIES: usize = 100_000;

/// Watches a worktree until it is dropped.
pub struct Watcher {
    shared: Arc<Shared>,
    marks: Marks,
    setter: Option<Task>,
}

/// What may have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changes {
    /// Nothing.
    None,
    /// These files, and everything below these directories. One that does not exist was removed, and all that was
    /// below it as well.
    Paths(BTreeSet<RelPath>),
    /// Anything: the worktree has to be walked.
    Everything,
}

/// Why a worktree is not watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The system has no way to watch files, or no more of what it takes.
    #[error("the system does not watch files for us")]
    Unavailable {
        /// What it said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The directory of our own, whose changes say that those before them have arrived, cannot be made.
    #[error("cannot make a temporary directory to be watched")]
    Marks {
        /// What the file system said.
        source: std::io::Error,
    },
    /// No thread could be started.
    #[error("cannot start the thread that sets watches")]
    Thread {
        /// What the system said.
        source: std::io::Error,
    },
    /// Other machines may write there, and nobody would tell us.
    #[error("{} is on a file system whose changes are not all told", root.display())]
    Share {
        /// The root of the worktree.
        root: PathBuf,
    },
    /// The worktree has more directories than we want to watch.
    #[error("more than {max} directories to watch")]
    TooMany {
        /// How many would be fine.
        max: usize,
    },
    /// The user's watches are used up. On Linux: `fs.inotify.max_user_watches`.
    #[error("the system refuses to watch any more directories")]
    Refused,
    /// Watching broke down.
    #[error("the system stopped telling about changes")]
    Broken {
        /// What it said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The worktree was removed or renamed.
    #[error("{} is gone", root.display())]
    Gone {
        /// Where it was.
        root: PathBuf,
    },
}

impl Changes {
    /// Whether this file may have changed: whether it or a directory above it is named.
    pub fn covers(&self, file: &RelPath) -> bool {
        match self {
            Self::None => false,
            Self::Everything => true,
            Self::Paths(paths) => {
                let path = file.as_str();
                let mut ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
                ends.any(|end| paths.contains(&path[..end]))
            }
        }
    }
}

impl Watcher {
    /// Begins to watch. `home` is where a small directory of our own is made; without one it is made among the system's
    /// temporary files. Returns at once: the watches are set in the background, and until they stand everything may
    /// have changed.
    ///
    /// # Errors
    /// [`WatchError`] where the system watches nothing, or nothing there. What goes wrong later is said by
    /// [`Watcher::failure`].
    pub fn start(worktree: &Worktree, home: Option<&Path>, supervisor: &Supervisor) -> Result<Self, WatchError> {
        Self::start_bounded(worktree, home, supervisor, MAX_DIRECTORIES)
    }

    fn start_bounded(
        worktree: &Worktree,
        home: Option<&Path>,
        supervisor: &Supervisor,
        max_directories: usize,
    ) -> Result<Self, WatchError> {
        #[cfg(target_os = "linux")]
        shares::refuse(worktree.root())?;
        let (marks, directory) = Marks::new(home).map_err(|source| WatchError::Marks { source })?;
        let shared = Arc::new(Shared::new(worktree, directory));
        let setter = WatchSetter::new(worktree, &shared, max_directories)?;
        let setter = supervisor
            .run("watch", move || setter.run())
            .map_err(|source| WatchError::Thread { source })?;
        Ok(Self {
            shared,
            marks,
            setter: Some(setter),
        })
    }

    /// Takes what was seen since the last call. Costs a lock, so that every request can ask. What was taken is not said
    /// again: whoever takes it must have made use of it before another is answered out of the same snapshot.
    ///
    /// A change is seen once its event has been read; [`Watcher::settle`] waits for that.
    pub fn changes(&self) -> Changes {
        self.shared.take()
    }

    /// Waits, without end, until [`Watcher::changes`] has something to say. False when watching is over.
    pub fn wait(&self) -> bool {
        self.shared.wait_for_changes()
    }

    /// Says again that everything may have changed: for who took that and had no time to look.
    pub fn put_back(&self) {
        self.shared.put_back();
    }

    /// Waits until somebody has taken what there is to take; false if nobody did in time.
    pub fn wait_taken(&self, deadline: Instant) -> bool {
        self.shared.wait_taken(deadline)
    }

    /// Ends watching, and whoever waits for changes, and removes the directory of our own.
    pub fn stop(&self) {
        self.shared.stop();
        self.marks.remove();
    }

    /// Makes sure that the next [`Watcher::changes`] knows of all that happened before this call.
    ///
    /// Renames a file in a watched directory of our own and waits for that to be told: the system tells things in their
    /// order, so all before it has been told as well. Usually well under a millisecond. Returns false if it did not come
    /// in time, or if the watches do not stand: then everything may have changed, and `changes` says so. (On Windows the
    /// order between two directories is very likely, not promised.)
    pub fn settle(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let Some(resets) = self.shared.standing() else {
            return false;
        };
        match self.marks.set() {
            Ok(mark) => self.shared.wait_for(mark, resets, deadline),
            Err(_) => {
                // Temporary directories are tidied up by others after some idle days.
                match self.marks.renew() {
                    Ok(directory) => self.shared.renew(directory),
                    Err(source) => self.shared.fail(WatchError::Marks { source }),
                }
                false
            }
        }
    }

    /// Waits until the watches stand; false if they do not in time, or never will.
    pub fn wait_standing(&self, patience: Duration) -> bool {
        self.shared.wait_standing(Instant::now() + patience)
    }

    /// Why everything may always have changed, if watching was given up.
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
