//! Pruning: moves the least valuable records of main to the archive.
//!
//! The value of a record is its confidence, as `muninn_recall` computes it: raised by each confirming session,
//! lowered by the time since the last confirmation, and halved if a cited file has changed. The value of a duplicate is
//! the confidence that the group would lose without it. Decisions are never pruned, because they determine the status
//! of other records. The sides of open conflicts are not pruned either.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use muninn_recall::confidence::{joint_confidence, left_after};
use muninn_team::records::{Body, Moment, Record, RecordStatus, Source, kinds};

/// The value of a record that is no longer recalled, or adds nothing to others.
const GONE: f32 = 0.0;
/// The value of a record of the use of notes.
const OF_USE: f32 = 0.05;
/// In larger groups no single duplicate affects the confidence.
const MANY: usize = 32;

/// The result of pruning.
#[derive(Debug, Clone, Default)]
pub struct Pruned {
    /// Remaining main memory, sorted by id.
    pub main: Vec<Record>,
    /// Length of its lines in bytes.
    pub bytes: u64,
    /// Pruned records, sorted by id.
    pub archived: Vec<Record>,
}

/// Removes prunable records from main until it has at most `max_bytes`, or no prunable record is left. `is_changed`
/// tells whether a cited file has changed.
pub fn prune(main: &[Record], open: &[Record], max_bytes: u64, is_changed: &dyn Fn(&Source) -> bool) -> Pruned {
    let length = |record: &Record| record.line().len() as u64 + 1;
    let mut bytes: u64 = main.iter().map(length).sum();
    let values = RecordValues::of(main, open);
    let mut order: Vec<(f32, &Record)> =
        main.iter().filter_map(|record| Some((values.of_record(record, is_changed)?, record))).collect();
    order.sort_by(|(a, one), (b, other)| a.total_cmp(b).then_with(|| (&one.ts, &one.id).cmp(&(&other.ts, &other.id))));
    let mut archived = BTreeSet::new();
    for (_, record) in order {
        if bytes <= max_bytes {
            break;
        }
        bytes -= length(record);
        archived.insert(record.id.as_str());
    }
    let (archived, main) = main.iter().cloned().partition(|record| archived.contains(record.id.as_str()));
    Pruned { main, bytes, archived }
}

struct RecordValues<'a> {
    status: RecordStatus,
    /// Groups of duplicates that are not dropped; the recalled record comes first.
    alike: BTreeMap<String, Vec<&'a Record>>,
    in_conflict: BTreeSet<&'a str>,
    newest: Option<i64>,
}

impl<'a> RecordValues<'a> {
    fn of(main: &'a [Record], open: &'a [Record]) -> Self {
        let status = RecordStatus::of(main);
        let mut alike: BTreeMap<String, Vec<&Record>> = BTreeMap::new();
        for record in main.iter().filter(|record| !status.is_gone(&record.id)) {
            alike.entry(group_key(record, &status)).or_default().push(record);
        }
        for records in alike.values_mut() {
            records.sort_by_key(|record| recall_order(record));
        }
        let recalled = |side: &str| Some(alike.get(status.kept(side))?.first()?.id.as_str());
        let sides = open.iter().filter_map(Record::sides);
        let sides: Vec<&str> = sides.flat_map(|(left, right)| [left, right]).collect();
        // Recall can return a duplicate instead of a side.
        let in_conflict = sides.iter().copied().chain(sides.iter().filter_map(|side| recalled(side)));
        Self { in_conflict: in_conflict.collect(), newest: main.iter().filter_map(seconds).max(), alike, status }
    }

    /// The value of a record; `None` if the record must not be pruned.
    fn of_record(&self, record: &Record, is_changed: &dyn Fn(&Source) -> bool) -> Option<f32> {
        if matches!(record.body, Body::Use(_)) {
            return Some(OF_USE);
        }
        if let Body::Questions(kinds::Questions { of, .. }) = &record.body {
            return self.status.is_gone(of).then_some(GONE);
        }
        let is_prunable = matches!(
            record.body,
            Body::ContextHit(_) | Body::Pattern(_) | Body::Learning(_) | Body::SessionSummary(_) | Body::Failure(_)
        );
        if !is_prunable || self.in_conflict.contains(record.id.as_str()) {
            return None;
        }
        let gone = self.status.is_gone(&record.id);
        let Some(alike) = self.alike.get(&group_key(record, &self.status)).filter(|_| !gone) else {
            return Some(GONE);
        };
        let is_recalled = alike.first().is_some_and(|first| first.id == record.id);
        if !is_recalled && alike.len() > MANY {
            return Some(GONE);
        }
        let all = joint_confidence(alike.iter().map(|one| witness(one)));
        let confidence = if is_recalled {
            all
        } else {
            let others = alike.iter().filter(|one| one.id != record.id);
            all - joint_confidence(others.map(|one| witness(one)))
        };
        let confirmed = alike.iter().filter_map(|one| seconds(one)).max();
        let age = self.newest.zip(confirmed).map_or(0, |(newest, confirmed)| newest - confirmed);
        let worth = confidence * left_after(age);
        let changed = record.origin.sources.iter().any(is_changed);
        Some(if changed { worth / 2.0 } else { worth })
    }
}

/// The group of a record. Failures with the same words are duplicates without a link.
fn group_key(record: &Record, status: &RecordStatus) -> String {
    match &record.body {
        Body::Failure(kinds::Failure { attempt, outcome, .. }) => format!("failure\0{attempt}\0{outcome}"),
        _ => status.kept(&record.id).to_owned(),
    }
}

/// Sort key that puts the recalled record first: the newest.
fn recall_order(record: &Record) -> Reverse<(&Moment, &str)> {
    Reverse((&record.ts, &record.id))
}

/// The session and confidence of a record.
fn witness(record: &Record) -> (Option<&str>, Option<f32>) {
    let sure = match &record.body {
        Body::ContextHit(kinds::ContextHit { relevance: sure, .. })
        | Body::Pattern(kinds::Pattern { confidence: sure, .. })
        | Body::Learning(kinds::Learning { confidence: sure, .. }) => sure.as_ref(),
        _ => None,
    };
    #[expect(clippy::cast_possible_truncation, reason = "it is from 0 to 1")]
    let sure = sure.and_then(serde_json::Number::as_f64).map(|sure| sure.clamp(0.0, 1.0) as f32);
    (record.origin.session.as_deref(), sure)
}

fn seconds(record: &Record) -> Option<i64> {
    Some(record.ts.timestamp()?.as_second())
}
