//! What a reconciliation comes to: a function of what is there, and of nothing else.
//!
//! Main is a set of lines that are never written to again. Records of sessions join it, and so does each decision about
//! them, as a record of its own whose id and time follow from what it is about. So it does not matter in which order
//! sessions come in, or whether two people do it on two branches: the union of what they write is what one would have
//! written, once the next run has compared what neither had seen.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};

use super::apart::apart;
use super::blocks::Blocks;
use super::claim::{Standing, Told};
use super::judge::{Judgement, Relation};
use super::runs::Runs;
use crate::derived::Progress;
use crate::reconcile::Judging;
use crate::records::{Body, Record, ordered};

/// A file of a session's records.
#[derive(Debug, Clone)]
pub struct Segment {
    /// Its name.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// What it holds.
    pub records: Vec<Record>,
    /// Whether it is in the archive of sessions, and stays there.
    pub archived: bool,
}

/// What there is to reconcile.
#[derive(Debug, Clone, Default)]
pub struct Before {
    /// Of `main.jsonl`.
    pub main: Vec<Record>,
    /// Of `reconciled.jsonl`.
    pub log: Vec<Record>,
    /// Of `conflicts.jsonl`.
    pub conflicts: Vec<Record>,
    /// In the order of their names.
    pub segments: Vec<Segment>,
    /// The ids of what main once had and the archive has now; looked for where [`Before::lacks_records`].
    pub pruned: BTreeSet<String>,
}

impl Before {
    /// Whether a session's file that was taken in holds something that main does not have.
    pub(super) fn lacks_records(&self) -> bool {
        let main: BTreeSet<&str> = self.main.iter().map(|record| record.id.as_str()).collect();
        let mut records = self.segments.iter().flat_map(|segment| &segment.records);
        records.any(|record| !main.contains(record.id.as_str()))
    }
}

/// What is to be there afterwards.
#[derive(Debug, Clone, Default)]
pub struct After {
    /// Sorted by id, each id once.
    pub main: Vec<Record>,
    /// Likewise.
    pub log: Vec<Record>,
    /// Likewise: those that are open.
    pub conflicts: Vec<Record>,
    /// What was done, in numbers.
    pub summary: Summary,
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

/// By whom a decision is that no model had a part in.
pub(super) const RULES: &str = "rules";

/// Works it out.
pub fn plan(before: &Before, judging: &Judging<'_>) -> After {
    let runs = Runs::of(&before.log);
    let mut main: BTreeMap<&str, Record> = by_id(&before.main);
    let mut fresh: BTreeSet<String> = BTreeSet::new();
    // That the log has a session's file does not tell that main has its records: a revert may have taken them, or the
    // session went on elsewhere, to the same length.
    let is_known = |record: &Record| main.contains_key(record.id.as_str()) || before.pruned.contains(&record.id);
    let is_taken =
        |segment: &&Segment| !runs.has(&segment.name, segment.bytes) || !segment.records.iter().all(is_known);
    let taken: Vec<&Segment> = before.segments.iter().filter(is_taken).collect();
    for record in taken.iter().flat_map(|segment| &segment.records) {
        if !main.contains_key(record.id.as_str()) {
            fresh.insert(record.id.clone());
            main.insert(&record.id, record.clone());
        }
    }
    let mut all: Vec<Record> = main.into_values().collect();
    // All that lies there, taken in or not: a revert may have taken what was decided on it.
    let there = before.segments.iter().flat_map(|segment| &segment.records);
    let there: BTreeSet<&str> = there.map(|record| record.id.as_str()).collect();
    let decided = decide(&all, &there, &runs, judging);
    let summary = Summary {
        consolidated: fresh.len(),
        ..Summary::default()
    };
    let known: BTreeSet<String> = all.iter().map(|record| record.id.clone()).collect();
    all.extend(decided.records.into_iter().filter(|record| !known.contains(&record.id)));
    all.sort_by(|a, b| a.id.cmp(&b.id));
    let conflicts = open_conflicts(&all, before.conflicts.iter().cloned().chain(decided.conflicts));
    let log = logged(before, &runs, &taken);
    let summary = counted(summary, before, &all, &conflicts);
    After {
        main: all,
        log,
        conflicts,
        summary,
    }
}

fn by_id(records: &[Record]) -> BTreeMap<&str, Record> {
    records
        .iter()
        .map(|record| (record.id.as_str(), record.clone()))
        .collect()
}

#[derive(Default)]
struct Decided {
    records: Vec<Record>,
    conflicts: Vec<Record>,
}

/// Compares what was never compared: new records, and those that not all heads have seen.
fn decide(all: &[Record], fresh: &BTreeSet<&str>, runs: &Runs<'_>, judging: &Judging<'_>) -> Decided {
    let standing = Standing::of(all);
    // What is superseded is compared too, so that it does not matter whether that was known when another came in.
    let claims: Vec<Told<'_>> = all
        .iter()
        .filter_map(Told::of)
        .filter(|claim| !standing.is_dropped(claim.id()))
        .collect();
    let unseen = runs.unseen_sessions();
    let is_new = |claim: &Told<'_>| {
        let session = claim.record.origin.session.as_deref();
        fresh.contains(claim.id()) || session.is_some_and(|session| unseen.contains(session))
    };
    let new: Vec<usize> = (0..claims.len()).filter(|at| is_new(&claims[*at])).collect();
    let blocks = Blocks::of(&claims, judging);
    let pairs = pairs(&blocks, &new, judging.progress);
    let mut decided = Decided::default();
    for (one, other) in pairs {
        let (one, other) = (&claims[one], &claims[other]);
        let (older, newer) = if one.is_older(other) {
            (one, other)
        } else {
            (other, one)
        };
        decided.take(older, newer, judging.judge.judge(&older.claim(), &newer.claim()));
    }
    let same = all.iter().chain(&decided.records);
    // Nor does a person's word on one side reach the other.
    let told: Vec<Told<'_>> = all.iter().filter_map(Told::of).collect();
    let apart = apart(same, &told, &is_new, judging.judge);
    decided.records.extend(apart);
    decided
}

