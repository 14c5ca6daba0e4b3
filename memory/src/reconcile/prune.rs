//! Keeping main memory within bounds: what is worth least goes to the archive, and is never away.
//!
//! What a record is worth is its confidence as [`crate::recall`] has it, raised by each session that confirmed it and lowered
//! by the time since the last one did, and half of that where a file that it rests on has changed. A record that only confirms
//! another is worth what that one's confidence would lose without it. Decisions stay, for they say what became of others, and
//! so does what an open conflict is about.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::recall::confidence::{left_after, together};
use crate::records::{Body, Moment, Record, RecordStatus, Source, kinds};

/// What a record that nothing recalls any more is worth, and one that adds nothing to others.
const GONE: f32 = 0.0;
/// Of more that say the same, none makes those without it any surer.
const MANY: usize = 32;

/// Main, and what leaves it.
#[derive(Debug, Clone, Default)]
pub struct Pruned {
    /// Sorted by id.
    pub main: Vec<Record>,
    /// How long its lines are.
    pub bytes: u64,
    /// Likewise.
    pub archived: Vec<Record>,
}

/// Leaves of main what is worth most, so that its lines take at most `max_bytes`, as far as what has to stay allows.
/// `is_changed` tells whether a file is another by now.
pub fn prune(main: &[Record], open: &[Record], max_bytes: u64, is_changed: &dyn Fn(&Source) -> bool) -> Pruned {
    let length = |record: &Record| record.line().len() as u64 + 1;
    let mut bytes: u64 = main.iter().map(length).sum();
    let worth = RecordValues::of(main, open);
    let mut order: Vec<(f32, &Record)> = main
        .iter()
        .filter_map(|record| Some((worth.of_record(record, is_changed)?, record)))
        .collect();
    order.sort_by(|(a, one), (b, other)| {
        a.total_cmp(b)
            .then_with(|| (&one.ts, &one.id).cmp(&(&other.ts, &other.id)))
    });
    let mut archived = BTreeSet::new();
    for (_, record) in order {
        if bytes <= max_bytes {
            break;
        }
        bytes -= length(record);
        archived.insert(record.id.as_str());
    }
    let (archived, main) = main
        .iter()
        .cloned()
        .partition(|record| archived.contains(record.id.as_str()));
    Pruned { main, bytes, archived }
}

struct RecordValues<'a> {
    status: RecordStatus,
    /// What is recalled of those that say the same, the one that is recalled first.
    alike: BTreeMap<String, Vec<&'a Record>>,
    in_conflict: BTreeSet<&'a str>,
    newest: Option<i64>,
}

impl<'a> RecordValues<'a> {
    fn of(main: &'a [Record], open: &'a [Record]) -> Self {
        let status = RecordStatus::of(main);
        let mut alike: BTreeMap<String, Vec<&Record>> = BTreeMap::new();
        for record in main.iter().filter(|record| !status.is_gone(&record.id)) {
            alike.entry(same_as(record, &status)).or_default().push(record);
        }
        for records in alike.values_mut() {
            records.sort_by_key(|record| recalled_first(record));
        }
        let recalled = |side: &str| Some(alike.get(status.kept(side))?.first()?.id.as_str());
        let sides = open.iter().filter_map(Record::sides);
        let sides: Vec<&str> = sides.flat_map(|(left, right)| [left, right]).collect();
        // Another may be recalled for a side.
        let in_conflict = sides
            .iter()
            .copied()
            .chain(sides.iter().filter_map(|side| recalled(side)));
        Self {
            in_conflict: in_conflict.collect(),
            newest: main.iter().filter_map(seconds).max(),
            alike,
            status,
        }
    }

    /// `None` of what stays whatever it takes.
    fn of_record(&self, record: &Record, is_changed: &dyn Fn(&Source) -> bool) -> Option<f32> {
        let is_said = matches!(
            record.body,
            Body::ContextHit(_) | Body::Pattern(_) | Body::Learning(_) | Body::SessionSummary(_) | Body::Failure(_)
        );
        if !is_said || self.in_conflict.contains(record.id.as_str()) {
            return None;
        }
        let gone = self.status.is_gone(&record.id);
        let Some(alike) = self.alike.get(&same_as(record, &self.status)).filter(|_| !gone) else {
            return Some(GONE);
        };
        let is_recalled = alike.first().is_some_and(|first| first.id == record.id);
        if !is_recalled && alike.len() > MANY {
            return Some(GONE);
        }
        let all = together(alike.iter().map(|one| witness(one)));
        let confidence = if is_recalled {
            all
        } else {
            let others = alike.iter().filter(|one| one.id != record.id);
            all - together(others.map(|one| witness(one)))
        };
        let confirmed = alike.iter().filter_map(|one| seconds(one)).max();
        let age = self
            .newest
            .zip(confirmed)
            .map_or(0, |(newest, confirmed)| newest - confirmed);
        let worth = confidence * left_after(age);
        let changed = record.origin.sources.iter().any(is_changed);
        Some(if changed { worth / 2.0 } else { worth })
    }
}

/// Failures in the same words are the same without anybody's saying so.
fn same_as(record: &Record, status: &RecordStatus) -> String {
    match &record.body {
        Body::Failure(kinds::Failure { attempt, outcome, .. }) => format!("failure\0{attempt}\0{outcome}"),
        _ => status.kept(&record.id).to_owned(),
    }
}

/// Smaller for the one of several that is recalled: the newest of what sessions found without anybody's doing, and of what
/// was told the one that stands for the others.
fn recalled_first(record: &Record) -> (Reverse<Option<&Moment>>, &str) {
    match &record.body {
        Body::Pattern(_) | Body::Failure(_) => (Reverse(Some(&record.ts)), &record.id),
        _ => (Reverse(None), &record.id),
    }
}

/// Its session, and how sure it is.
fn witness(record: &Record) -> (Option<&str>, Option<f32>) {
    let sure = match &record.body {
        Body::ContextHit(kinds::ContextHit { relevance: sure, .. })
        | Body::Pattern(kinds::Pattern { confidence: sure, .. })
        | Body::Learning(kinds::Learning { confidence: sure, .. }) => sure.as_ref(),
        _ => None,
    };
    #[expect(clippy::cast_possible_truncation, reason = "it is from 0 to 1")]
    let sure = sure
        .and_then(serde_json::Number::as_f64)
        .map(|sure| sure.clamp(0.0, 1.0) as f32);
    (record.origin.session.as_deref(), sure)
}

fn seconds(record: &Record) -> Option<i64> {
    Some(record.ts.timestamp()?.as_second())
}
