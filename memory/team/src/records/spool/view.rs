//! A lock-free view of the spool. Recall refreshes it before each question.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::index::Index;
use super::{Spool, waiting};

/// The recorded sessions of a spool, and the files in which records wait. The cost of a refresh depends on the number
/// of waiting files, not on the number of sessions.
#[derive(Debug, Default)]
pub struct SpoolView {
    files: Vec<PathBuf>,
    index: Option<Index>,
    version: Option<i64>,
    /// Cached answers of the index. A recorded session stays recorded.
    known: HashMap<String, bool>,
}

impl SpoolView {
    /// Refreshes the view. Unreadable files count as absent.
    pub fn refresh(&mut self, spool: &Spool) {
        let files = waiting::files(&spool.dir).unwrap_or_default();
        self.files = files.into_iter().map(|file| file.path).collect();
        if !self.index.as_ref().is_some_and(Index::is_current) {
            self.index = Index::read_only(&spool.dir);
            self.known.clear();
        }
        let version = self.index.as_ref().and_then(Index::version);
        if version.is_none() || version != self.version {
            self.known.retain(|_, is_recorded| *is_recorded);
        }
        self.version = version;
    }

    /// Returns whether a session was recorded here.
    pub fn has(&mut self, id: &str) -> bool {
        if let Some(known) = self.known.get(id) {
            return *known;
        }
        let found = self.index.as_ref().and_then(|index| index.has(id).ok());
        if let Some(found) = found {
            self.known.insert(id.to_owned(), found);
        }
        found.unwrap_or(false)
    }

    /// The files in which records wait, in no particular order.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(PathBuf::as_path)
    }
}
