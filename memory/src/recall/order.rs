//! RecordSelection memories are neighbours: sections of one file, and records of one session in the order of their time.
//!
//! What is said in one record is often explained by the one before or answered by the one after. So memories are numbered
//! such that neighbours have neighbouring numbers, and no table of pairs is needed.

use serde::{Deserialize, Serialize};

use crate::memories::{Memory, MemoryKind};
use crate::records::Moment;

/// Where the runs of neighbours begin and end.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct NeighbourRuns {
    /// The run of each memory.
    of: Vec<u32>,
    /// Where each run begins, and at last where all end.
    starts: Vec<u32>,
}

/// Puts neighbours beside each other. Clocks go back, and records of one moment are many: among those of a session that
/// say the same time, or none, the order of the file holds.
pub(super) fn sort(items: &mut [Memory]) {
    items.sort_by(|a, b| key(a).cmp(&key(b)));
}

/// Sections keep the order of their files, and come first.
fn key(memory: &Memory) -> (bool, Option<&str>, Option<&Moment>) {
    match memory.kind {
        MemoryKind::Knowledge => (false, None, None),
        MemoryKind::Record => (true, memory.session.as_deref(), memory.date.as_ref()),
    }
}

impl NeighbourRuns {
    /// Of memories that are sorted.
    pub(super) fn new(items: &[Memory]) -> Self {
        let mut runs = Self::default();
        let mut before: Option<&Memory> = None;
        for (number, item) in (0u32..).zip(items) {
            if before.is_none_or(|before| !neighbours(before, item)) {
                runs.starts.push(number);
            }
            runs.of.push(u32::try_from(runs.starts.len()).unwrap_or(u32::MAX) - 1);
            before = Some(item);
        }
        runs.starts.push(u32::try_from(items.len()).unwrap_or(u32::MAX));
        runs
    }

    /// The first of a memory's run, and the one behind its last.
    pub(super) fn of(&self, doc: u32) -> (u32, u32) {
        let bounds = || {
            let run = *self.of.get(doc as usize)? as usize;
            Some((*self.starts.get(run)?, *self.starts.get(run + 1)?))
        };
        bounds().unwrap_or((doc, doc + 1))
    }

    /// The memories up to `reach` before and behind one, itself included, as numbers from and to behind the last.
    pub(super) fn around(&self, doc: u32, reach: u32) -> (u32, u32) {
        let (first, end) = self.of(doc);
        (first.max(doc.saturating_sub(reach)), end.min(doc + reach + 1))
    }
}

fn neighbours(a: &Memory, b: &Memory) -> bool {
    match (a.kind, b.kind) {
        (MemoryKind::Knowledge, MemoryKind::Knowledge) => a.path == b.path,
        (MemoryKind::Record, MemoryKind::Record) => a.session.is_some() && a.session == b.session,
        _ => false,
    }
}
