//! The segments that are in main, as `reconciled.jsonl` lists them.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::{Body, Record, kinds};

/// The log of reconciled segments.
pub const RECONCILED: &str = ".muninn/memory/reconciled.jsonl";

/// The segments of the log.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReconciledSegments {
    /// The length in bytes of each segment when it was last reconciled.
    lengths: HashMap<String, u64>,
    /// The earliest time of an entry, in seconds since 1970.
    since: Option<i64>,
}

impl ReconciledSegments {
    /// Adds a record of the log. Only records about segments have an effect.
    pub(crate) fn take(&mut self, record: &Record) {
        if let Body::Reconciled(kinds::Reconciled { segment, bytes, .. }) = &record.body {
            let known = self.lengths.entry(segment.clone()).or_default();
            *known = (*known).max(*bytes);
            let time = record.ts.timestamp().map_or(0, jiff::Timestamp::as_second);
            self.since = Some(self.since.map_or(time, |since| since.min(time)));
        }
    }

    /// The time of the first entry, in seconds since 1970; `None` for an empty log.
    pub(crate) fn since(&self) -> Option<i64> {
        self.since
    }

    /// Compares a segment's length with its length when it was reconciled; `None` if it never was.
    pub(crate) fn compare(&self, segment: &str, bytes: impl FnOnce() -> Option<u64>) -> Option<Ordering> {
        let taken = self.lengths.get(segment)?;
        Some(bytes()?.cmp(taken))
    }
}
