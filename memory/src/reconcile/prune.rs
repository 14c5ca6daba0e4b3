//! Keeping main memory within bounds: what is worth least goes to the archive, and is never away.
//!
//! What a record is worth is its confidence, as time has left it, half of that where a file that it rests on has changed,
//! and twice as much for each other record that says the same. Decisions stay, for they say what became of others, and so
//! does what an open conflict is about.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::records::{Body, Record, Source, Standing};

/// What counts for a record that does not say how sure it is.
const USUAL: f64 = 0.5;
/// What a record that nothing recalls any more is worth.
const GONE: f64 = 0.0;
const YEAR_SECONDS: f64 = 365.0 * 24.0 * 3600.0;

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
    let worth = Worth::of(main, open);
    let mut order: Vec<(f64, &Record)> = main
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

struct Worth<'a> {
    standing: Standing,
    /// How many say the same, by the one that is kept.
    witnesses: BTreeMap<String, u32>,
    /// The one that is recalled, by the one that is kept.
    told: BTreeMap<String, &'a str>,
    in_conflict: BTreeSet<&'a str>,
    newest: Option<Timestamp>,
}

impl<'a> Worth<'a> {
    fn of(main: &'a [Record], open: &'a [Record]) -> Self {
        let standing = Standing::of(main);
        let mut witnesses: BTreeMap<String, u32> = BTreeMap::new();
        for record in main {
            *witnesses.entry(standing.kept(&record.id).to_owned()).or_default() += 1;
        }
        let mut told: BTreeMap<String, &str> = BTreeMap::new();
        for record in main.iter().filter(|record| !standing.is_gone(&record.id)) {
            let first = told.entry(standing.kept(&record.id).to_owned()).or_insert(&record.id);
            *first = (*first).min(&record.id);
        }
        let sides = open.iter().filter_map(Record::sides);
        let sides: Vec<&str> = sides.flat_map(|(left, right)| [left, right]).collect();
        // Another may be recalled for a side.
        let recalled = sides.iter().filter_map(|side| told.get(standing.kept(side)).copied());
        Self {
            in_conflict: sides.iter().copied().chain(recalled).collect(),
            newest: main.iter().filter_map(|record| record.ts.parse().ok()).max(),
            witnesses,
            told,
            standing,
        }
    }

    /// `None` of what stays whatever it takes.
    fn of_record(&self, record: &Record, is_changed: &dyn Fn(&Source) -> bool) -> Option<f64> {
        let confidence = match &record.body {
            Body::ContextHit { relevance: sure, .. }
            | Body::Pattern { confidence: sure, .. }
            | Body::Learning { confidence: sure, .. } => sure.as_ref().and_then(serde_json::Number::as_f64),
            Body::SessionSummary { .. } | Body::Failure { .. } => None,
            _ => return None,
        };
        if self.in_conflict.contains(record.id.as_str()) {
            return None;
        }
        let kept = self.standing.kept(&record.id);
        if self.told.get(kept) != Some(&record.id.as_str()) {
            return Some(GONE);
        }
        let others = self
            .witnesses
            .get(kept)
            .map_or(0, |count| count.saturating_sub(1))
            .min(30);
        let changed = record.origin.sources.iter().any(is_changed);
        let worth = confidence.unwrap_or(USUAL) * self.aged(record) * f64::from(1u32 << others);
        Some(if changed { worth / 2.0 } else { worth })
    }

    /// As [`crate::recall`] has it: half is lost in the long run, and half of that in each year.
    fn aged(&self, record: &Record) -> f64 {
        let written: Option<Timestamp> = record.ts.parse().ok();
        let age = self.newest.zip(written).map_or(0.0, |(newest, written)| {
            (newest - written).total(jiff::Unit::Second).unwrap_or(0.0)
        });
        (1.0 + (-age.max(0.0) / YEAR_SECONDS).exp2()) / 2.0
    }
}
