//! Withdrawn records: the commit that brought their segment was reverted.
//!
//! Reconciling moves the records of a segment into main and removes the segment. A later revert of the segment's commit, or
//! of its merge, finds no segment to remove, so the records stay in main. They are withdrawn instead: kept, and not
//! recalled, until the revert is reverted or another commit brings the segment again. Main knows nothing of this; the status
//! is derived from the history of the checkout. Where the history does not tell, as in a shallow clone, records stay.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::BufReader;
use std::rc::Rc;

use muninn_base::RelPath;
use muninn_repo_tools::{CommitFile, ObjectId, ReferenceError, RevertReader, RevertedCommit, Worktree};

use super::file::RecordFile;
use super::home::Home;
use super::kinds::{self, Body};
use super::lines;
use super::paths::MAIN;
use super::reconciled::{RECONCILED, ReconciledSegments};
use super::record::Record;
use super::segment::{SESSIONS, Segments};
use super::withdrawn_records::WithdrawnRecords;

/// The folder of all files of records.
const MEMORY: &str = ".muninn/memory";
/// Clocks of people differ, in seconds.
const CLOCK_SKEW: i64 = 24 * 3600;

/// The records in the files of past commits.
struct RecordHistory {
    reader: RevertReader,
    /// The folder of all files of records.
    memory: RelPath,
    /// The ids of the records in each file that was read, by its content.
    ids: HashMap<ObjectId, Rc<HashSet<String>>>,
}

impl WithdrawnRecords {
    /// The withdrawn records of a home; none outside of a repository. Reads the commits since the first reconciliation.
    pub fn of(home: &Home) -> Result<Self, ReferenceError> {
        let mut segments = ReconciledSegments::default();
        if let Some(Ok(log)) = RecordFile::of(home, RECONCILED).map(|file| file.open(home)) {
            lines::read(BufReader::new(log), |_, record| segments.take(&record), |_| {}).ok();
        }
        let Some(worktree) = home.worktree() else {
            return Ok(Self::default());
        };
        let head = worktree.head_commit()?;
        Ok(head.map_or_else(Self::default, |head| Self::at(worktree, &head, &segments)))
    }

    /// The withdrawn records at a commit, given the log of its checkout.
    pub(crate) fn at(worktree: &Worktree, head: &str, segments: &ReconciledSegments) -> Self {
        let Some(since) = segments.since() else {
            return Self::default();
        };
        let Some((reader, memory)) = RevertReader::open(worktree, head).zip(RelPath::new(MEMORY).ok()) else {
            return Self::default();
        };
        let mut history = RecordHistory { reader, memory, ids: HashMap::new() };
        let mut withdrawn = BTreeSet::new();
        for reverted in history.reader.reverted(since - CLOCK_SKEW, &history.memory) {
            withdrawn.extend(history.taken_back(&reverted).unwrap_or_default());
        }
        Self(withdrawn)
    }

    /// Returns whether no record is withdrawn.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether a record is withdrawn.
    pub fn has(&self, id: &str) -> bool {
        self.0.contains(id)
    }

    /// Returns whether a record has no effect: it is withdrawn, it replaces others by withdrawn records only, or it states
    /// that a withdrawn record is a duplicate. A withdrawn record would join others into one group.
    pub(crate) fn hides(&self, record: &Record) -> bool {
        if self.is_empty() {
            return false;
        }
        self.has(&record.id)
            || match &record.body {
                Body::Same(kinds::Same { kept, folded, .. }) => self.has(kept) || self.has(folded),
                Body::Supersedes(kinds::Supersedes { newer: Some(newer), .. }) => self.has(newer),
                Body::Decision(kinds::Decision { keep, .. }) => !keep.is_empty() && keep.iter().all(|id| self.has(id)),
                _ => false,
            }
    }

    /// The records that have an effect.
    pub fn shown<'r>(&self, records: &'r [Record]) -> Vec<&'r Record> {
        records.iter().filter(|record| !self.hides(record)).collect()
    }
}

impl RecordHistory {
    /// The ids of the records that a reverted commit brought, and that nothing brought again; `None` if the history does not
    /// tell.
    fn taken_back(&mut self, reverted: &RevertedCommit) -> Option<BTreeSet<String>> {
        let [changed, before] = self.reader.brought(reverted, &self.memory)?;
        let mut brought = BTreeSet::new();
        for file in changed.iter().filter(|file| file.path.as_str() == MAIN || is_segment(file.path.as_str())) {
            brought.extend(self.ids(file)?.iter().cloned());
        }
        // A record that moved from a segment into main, or from main into the archive, was there before.
        self.remove(&before, &mut brought)?;
        if brought.is_empty() {
            return None;
        }
        let mut since = self.reader.there_since(reverted, &self.memory)?;
        since.retain(|file| is_segment(file.path.as_str()));
        self.remove(&since, &mut brought)?;
        Some(brought)
    }

    fn remove(&mut self, files: &[CommitFile], ids: &mut BTreeSet<String>) -> Option<()> {
        for file in files {
            if ids.is_empty() {
                break;
            }
            let there = self.ids(file)?;
            ids.retain(|id| !there.contains(id));
        }
        Some(())
    }

    /// The ids of the records in a file, except derived ones: without the records that they are about, they have no effect.
    fn ids(&mut self, file: &CommitFile) -> Option<Rc<HashSet<String>>> {
        if let Some(known) = self.ids.get(&file.blob) {
            return Some(known.clone());
        }
        let mut ids = HashSet::new();
        let take = |_, record: Record| {
            if !record.is_derived() {
                ids.insert(record.identified().id);
            }
        };
        lines::read(self.reader.content(file)?.as_slice(), take, |_| {}).ok();
        let ids = Rc::new(ids);
        self.ids.insert(file.blob, ids.clone());
        Some(ids)
    }
}

fn is_segment(path: &str) -> bool {
    let name = path.strip_prefix(SESSIONS).and_then(|rest| rest.strip_prefix('/'));
    name.is_some_and(|name| Segments::parse_name(name).is_some())
}
