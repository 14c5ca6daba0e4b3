//! What a reconciliation comes to: a function of what is there, and of nothing else.
//!
//! Main is a set of lines that are never written to again. Records of sessions join it, and so does each decision about
//! them, as a record of its own whose id and time follow from what it is about. So it does not matter in which order
//! sessions come in, or whether two people do it on two branches: the union of what they write is what one would have
//! written, once the next run has compared what neither had seen.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};

use super::blocks::Blocks;
use super::chains;
use super::claim::RecordClaim;
use super::decide::{PairIndices, decisions, doubts_by_rules, settled};
use super::model::ModelReport;
use super::parallel::by_all_processors;
use super::runs::RunLog;
use super::unseen::Unseen;
use crate::index::Progress;
use crate::reconcile::JudgeSetup;
use crate::records::{Record, RecordStatus, ordered};

/// A file of a session's records.
#[derive(Debug, Clone)]
pub struct Segment {
    /// Its name.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// What it holds.
    pub records: Vec<Record>,
}

/// What there is to reconcile.
#[derive(Debug, Clone, Default)]
pub struct PlanInput {
    /// Of `main.jsonl`.
    pub main: Vec<Record>,
    /// Of `reconciled.jsonl`.
    pub log: Vec<Record>,
    /// Of `conflicts.jsonl`.
    pub conflicts: Vec<Record>,
    /// In the order of their names.
    pub segments: Vec<Segment>,
    /// The ids of what main once had and the archive has now.
    pub pruned: BTreeSet<String>,
}

/// What is to be there afterwards.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// Sorted by id, each id once.
    pub main: Vec<Record>,
    /// Likewise.
    pub log: Vec<Record>,
    /// Likewise: those of main that are open, for people to look at.
    pub conflicts: Vec<Record>,
    /// What was done, in numbers.
    pub summary: Summary,
    /// What was asked of a model, where there was one to ask.
    pub asked: Option<ModelReport>,
}

/// What was done, in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Records that came into main.
    pub consolidated: usize,
    /// Records that another one is recalled for.
    pub duplicates: usize,
    /// Records that a newer one took the place of.
    pub superseded: usize,
    /// Conflicts that were not open before.
    pub conflicts: usize,
    /// Conflicts that are open now.
    pub open: usize,
}

/// Works it out.
pub fn plan(before: &PlanInput, judging: &JudgeSetup<'_>) -> Plan {
    let runs = RunLog::of(&before.log);
    let mut all = held(before);
    let known = all.len();
    // That the log has a session's file does not tell that main has its records: a revert may have taken them, or the
    // session went on elsewhere, to the same length.
    let is_known = |record: &Record| all.contains_key(&record.id) || before.pruned.contains(&record.id);
    let is_taken =
        |segment: &&Segment| !runs.has(&segment.name, segment.bytes) || !segment.records.iter().all(is_known);
    let taken: Vec<&Segment> = before.segments.iter().filter(is_taken).collect();
    let learned = taken.iter().flat_map(|segment| &segment.records);
    for record in learned.filter(|record| !before.pruned.contains(&record.id)) {
        put(&mut all, record.clone());
    }
    let all: Vec<Record> = all.into_values().collect();
    let consolidated = all.len() - known;
    // All that lies there, taken in or not: a revert may have taken what was decided on it. And what is back from the
    // archive, where it may have missed much.
    let there = before.segments.iter().flat_map(|segment| &segment.records);
    let there = there.map(|record| record.id.as_str());
    let there: BTreeSet<&str> = there.chain(before.pruned.iter().map(String::as_str)).collect();
    let unseen = Unseen::of(&runs, &taken);
    let is_new = |record: &Record| there.contains(record.id.as_str()) || unseen.has(record);
    let log = by_id(runs.logged(before, &taken, &unseen.others(&all)))
        .into_values()
        .collect();
    let (decided, asked) = decide(&all, &is_new, judging);
    let main: Vec<Record> = by_id(all.into_iter().chain(decided)).into_values().collect();
    let conflicts = open_conflicts(&main);
    Plan {
        summary: counted(consolidated, before, &main, &conflicts),
        log,
        main,
        conflicts,
        asked,
    }
}

/// What main holds, or ought to: what only the list of open conflicts has was put there by somebody else's merge.
pub(super) fn held(before: &PlanInput) -> BTreeMap<String, Record> {
    by_id(before.main.iter().chain(&before.conflicts).cloned())
}

