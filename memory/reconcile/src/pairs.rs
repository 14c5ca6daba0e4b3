use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use muninn_team::records::{Record, RecordStatus, ordered};

use super::input::PlanInput;

/// Returns the records that main should contain. A record that is only in the list of open conflicts was added there by
/// another person's merge.
pub(super) fn main_records(before: &PlanInput) -> BTreeMap<String, Record> {
    by_id(before.main.iter().chain(&before.conflicts).cloned())
}

/// The conflicts of main between two records that are recalled, sorted by id. Of several conflicts between the same two groups, the
/// one with the smallest id counts.
pub(super) fn open_pairs(main: &[&Record]) -> Vec<Record> {
    let status = RecordStatus::of(main.iter().copied());
    let there: BTreeSet<&str> = main.iter().map(|record| record.id.as_str()).collect();
    // Recall can return a duplicate instead of a side.
    let recalled: BTreeSet<&str> = there.iter().filter(|id| !status.is_gone(id)).map(|id| status.kept(id)).collect();
    let is_recalled = |id: &str| recalled.contains(status.kept(id));
    let mut open: BTreeMap<(String, String), &Record> = BTreeMap::new();
    for conflict in main {
        let Some((left, right)) = conflict.sides() else {
            continue;
        };
        if is_recalled(left) && is_recalled(right) && !status.is_settled(left, right) {
            let known = open.entry(ordered(status.kept(left), status.kept(right))).or_insert(conflict);
            if conflict.id < known.id {
                *known = conflict;
            }
        }
    }
    let open: BTreeMap<&str, &Record> = open.into_values().map(|record| (record.id.as_str(), record)).collect();
    open.into_values().cloned().collect()
}

pub(crate) fn by_id(records: impl IntoIterator<Item = Record>) -> BTreeMap<String, Record> {
    let mut by_id = BTreeMap::new();
    records.into_iter().for_each(|record| put(&mut by_id, record));
    by_id
}

/// Adds a record. Of two derived records with one id, as from two models, the smaller line is kept. Of two other
/// records with one id, the later gets a new id, so that neither is lost.
pub(crate) fn put(by_id: &mut BTreeMap<String, Record>, record: Record) {
    match by_id.entry(record.id.clone()) {
        Entry::Vacant(entry) => _ = entry.insert(record),
        Entry::Occupied(mut entry) if record.is_derived() => {
            if record.line() < entry.get().line() {
                entry.insert(record);
            }
        }
        Entry::Occupied(entry) => {
            if record.line() != entry.get().line() {
                let record = record.renamed();
                by_id.entry(record.id.clone()).or_insert(record);
            }
        }
    }
}