/// The pairs that are worth comparing, each once, the smaller place first. Looked for by as many threads as there are
/// processors: to recall among many takes much longer than to judge what was recalled.
fn pairs(blocks: &Blocks<'_>, new: &[usize], progress: &dyn Progress) -> BTreeSet<(usize, usize)> {
    let done = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let of_claim = |at: usize| {
        let beside = blocks.beside(at);
        progress.advance(done.fetch_add(1, Ordering::Relaxed) + 1, new.len());
        beside.into_iter().map(move |other| (at.min(other), at.max(other)))
    };
    let of_part = |part: &[usize]| -> Vec<(usize, usize)> { part.iter().flat_map(|at| of_claim(*at)).collect() };
    std::thread::scope(|scope| {
        let parts = new.chunks(new.len().div_ceil(threads).max(1));
        let running: Vec<_> = parts.map(|part| scope.spawn(move || of_part(part))).collect();
        running
            .into_iter()
            .filter_map(|thread| thread.join().ok())
            .flatten()
            .collect()
    })
}

impl Decided {
    fn take(&mut self, older: &Told<'_>, newer: &Told<'_>, Judgement { relation, reason }: Judgement) {
        let about = [older.id(), newer.id()];
        let derived = |body| Record::derived(body, &about, &newer.record.ts);
        let by = RULES.to_owned();
        match relation {
            Relation::Unrelated | Relation::Refines | Relation::RefinedBy => {}
            Relation::Same => {
                let (kept, folded) = ordered(older.id(), newer.id());
                self.records.push(derived(Body::Same {
                    kept,
                    folded,
                    by,
                    reason,
                }));
            }
            Relation::Contradicts if takes_its_place(older, newer) => self.records.push(derived(Body::Supersedes {
                older: older.id().to_owned(),
                since: Some(newer.record.ts.clone()),
            })),
            Relation::Contradicts | Relation::Doubt => self.conflicts.push(derived(Body::Conflict {
                left: older.id().to_owned(),
                left_text: older.text.to_owned(),
                right: newer.id().to_owned(),
                right_text: newer.text.to_owned(),
                by,
                reason,
            })),
        }
    }
}