fn by_id(records: impl IntoIterator<Item = Record>) -> BTreeMap<String, Record> {
    let mut by_id = BTreeMap::new();
    records.into_iter().for_each(|record| put(&mut by_id, record));
    by_id
}

/// Of two decisions with the same id, as two models may come to, the smaller line counts. Of two other records that somebody
/// gave the same id, the later one gets an id of its own: neither is lost.
fn put(by_id: &mut BTreeMap<String, Record>, record: Record) {
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

/// Compares what was never compared: new records, and those that not all heads have seen.
fn decide(
    all: &[Record],
    is_new: &dyn Fn(&Record) -> bool,
    judging: &JudgeSetup<'_>,
) -> (Vec<Record>, Option<ModelReport>) {
    let status = RecordStatus::of(all);
    let claims: Vec<RecordClaim<'_>> = all.iter().filter_map(RecordClaim::of).collect();
    let new: Vec<usize> = (0..claims.len()).filter(|at| is_new(claims[*at].record)).collect();
    let blocks = Blocks::of(&claims, judging);
    let mut pairs = pairs(&blocks, &new, judging.progress);
    // What is superseded is compared, so that it does not matter whether that was known when another came in; what people
    // dropped is not.
    let is_dropped = |at: usize| status.is_dropped(claims[at].id());
    pairs.retain(|(one, other)| !is_dropped(*one) && !is_dropped(*other));
    if judging.reconciler.is_some() {
        pairs.extend(doubts_by_rules(all, &claims));
    }
    let chained = |decided: &[Record]| chains::pairs(all, decided, &claims, &new);
    let settled = settled(all);
    let is_settled = |(one, other): &PairIndices| settled.contains(&ordered(claims[*one].id(), claims[*other].id()));
    decisions(pairs, &claims, judging, &chained, &is_settled)
}

/// The pairs that are worth comparing, each once, the smaller place first. To recall among many takes much longer than to
/// judge what was recalled.
fn pairs(blocks: &Blocks<'_>, new: &[usize], progress: &dyn Progress) -> BTreeSet<(usize, usize)> {
    let done = AtomicUsize::new(0);
    let of_claim = |&at: &usize| {
        let beside = blocks.beside(at);
        progress.advance(done.fetch_add(1, Ordering::Relaxed) + 1, new.len());
        beside.into_iter().map(move |other| (at.min(other), at.max(other)))
    };
    by_all_processors(new, of_claim).into_iter().collect()
}

/// The conflicts in main that are still to be settled: between records that are recalled. Of several between what says the
/// same as one side and what says the same as the other, the one of the smallest id counts.
pub(super) fn open_conflicts(main: &[Record]) -> Vec<Record> {
    let status = RecordStatus::of(main);
    let there: BTreeSet<&str> = main.iter().map(|record| record.id.as_str()).collect();
    // Another may be recalled for a side.
    let told: BTreeSet<&str> = there
        .iter()
        .filter(|id| !status.is_gone(id))
        .map(|id| status.kept(id))
        .collect();
    let is_told = |id: &str| told.contains(status.kept(id));
    let mut open: BTreeMap<(String, String), &Record> = BTreeMap::new();
    for conflict in main {
        let Some((left, right)) = conflict.sides() else {
            continue;
        };
        if is_told(left) && is_told(right) && !status.is_settled(left, right) {
            let known = open
                .entry(ordered(status.kept(left), status.kept(right)))
                .or_insert(conflict);
            if conflict.id < known.id {
                *known = conflict;
            }
        }
    }
    let open: BTreeMap<&str, &Record> = open.into_values().map(|record| (record.id.as_str(), record)).collect();
    open.into_values().cloned().collect()
}

/// How many another one is recalled for.
fn folded(main: &[Record]) -> usize {
    let status = RecordStatus::of(main);
    let ids = main.iter().map(|record| record.id.as_str());
    ids.filter(|id| status.kept(id) != *id).count()
}

fn counted(consolidated: usize, before: &PlanInput, main: &[Record], conflicts: &[Record]) -> Summary {
    let was = before.main.iter().chain(&before.conflicts);
    let was: BTreeSet<&str> = was.map(|record| record.id.as_str()).collect();
    let is_new = |record: &&Record| !was.contains(record.id.as_str());
    let made = |kind: &str| {
        main.iter()
            .filter(|record| record.body.kind() == kind && is_new(record))
            .count()
    };
    Summary {
        consolidated,
        duplicates: folded(main).saturating_sub(folded(&before.main)),
        superseded: made("supersedes"),
        conflicts: conflicts.iter().filter(is_new).count(),
        open: conflicts.len(),
    }
}
