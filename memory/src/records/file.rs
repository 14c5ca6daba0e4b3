//! Files of records, wherever they are.

use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, BufReader};
use std::path::PathBuf;

use muninn_repo_tools::{RelPath, Worktree};
use serde::{Deserialize, Serialize};

use super::lines;
use super::record::Record;
use crate::stamp::Stamp;

/// The file of what the team agreed on.
pub const MAIN: &str = ".muninn/memory/main.jsonl";
/// The file that shows people which conflicts in main are open.
pub const CONFLICTS: &str = ".muninn/memory/conflicts.jsonl";
/// A file of records, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RecordFile {
    /// Of the worktree, so that nothing outside of it is read by its name.
    Worktree(RelPath),
    /// Of the user's state directory.
    State(PathBuf),
}

impl RecordFile {
    /// What the team agreed on, as a list of files.
    #[must_use]
    pub fn of_team() -> Vec<Self> {
        Self::main().into_iter().collect()
    }

    /// What the team agreed on.
    #[must_use]
    pub fn main() -> Option<Self> {
        RelPath::new(MAIN).ok().map(Self::Worktree)
    }

    pub(crate) fn open(&self, worktree: &Worktree) -> io::Result<File> {
        // To open a pipe is to wait for somebody to write.
        if !self.metadata(worktree)?.is_file() {
            return Err(io::Error::other("it is not a file"));
        }
        match self {
            Self::Worktree(path) => File::open(worktree.resolve(path).map_err(io::Error::other)?),
            Self::State(path) => File::open(path),
        }
    }

    pub(crate) fn metadata(&self, worktree: &Worktree) -> io::Result<Metadata> {
        match self {
            Self::Worktree(path) => worktree.resolve(path).map_err(io::Error::other)?.metadata(),
            Self::State(path) => path.metadata(),
        }
    }

    /// The file's metadata; `None` if there is no such file.
    pub(crate) fn stamp(&self, worktree: &Worktree) -> Option<Stamp> {
        let metadata = self.metadata(worktree).ok()?;
        Some(Stamp {
            path: self.to_string(),
            size: metadata.len(),
            modified: metadata.modified().ok()?,
        })
    }

    /// The first record that it holds; `None` also where it cannot be read.
    pub(crate) fn first(&self, worktree: &Worktree) -> Option<Record> {
        lines::first(BufReader::new(self.open(worktree).ok()?)).ok()?
    }
}

impl fmt::Display for RecordFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Worktree(path) => path.fmt(formatter),
            Self::State(path) => path.display().fmt(formatter),
        }
    }
}
