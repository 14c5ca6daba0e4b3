use std::collections::BTreeSet;

use muninn_team::records::{Record, WithdrawnRecords};

#[derive(Debug, Clone)]
pub struct Segment {
    /// The file name.
    pub name: String,
    /// Length in bytes.
    pub bytes: u64,
    pub records: Vec<Record>,
}

/// The input of a reconciliation.
#[derive(Debug, Clone, Default)]
pub struct PlanInput {
    /// Records of `main.jsonl`.
    pub main: Vec<Record>,
    /// Records of `reconciled.jsonl`.
    pub log: Vec<Record>,
    /// Records of `conflicts.jsonl`.
    pub conflicts: Vec<Record>,
    /// Segments, sorted by name.
    pub segments: Vec<Segment>,
    /// Ids of pruned records in the archive.
    pub pruned: BTreeSet<String>,
    /// Records whose segment was reverted. They are compared, because they can return, and are not shown.
    pub withdrawn: WithdrawnRecords,
}
