//! Creates files in `.muninn/knowledge`.

use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use muninn_repo_tools::{RelPath, Worktree};
use thiserror::Error;

use super::ROOT;
use super::listing::is_directory;

/// Why no file was written.
#[derive(Debug, Error)]
pub enum WriteError {
    /// The worktree has no `.muninn`.
    #[error("there is no .muninn in {root}")]
    NotSetUp {
        /// The worktree.
        root: PathBuf,
    },
    /// A symlink or a file has the name of the directory.
    #[error("{path} is not a directory of its own")]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// A file system error.
    #[error("cannot write {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
}

/// The knowledge directory of an initialised worktree.
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

    /// The absolute path of a file in it.
    pub(super) fn path(&self, below: &RelPath) -> PathBuf {
        self.root.join(ROOT).join(below.to_path_buf())
    }

    /// Creates a file unless it exists. Returns whether it did.
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
            // A partial file would count as complete at the next try.
            std::fs::remove_file(&path).ok();
            return Err(io(error));
        }
        Ok(true)
    }

    /// Creates the missing parents of a directory, which must not be links.
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
