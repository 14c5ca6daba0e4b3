//! Neighbours: sections of one file, entries of one section of the journal and records of one session in order of time.
//!
//! A record is often explained by the record before it or answered by the record after it. Memories are numbered so
//! that neighbours have adjacent numbers, which needs no table of pairs.

use muninn_team::memories::{Memory, MemoryKind};
use muninn_team::records::Moment;
use serde::{Deserialize, Serialize};

/// The boundaries of runs of neighbours.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct NeighbourRuns {
    /// The run of each memory.
    of: Vec<u32>,
    /// Start of each run, followed by the end of the last.
    starts: Vec<u32>,
}

/// Sorts neighbours next to each other. Clocks can go back, and many records have equal times, so records of a session
/// with equal or missing times keep their file order.
pub(super) fn sort(items: &mut [Memory]) {
    items.sort_by(|a, b| key(a).cmp(&key(b)));
}

/// Sections come first, in file order, then the journal.
fn key(memory: &Memory) -> (u8, Option<&str>, Option<&Moment>) {
    match memory.kind {
        MemoryKind::Knowledge => (0, None, None),
        MemoryKind::Journal => (1, Some(&memory.path), memory.date.as_ref()),
        MemoryKind::Record => (2, memory.session.as_deref(), memory.date.as_ref()),
    }
}

impl NeighbourRuns {
    /// Computes the runs of sorted memories.
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

    /// The range of a memory's run: first, and end.
    pub(super) fn of(&self, doc: u32) -> (u32, u32) {
        let bounds = || {
            let run = *self.of.get(doc as usize)? as usize;
            Some((*self.starts.get(run)?, *self.starts.get(run + 1)?))
        };
        bounds().unwrap_or((doc, doc + 1))
    }

    /// The range of a memory and up to `reach` neighbours on each side.
    pub(super) fn around(&self, doc: u32, reach: u32) -> (u32, u32) {
        let (first, end) = self.of(doc);
        (first.max(doc.saturating_sub(reach)), end.min(doc + reach + 1))
    }
}

fn neighbours(a: &Memory, b: &Memory) -> bool {
    match (a.kind, b.kind) {
        (MemoryKind::Knowledge, MemoryKind::Knowledge) | (MemoryKind::Journal, MemoryKind::Journal) => a.path == b.path,
        (MemoryKind::Record, MemoryKind::Record) => a.session.is_some() && a.session == b.session,
        _ => false,
    }
}
