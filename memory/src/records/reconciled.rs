//! The segments that are in main, as `reconciled.jsonl` lists them.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::{Body, Record, kinds};

/// The log of reconciled segments.
pub const RECONCILED: &str = ".muninn/memory/reconciled.jsonl";

/// The length in bytes of each segment when it was last reconciled.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReconciledSegments(HashMap<String, u64>);

impl ReconciledSegments {
    /// Adds a record of the log. Only records about segments have an effect.
    pub(crate) fn take(&mut self, record: &Record) {
        if let Body::Reconciled(kinds::Reconciled { segment, bytes, .. }) = &record.body {
            let known = self.0.entry(segment.clone()).or_default();
            *known = (*known).max(*bytes);
        }
    }

    /// Compares a segment's length with its length when it was reconciled; `None` if it never was.
    pub(crate) fn compare(&self, segment: &str, bytes: impl FnOnce() -> Option<u64>) -> Option<Ordering> {
        let taken = self.0.get(segment)?;
        Some(bytes()?.cmp(taken))
    }
}