/// Whether the newer of two that contradict each other is what the same voice says now of the same subject, or says it of
/// a file that is another by then: no person needs to be asked.
fn takes_its_place(older: &Told<'_>, newer: &Told<'_>) -> bool {
    let is_later = older.record.ts < newer.record.ts;
    let same_subject = older
        .subject
        .is_some_and(|subject| newer.subject.is_some_and(|other| other.eq_ignore_ascii_case(subject)));
    let same_author = older.author.is_some() && older.author == newer.author;
    let sources = |claim: &Told<'_>| claim.record.origin.sources.clone();
    let changed = sources(older).iter().any(|was| {
        let now = sources(newer).into_iter().find(|now| now.path == was.path);
        now.is_some_and(|now| was.blob.is_some() && now.blob.is_some() && now.blob != was.blob)
    });
    is_later && same_subject && (same_author || changed)
}

/// Those that are still to be settled, between the records that are recalled. Of several between the same two, the one of
/// the smallest id counts.
pub(super) fn open_conflicts(main: &[Record], conflicts: impl Iterator<Item = Record>) -> Vec<Record> {
    let standing = Standing::of(main);
    let there: BTreeSet<&str> = main.iter().map(|record| record.id.as_str()).collect();
    let mut open: BTreeMap<(String, String), Record> = BTreeMap::new();
    for conflict in conflicts {
        let Body::Conflict { left, right, .. } = &conflict.body else {
            continue;
        };
        let is_there = |id: &String| there.contains(id.as_str()) && !standing.is_gone(id);
        let is_open = is_there(left)
            && is_there(right)
            && standing.kept(left) != standing.kept(right)
            && !standing.keeps_both(left, right);
        if is_open {
            let pair = ordered(standing.kept(left), standing.kept(right));
            let known = open.entry(pair).or_insert_with(|| conflict.clone());
            if conflict.id < known.id {
                *known = conflict;
            }
        }
    }
    let mut open: Vec<Record> = open.into_values().collect();
    open.sort_by(|a, b| a.id.cmp(&b.id));
    open
}

/// The log with this run, where there was anything to do.
fn logged(before: &Before, runs: &Runs<'_>, taken: &[&Segment]) -> Vec<Record> {
    let heads = runs.heads();
    let mut log: BTreeMap<&str, Record> = by_id(&before.log);
    let mut made = Vec::new();
    if !taken.is_empty() || heads.len() > 1 {
        let names: Vec<String> = taken
            .iter()
            .map(|segment| format!("{} {}", segment.name, segment.bytes))
            .collect();
        let about: Vec<&str> = names.iter().map(String::as_str).chain(heads.iter().copied()).collect();
        let records = taken.iter().flat_map(|segment| &segment.records).chain(&before.log);
        let latest = records.map(|record| record.ts.as_str()).max().unwrap_or_default();
        let after = heads.iter().map(|head| (*head).to_owned()).collect();
        let run = Record::derived(Body::Run { after }, &about, latest);
        for segment in taken {
            let body = Body::Reconciled {
                segment: segment.name.clone(),
                bytes: segment.bytes,
                run: run.id.clone(),
            };
            let length = segment.bytes.to_string();
            made.push(Record::derived(body, &[&segment.name, &length, &run.id], latest));
        }
        made.push(run);
    }
    for record in &made {
        log.insert(&record.id, record.clone());
    }
    log.into_values().collect()
}

fn counted(summary: Summary, before: &Before, main: &[Record], conflicts: &[Record]) -> Summary {
    let was: BTreeSet<&str> = before.main.iter().map(|record| record.id.as_str()).collect();
    let was_open: BTreeSet<&str> = before.conflicts.iter().map(|record| record.id.as_str()).collect();
    let made = || main.iter().filter(|record| !was.contains(record.id.as_str()));
    Summary {
        duplicates: made().filter(|record| matches!(record.body, Body::Same { .. })).count(),
        superseded: made()
            .filter(|record| matches!(record.body, Body::Supersedes { .. }))
            .count(),
        conflicts: conflicts
            .iter()
            .filter(|record| !was_open.contains(record.id.as_str()))
            .count(),
        open: conflicts.len(),
        ..summary
    }
}
