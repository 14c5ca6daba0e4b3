//! The plan of a reconciliation, as a pure function of its input.
//!
//! Main is a set of immutable lines. Records of sessions are added, and each decision about them is added as a record
//! whose id and time are derived from its subject. So the order of sessions, and the number of people on different
//! branches, make no difference. The union of several results equals the result of one person, once the next run has
//! compared the records that neither run had seen.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};

use muninn_base::Progress;
use muninn_team::records::{Body, RULES, Record, RecordStatus, WithdrawnRecords, kinds, ordered};
use serde::{Deserialize, Serialize};

use super::blocks::Blocks;
use super::chains;
use super::claim::RecordClaim;
use super::decide::{decisions, doubts_by_rules, folds, settled};
use super::fold::Fold;
use super::folds::new_folds;
use super::input::{PlanInput, Segment};
use super::model::ModelReport;
use super::open::{ConflictState, open_among};
use super::pair_indices::PairIndices;
use super::pairs::{by_id, main_records, open_pairs, put};
use super::parallel::by_all_processors;
use super::runs::RunLog;
use super::unseen::Unseen;
use crate::JudgeSetup;

/// The result of a reconciliation.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// New main memory, sorted by id, each id once.
    pub main: Vec<Record>,
    /// New log, sorted by id.
    pub log: Vec<Record>,
    /// Open conflicts of main, sorted by id.
    pub conflicts: Vec<Record>,
    /// Counts.
    pub summary: Summary,
    /// The records that are folded since.
    pub folds: Vec<Fold>,
    /// The number of different texts that an earlier version folded.
    pub earlier_folds: usize,
    /// The model's part, if there is one.
    pub asked: Option<ModelReport>,
}

/// Counts of a reconciliation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Records added to main.
    pub consolidated: usize,
    /// Records found to be duplicates.
    pub duplicates: usize,
    /// New open conflicts that a judge found.
    pub conflicts: usize,
    /// New undecided pairs.
    pub undecided: usize,
    /// All open conflicts and undecided pairs.
    pub open: usize,
}

/// Computes the plan.
pub fn plan(before: &PlanInput, judging: &JudgeSetup<'_>) -> Plan {
    let runs = RunLog::of(&before.log);
    let mut all = main_records(before);
    let known = all.len();
    // The log alone does not prove that main contains a segment's records: a revert can have removed them, or the
    // session can have continued on another branch to the same length.
    let is_known = |record: &Record| all.contains_key(&record.id) || before.pruned.contains(&record.id);
    let needs_reconciling =
        |segment: &&Segment| !runs.has(&segment.name, segment.bytes) || !segment.records.iter().all(is_known);
    let taken: Vec<&Segment> = before.segments.iter().filter(needs_reconciling).collect();
    let learned = taken.iter().flat_map(|segment| &segment.records);
    for record in learned.filter(|record| !before.pruned.contains(&record.id)) {
        put(&mut all, record.clone());
    }
    let all: Vec<Record> = all.into_values().collect();
    let consolidated = all.len() - known;
    // Includes the records of all segments, reconciled or not, because a revert can have removed decisions on them.
    // Includes pruned records too, because they were never compared with later records.
    let there = before.segments.iter().flat_map(|segment| &segment.records);
    let there = there.map(|record| record.id.as_str());
    let there: BTreeSet<&str> = there.chain(before.pruned.iter().map(String::as_str)).collect();
    let unseen = Unseen::of(&runs, &taken);
    let is_new = |record: &Record| there.contains(record.id.as_str()) || unseen.has(record);
    let log = by_id(runs.logged(before, &taken, &unseen.others(&all))).into_values().collect();
    let (decided, asked) = decide(&all, &is_new, &before.withdrawn, judging);
    let main: Vec<Record> = by_id(all.into_iter().chain(decided)).into_values().collect();
    let shown = before.withdrawn.shown(&main);
    let shown_before = before.withdrawn.shown(&before.main);
    let conflicts = open_pairs(&shown);
    let (folds, earlier_folds) = new_folds(&shown_before, &shown);
    Plan {
        summary: Summary {
            consolidated,
            duplicates: folded(&shown).saturating_sub(folded(&shown_before)),
            ..counted(before, &shown)
        },
        folds,
        earlier_folds,
        log,
        main,
        conflicts,
        asked,
    }
}

