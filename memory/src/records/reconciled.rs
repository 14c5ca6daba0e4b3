//! Which segments are in main, as `reconciled.jsonl` says.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::{Body, Record, kinds};

/// The file of which segments are in main already.
pub const RECONCILED: &str = ".muninn/memory/reconciled.jsonl";

/// The length in bytes at which each segment was taken in last.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReconciledSegments(HashMap<String, u64>);

impl ReconciledSegments {
    /// Takes a record of the log in; one that says nothing of a segment changes nothing.
    pub(crate) fn take(&mut self, record: &Record) {
        if let Body::Reconciled(kinds::Reconciled { segment, bytes, .. }) = &record.body {
            let known = self.0.entry(segment.clone()).or_default();
            *known = (*known).max(*bytes);
        }
    }

    /// How long a segment is beside what was taken in of it; `None` where nothing was.
    pub(crate) fn compare(&self, segment: &str, bytes: impl FnOnce() -> Option<u64>) -> Option<Ordering> {
        let taken = self.0.get(segment)?;
        Some(bytes()?.cmp(taken))
    }
}
