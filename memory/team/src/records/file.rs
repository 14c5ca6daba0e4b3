//! Paths of files that hold records.

use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, BufReader};
use std::path::PathBuf;

use muninn_base::stamp::Stamp;
use muninn_base::{Links, RelPath, open_regular, private_file};
use serde::{Deserialize, Serialize};

use super::home::Home;
use super::lines;
use super::paths::MAIN;
use super::record::Record;
use super::withdrawn_records::WithdrawnRecords;

/// The file that lists the open conflicts of main.
pub const CONFLICTS: &str = ".muninn/memory/conflicts.jsonl";
/// The git attributes of the team's files.
pub const ATTRIBUTES: &str = ".muninn/.gitattributes";
/// The mutations of archived worklogs that worked.
pub const PATTERNS: &str = ".muninn/journals/patterns.jsonl";
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RecordFile {
    /// A file in the home. The path cannot leave it.
    Home(RelPath),
    /// The records of a file in the home that somebody stated; what was learned from traffic is skipped.
    Stated(RelPath),
    /// A file in the user's state directory.
    State(PathBuf),
    /// No file: records of the other files that have no effect.
    Withdrawn(WithdrawnRecords),
}

impl RecordFile {
    /// Main memory, as a list of at most one file.
    pub fn of_team(home: &Home) -> Vec<Self> {
        Self::main(home).into_iter().collect()
    }

    /// The file of main memory.
    pub fn main(home: &Home) -> Option<Self> {
        Self::of(home, MAIN)
    }

    /// The file of a home that corresponds to a path in a repository.
    pub(crate) fn of(home: &Home, in_repository: &str) -> Option<Self> {
        RelPath::new(home.path(in_repository)).ok().map(Self::Home)
    }

    /// The withdrawn records of a selection of files.
    pub(crate) fn withdrawn(files: &[Self]) -> WithdrawnRecords {
        let found = files.iter().find_map(|file| match file {
            Self::Withdrawn(records) => Some(records.clone()),
            _ => None,
        });
        found.unwrap_or_default()
    }

    pub(crate) fn open(&self, home: &Home) -> io::Result<File> {
        match self {
            Self::Home(path) | Self::Stated(path) => Ok(open_regular(&home.resolve(path)?, Links::Refuse)?.0),
            Self::State(path) => private_file::open(path),
            Self::Withdrawn(_) => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Opens the file for reading.
    ///
    /// # Errors
    ///
    /// As for `Self::open`, and if the file has more than `most` bytes.
    pub fn open_within(&self, home: &Home, most: u64) -> io::Result<File> {
        let file = self.open(home)?;
        if file.metadata()?.len() > most {
            let size = format!("it has more than {} MiB", most >> 20);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, size));
        }
        Ok(file)
    }

    pub(crate) fn metadata(&self, home: &Home) -> io::Result<Metadata> {
        match self {
            Self::Home(path) | Self::Stated(path) => home.resolve(path)?.metadata(),
            Self::State(path) => path.metadata(),
            Self::Withdrawn(_) => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Path, size and modification time; `None` if there is no such file.
    pub fn stamp(&self, home: &Home) -> Option<Stamp> {
        let metadata = self.metadata(home).ok()?;
        Some(Stamp { path: self.to_string(), size: metadata.len(), modified: metadata.modified().ok()? })
    }

    /// The first record of the file; `None` also if it cannot be read.
    pub(crate) fn first(&self, home: &Home) -> Option<Record> {
        lines::first(BufReader::new(self.open(home).ok()?)).ok()?
    }
}

impl fmt::Display for RecordFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Home(path) | Self::Stated(path) => path.fmt(formatter),
            Self::State(path) => path.display().fmt(formatter),
            Self::Withdrawn(_) => formatter.write_str("withdrawn records"),
        }
    }
}