/// Compares pairs that were never compared: new records, and records that not all heads have seen.
fn decide(
    all: &[Record],
    is_new: &dyn Fn(&Record) -> bool,
    withdrawn: &WithdrawnRecords,
    judging: &JudgeSetup<'_>,
) -> (Vec<Record>, Option<ModelReport>) {
    let status = RecordStatus::of(withdrawn.shown(all));
    let with_withdrawn = (!withdrawn.is_empty()).then(|| RecordStatus::of(all));
    let claims: Vec<RecordClaim<'_>> = all.iter().filter_map(RecordClaim::of).collect();
    // A record that a reverted commit dropped was not compared while it was dropped.
    let was_dropped = |id: &str| with_withdrawn.as_ref().is_some_and(|status| status.is_dropped(id));
    let is_back = |record: &Record| was_dropped(&record.id) && !status.is_dropped(&record.id);
    let is_compared = |at: &usize| is_new(claims[*at].record) || is_back(claims[*at].record);
    let new: Vec<usize> = (0..claims.len()).filter(is_compared).collect();
    let blocks = Blocks::of(&claims, new.len(), judging);
    let mut pairs = pairs(&blocks, &new, judging.progress);
    // Superseded records are compared too, so that the result does not depend on the order in which they came; dropped
    // records are not.
    let is_dropped = |at: usize| status.is_dropped(claims[at].id());
    pairs.retain(|(one, other)| !is_dropped(*one) && !is_dropped(*other));
    if judging.reconciler.is_some() {
        pairs.extend(doubts_by_rules(&withdrawn.shown(all), &claims));
    }
    let settled = settled(all);
    let is_settled = |(one, other): &PairIndices| settled.contains(&ordered(claims[*one].id(), claims[*other].id()));
    let apart = set_apart(all, &claims);
    let is_link = |(one, other): &PairIndices| {
        let (one, other) = (&claims[*one], &claims[*other]);
        let is_copy = one.text == other.text || !apart.contains(one.id()) && !apart.contains(other.id());
        is_copy && !one.repeats(other)
    };
    let (alike, pairs): (BTreeSet<PairIndices>, _) =
        pairs.into_iter().partition(|(one, other)| claims[*one].has_words_of(&claims[*other]));
    let alike = alike.into_iter().filter(|pair| is_link(pair) && !is_settled(pair));
    let mut records: Vec<Record> = folds(alike, &claims).collect();
    let chained = |decided: &[Record]| chains::pairs(all.iter().chain(&records).chain(decided), &claims, &new);
    let (decided, asked) = decisions(pairs, &claims, judging, &chained, &is_settled);
    records.extend(decided);
    (records, asked)
}

/// The records that a person or a model set apart from one with the same words. They fold only with copies of their exact text:
/// otherwise the next copy of the one would take the other in.
fn set_apart<'a>(all: &'a [Record], claims: &[RecordClaim<'_>]) -> BTreeSet<&'a str> {
    let by_id: BTreeMap<&str, &RecordClaim<'_>> = claims.iter().map(|claim| (claim.id(), claim)).collect();
    let sides = all.iter().filter_map(|record| match &record.body {
        Body::Distinct(kinds::Distinct { left, right, by, .. }) if by != RULES => Some([left.as_str(), right.as_str()]),
        _ => None,
    });
    let is_alike = |[left, right]: &[&str; 2]| {
        let claims = by_id.get(left).zip(by_id.get(right));
        claims.is_some_and(|(left, right)| left.has_words_of(right))
    };
    sides.filter(is_alike).flatten().collect()
}

/// The pairs to compare, each once, smaller position first. Recall takes much longer than judging.
fn pairs(blocks: &Blocks<'_>, new: &[usize], progress: &dyn Progress) -> BTreeSet<(usize, usize)> {
    let done = AtomicUsize::new(0);
    let of_claim = |&at: &usize| {
        let candidates = blocks.candidates_for(at);
        progress.advance(done.fetch_add(1, Ordering::Relaxed) + 1, new.len());
        candidates.into_iter().map(move |other| (at.min(other), at.max(other)))
    };
    by_all_processors(new, of_claim).into_iter().collect()
}

/// Number of records with another representative.
fn folded(main: &[&Record]) -> usize {
    let status = RecordStatus::of(main.iter().copied());
    let ids = main.iter().map(|record| record.id.as_str());
    ids.filter(|id| status.kept(id) != *id).count()
}

/// The counts of decisions in main that were not there before.
fn counted(before: &PlanInput, main: &[&Record]) -> Summary {
    let open = open_among(main);
    let was = before.main.iter().chain(&before.conflicts);
    let was: BTreeSet<&str> = was.map(|record| record.id.as_str()).collect();
    let is_new = |record: &Record| !was.contains(record.id.as_str());
    let new = open.iter().filter(|conflict| conflict.pairs.iter().any(is_new));
    let (undecided, conflicts): (Vec<_>, Vec<_>) = new.partition(|one| one.state() == ConflictState::Undecided);
    Summary { conflicts: conflicts.len(), undecided: undecided.len(), open: open.len(), ..Summary::default() }
}
