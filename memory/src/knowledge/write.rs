//! Writing into `.muninn/knowledge`: new files only, and nowhere else.

use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use muninn_repo_tools::{RelPath, Worktree};
use thiserror::Error;

use super::ROOT;
use super::listing::is_directory;

/// Why nothing was written.
#[derive(Debug, Error)]
pub enum WriteError {
    /// Nobody asked for a `.muninn` here.
    #[error("there is no .muninn in {root}")]
    NotSetUp {
        /// The worktree.
        root: PathBuf,
    },
    /// A symlink or a file stands where a directory would be.
    #[error("{path} is not a directory of its own")]
    NotADirectory {
        /// What stands there.
        path: PathBuf,
    },
    /// The file system refused.
    #[error("cannot write {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the file system said.
        source: std::io::Error,
    },
}

/// The knowledge of a worktree that was set up.
pub(super) struct KnowledgeDir {
    root: PathBuf,
}

impl KnowledgeDir {
    pub(super) fn of(worktree: &Worktree) -> Result<Self, WriteError> {
        let root = worktree.root().to_owned();
        let muninn = root.join(".muninn");
        match muninn.symlink_metadata() {
            Ok(metadata) if metadata.is_dir() => Ok(Self { root }),
            Ok(_) => Err(WriteError::NotADirectory { path: muninn }),
            Err(_) => Err(WriteError::NotSetUp { root }),
        }
    }

    /// The path of a file in it, from the top of the worktree.
    pub(super) fn path(&self, below: &RelPath) -> PathBuf {
        self.root.join(ROOT).join(below.to_path_buf())
    }

    /// Writes a file unless something is there already; says whether it did.
    pub(super) fn create(&self, below: &RelPath, text: &[u8]) -> Result<bool, WriteError> {
        let path = self.path(below);
        let io = |source| WriteError::Io {
            path: path.clone(),
            source,
        };
        self.make_directories(path.parent().unwrap_or(&path))?;
        let mut file = match std::fs::OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(false),
            Err(error) => return Err(io(error)),
        };
        if let Err(error) = file.write_all(text) {
            // Half a file would be taken for the whole one by the next try.
            let _gone_or_reported = std::fs::remove_file(&path);
            return Err(io(error));
        }
        Ok(true)
    }

    /// Makes the directories on the way to one, which have to be the worktree's own.
    fn make_directories(&self, directory: &Path) -> Result<(), WriteError> {
        if directory == self.root {
            return Ok(());
        }
        self.make_directories(directory.parent().unwrap_or(&self.root))?;
        match std::fs::create_dir(directory) {
            Ok(()) => Ok(()),
            Err(_) if is_directory(directory) => Ok(()),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(WriteError::NotADirectory {
                path: directory.to_owned(),
            }),
            Err(source) => Err(WriteError::Io {
                path: directory.to_owned(),
                source,
            }),
        }
    }
}
