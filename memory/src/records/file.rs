//! Files of records, wherever they are.

use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, BufReader};
use std::path::PathBuf;

use muninn_repo_tools::RelPath;
use serde::{Deserialize, Serialize};

use super::home::Home;
use super::lines;
use super::record::Record;
use crate::stamp::Stamp;

/// The file of what the team agreed on, below the root of a repository, as are the others here.
pub const MAIN: &str = ".muninn/memory/main.jsonl";
/// The file that shows people which conflicts in main are open.
pub const CONFLICTS: &str = ".muninn/memory/conflicts.jsonl";
/// A file of records, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RecordFile {
    /// In the home, so that nothing outside of it is read by its name.
    Home(RelPath),
    /// In the user's state directory.
    State(PathBuf),
}

impl RecordFile {
    /// What the team agreed on, as a list of files.
    #[must_use]
    pub fn of_team(home: &Home) -> Vec<Self> {
        Self::main(home).into_iter().collect()
    }

    /// What the team agreed on.
    #[must_use]
    pub fn main(home: &Home) -> Option<Self> {
        Self::of(home, MAIN)
    }

    /// The file of a home that has this path in a repository.
    pub(crate) fn of(home: &Home, in_repository: &str) -> Option<Self> {
        RelPath::new(home.path(in_repository)).ok().map(Self::Home)
    }

    pub(crate) fn open(&self, home: &Home) -> io::Result<File> {
        // To open a pipe is to wait for somebody to write.
        if !self.metadata(home)?.is_file() {
            return Err(io::Error::other("it is not a file"));
        }
        match self {
            Self::Home(path) => File::open(home.resolve(path)?),
            Self::State(path) => File::open(path),
        }
    }

    pub(crate) fn metadata(&self, home: &Home) -> io::Result<Metadata> {
        match self {
            Self::Home(path) => home.resolve(path)?.metadata(),
            Self::State(path) => path.metadata(),
        }
    }

    /// The file's metadata; `None` if there is no such file.
    pub(crate) fn stamp(&self, home: &Home) -> Option<Stamp> {
        let metadata = self.metadata(home).ok()?;
        Some(Stamp {
            path: self.to_string(),
            size: metadata.len(),
            modified: metadata.modified().ok()?,
        })
    }

    /// The first record that it holds; `None` also where it cannot be read.
    pub(crate) fn first(&self, home: &Home) -> Option<Record> {
        lines::first(BufReader::new(self.open(home).ok()?)).ok()?
    }
}

impl fmt::Display for RecordFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Home(path) => path.fmt(formatter),
            Self::State(path) => path.display().fmt(formatter),
        }
    }
}
