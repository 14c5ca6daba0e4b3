use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use muninn_base::RelPath;
use muninn_repo_tools::{Directories, Worktree, visible_directories, walked_directories};

/// Maximum number of changed paths. With more paths, a walk is as fast.
pub(crate) const MAX_PATHS: usize = 1_000;

/// The directories that are watched.
#[derive(Debug, Clone)]
pub enum Scope {
    /// Those that a walk of a worktree enters.
    Worktree(Worktree),
    /// A folder and all directories below it, but no hidden ones.
    Folder(PathBuf),
}

impl Scope {
    pub(crate) fn root(&self) -> &Path {
        match self {
            Self::Worktree(worktree) => worktree.root(),
            Self::Folder(root) => root,
        }
    }

    /// The directory of `info/exclude`, which decides what is ignored.
    pub(crate) fn common_dir(&self) -> Option<&Path> {
        match self {
            Self::Worktree(worktree) => Some(worktree.common_dir()),
            Self::Folder(_) => None,
        }
    }

    /// Whether changes of an entry of the root are of no interest.
    pub(crate) fn leaves_out(&self, path: &RelPath) -> bool {
        matches!(self, Self::Worktree(_)) && path.as_str() == ".muninn"
    }

    /// Lists the directories without the root, or only `top` and those below it; at most `max`.
    pub(crate) fn directories(&self, top: Option<&RelPath>, max: usize) -> Directories {
        match self {
            Self::Worktree(worktree) => walked_directories(worktree, top, max),
            Self::Folder(root) => visible_directories(root, top, max),
        }
    }
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
