//! Combines small segments, so that a change brings few files.
//!
//! A segment is never modified: the combined segment is written first, with a new name, and then its parts are removed. If
//! that is cut short, records are in two files, and each counts once.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use muninn_base::{Links, RelPath, read_regular_text};

use super::Store;
use crate::records::{Flushed, RecordFile, SESSIONS, SegmentError, SegmentWrite, Segments, SpoolError};

/// The largest segment that is combined with others.
const MOST_SEGMENT: u64 = 16 << 20;

/// Segments are combined up to this size, in bytes: each flush writes the combined one again.
const MOST_BYTES: u64 = 256 << 10;

/// A segment that can be combined with others.
struct Part {
    path: PathBuf,
    name: String,
    text: String,
}

impl Store {
    /// Combines the segments of this worktree's sessions that git does not track yet: those of one branch and day.
    pub(super) fn combine_new(&self, segments: &Segments, flushed: &mut Flushed) -> Result<(), SpoolError> {
        let Some(worktree) = self.home.worktree() else {
            return Ok(());
        };
        let Ok(directory) = RelPath::new(SESSIONS) else {
            return Ok(());
        };
        let tracked = worktree.tracked_in(&directory);
        let is_new = |name: &str| !tracked.iter().any(|path| path.file_name() == name);
        let mut groups: BTreeMap<(Option<String>, String), Vec<Part>> = BTreeMap::new();
        for file in self.shared_segments()? {
            let RecordFile::Home(path) = &file else { continue };
            let is_small = file.metadata(&self.home).is_ok_and(|metadata| metadata.len() <= MOST_BYTES);
            let is_own = Segments::parse_name(path.file_name()).is_some_and(|(session, _)| self.is_own(session));
            if !is_small || !is_own || !is_new(path.file_name()) || self.is_reconciled(&file) {
                continue;
            }
            let Some(first) = file.first(&self.home) else { continue };
            let day: String = first.ts.chars().take(10).collect();
            if let Some(part) = self.part(path) {
                groups.entry((first.origin.branch, day)).or_default().push(part);
            }
        }
        for parts in groups.into_values() {
            let bytes: usize = parts.iter().map(|part| part.text.len()).sum();
            if parts.len() > 1 && bytes as u64 <= MOST_BYTES {
                let combined = self.combine(segments, &parts)?;
                flushed.segments.retain(|name| !parts.iter().any(|part| part.name == *name));
                flushed.segments.push(combined);
            }
        }
        Ok(())
    }

    /// Combines all segments that were written on the checked out branch into one, for a pull request. Returns the
    /// number of segments before, and the name of the one that remains; `None` if there are fewer than two.
    ///
    /// # Errors
    /// [`SpoolError`]; no record is lost then.
    pub fn squash(&self) -> Result<Option<(usize, String)>, SpoolError> {
        let branch = self.home.checkout()?.branch;
        let mut parts = Vec::new();
        for file in self.shared_segments()? {
            let RecordFile::Home(path) = &file else { continue };
            let is_of_branch = file.first(&self.home).is_some_and(|first| first.origin.branch == branch);
            if is_of_branch && !self.is_reconciled(&file) {
                parts.extend(self.part(path));
            }
        }
        if parts.len() < 2 {
            return Ok(None);
        }
        let name = self.combine(&Segments::of(&self.home)?, &parts)?;
        Ok(Some((parts.len(), name)))
    }

    /// Writes the lines of all parts, each once, as one segment of a session of this worktree, and removes the parts.
    fn combine(&self, segments: &Segments, parts: &[Part]) -> Result<String, SpoolError> {
        let mut seen = HashSet::new();
        let lines = parts.iter().flat_map(|part| part.text.lines());
        let lines = lines.filter(|line| seen.insert(*line));
        let text: String = lines.flat_map(|line| [line, "\n"]).collect();
        let mut sessions = parts.iter().filter_map(|part| Some(Segments::parse_name(&part.name)?.0));
        let session = sessions.find(|session| self.is_own(session)).map(str::to_owned);
        let session = session.unwrap_or_else(|| self.clock.id().to_string());
        let name = loop {
            let number = self.spool.reserve(&session)?.unwrap_or(0);
            if segments.write(&session, number, &text)? == SegmentWrite::Present {
                break Segments::name(&session, number);
            }
        };
        for part in parts.iter().filter(|part| part.name != name) {
            remove(&part.path)?;
        }
        Ok(name)
    }

    fn is_own(&self, session: &str) -> bool {
        let mut scope = self.scope.lock();
        scope.is_own(&self.spool, session)
    }

    fn is_reconciled(&self, file: &RecordFile) -> bool {
        let mut scope = self.scope.lock();
        scope.is_reconciled(file, &self.home)
    }

    fn part(&self, path: &RelPath) -> Option<Part> {
        let absolute = self.home.resolve(path).ok()?;
        Some(Part {
            name: path.file_name().to_owned(),
            text: read_regular_text(&absolute, Links::Refuse, MOST_SEGMENT).ok()?,
            path: absolute,
        })
    }
}

fn remove(path: &Path) -> Result<(), SegmentError> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(SegmentError::Io { path: path.to_owned(), source })
        }
        _ => Ok(()),
    }
}
