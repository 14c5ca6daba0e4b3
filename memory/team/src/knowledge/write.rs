//! Creates files in `.muninn/knowledge`.

use std::path::PathBuf;

use muninn_base::RelPath;
use muninn_base::page_files::{self, FileError};
use muninn_repo_tools::Worktree;
use thiserror::Error;

use super::listing::Listing;
use super::{Full, ROOT, Room};

/// Why no file was written.
#[derive(Debug, Error)]
pub enum WriteError {
    /// The worktree has no `.muninn`.
    #[error("there is no .muninn in {root}")]
    NotSetUp {
        /// The worktree.
        root: PathBuf,
    },
    /// It would not be read.
    #[error(transparent)]
    Full(#[from] Full),
    /// The file cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
}

/// The knowledge directory of an initialised worktree.
pub(super) struct KnowledgeDir {
    root: PathBuf,
    room: Room,
}

impl KnowledgeDir {
    pub(super) fn of(worktree: &Worktree) -> Result<Self, WriteError> {
        let root = worktree.root().to_owned();
        let muninn = root.join(".muninn");
        match muninn.symlink_metadata() {
            Ok(metadata) if metadata.is_dir() => {
                let room = Room::of(&Listing::of_worktree(worktree, None));
                Ok(Self { root, room })
            }
            Ok(_) => Err(FileError::NotADirectory { path: muninn }.into()),
            Err(_) => Err(WriteError::NotSetUp { root }),
        }
    }

    /// The absolute path of a file in it.
    pub(super) fn path(&self, below: &RelPath) -> PathBuf {
        self.root.join(ROOT).join(below.to_path_buf())
    }

    /// Creates a file unless it exists. Returns whether it did.
    pub(super) fn create(&mut self, below: &RelPath, text: &[u8]) -> Result<bool, WriteError> {
        let path = self.path(below);
        if path.symlink_metadata().is_ok() {
            return Ok(false);
        }
        let mut room = self.room;
        room.take(below, text.len() as u64)?;
        let is_new = page_files::create(&self.root, &path, text)?;
        if is_new {
            self.room = room;
        }
        Ok(is_new)
    }
}
