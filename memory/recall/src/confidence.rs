//! The confidence of a memory, from its sessions and its age.
//!
//! Each session that finds a pattern or a failure records it in the same words, and learnings are repeated too. If recall
//! returned all duplicates, they would displace other memories, so the newest one represents all. Sessions are independent witnesses: the probability that all are wrong is the product of their doubts, `1 -
//! confidence = product of (1 - confidence of a session)`. Repetitions within a session count once.
//!
//! Confidence decays without confirmation: in the long run it falls to one half, and the rest of the loss halves each
//! year: `confidence * (1 + 2^(-age / 1 year)) / 2`. The age is measured up to the newest record, not up to today, so
//! confidence does not decay in an unused repository.

use std::collections::{HashMap, HashSet};

use muninn_team::memories::{Memory, MemoryKind};
use muninn_team::records::{RecordStatus, Superseded};

/// Record types that are written automatically.
const AUTOMATIC: [&str; 2] = ["pattern", "failure"];
/// Why a duplicate is superseded.
const SAID_AGAIN: &str = "the newer record says the same";
/// Confidence of a session that gives none.
const DEFAULT: f32 = 0.5;
/// Maximum joint confidence by number of sessions, unless a single session has a higher confidence.
const MOST: f32 = 0.95;
/// Step of the decay.
const STEP: f32 = 0.05;
const YEAR_SECONDS: f32 = 365.0 * 24.0 * 3600.0;

/// Folds each group of duplicates: the newest memory represents it, with the joint confidence, and supersedes the others.
/// Repetitions of automatic records are left out instead, because each session writes them. The order is kept. Returns the
/// representatives of the groups with a record in `main`, which is main memory's displayed path.
pub(super) fn fold(items: &mut Vec<Memory>, status: &RecordStatus, main: &str) -> HashSet<String> {
    let mut alike: HashMap<(&str, &str), Vec<usize>> = HashMap::new();
    let is_valid = |item: &&Memory| item.kind == MemoryKind::Record && item.superseded.is_none();
    for (at, item) in items.iter().enumerate().filter(|(_, item)| is_valid(item)) {
        let key = match item.record_type.as_deref() {
            Some("failure") => ("failure", item.text.as_str()),
            _ => ("", status.kept(&item.source)),
        };
        alike.entry(key).or_default().push(at);
    }
    let now = items.iter().filter(|item| item.superseded.is_none()).filter_map(seconds).max();
    let mut of_main = HashSet::new();
    let mut newest_of: Vec<Option<usize>> = vec![None; items.len()];
    let mut confidences: Vec<(usize, f32)> = Vec::new();
    for ((kind, kept), group) in alike {
        let Some(newest) = group.iter().copied().max_by_key(|at| (&items[*at].date, &items[*at].source)) else {
            continue;
        };
        if kind.is_empty() && group.iter().any(|at| items[*at].path == main) {
            of_main.insert(kept.to_owned());
        }
        if group.len() > 1 || items[newest].confidence.is_some() {
            let witnesses = group.iter().map(|at| &items[*at]);
            let confidence = joint_confidence(witnesses.map(|item| (item.session.as_deref(), item.confidence)));
            let age = now.zip(seconds(&items[newest])).map(|(now, newest)| now - newest);
            let is_main = items[newest].path == main;
            confidences.push((newest, if is_main { aged(confidence, age) } else { confidence }));
        }
        for at in group.into_iter().filter(|at| *at != newest) {
            newest_of[at] = Some(newest);
        }
    }
    for (at, confidence) in confidences {
        items[at].confidence = Some(confidence);
    }
    let mut is_left_out = vec![false; items.len()];
    for (at, newest) in newest_of.into_iter().enumerate() {
        let Some(newest) = newest.map(|newest| &items[newest]) else {
            continue;
        };
        is_left_out[at] = is_automatic(&items[at]) && items[at].text == newest.text;
        items[at].superseded = Some(Superseded {
            until: newest.date.clone().unwrap_or_default(),
            by: Some(newest.source.clone()),
            author: None,
            reason: Some(SAID_AGAIN.to_owned()),
        });
    }
    let mut is_left_out = is_left_out.into_iter();
    items.retain(|_| !is_left_out.next().unwrap_or(false));
    of_main
}

fn is_automatic(item: &Memory) -> bool {
    item.record_type.as_deref().is_some_and(|kind| AUTOMATIC.contains(&kind))
}

/// The joint confidence of several witnesses, each with session and own confidence.
pub fn joint_confidence<'a>(witnesses: impl Iterator<Item = (Option<&'a str>, Option<f32>)>) -> f32 {
    let mut by_session: HashMap<Option<&str>, f32> = HashMap::new();
    for (session, sure) in witnesses {
        let confidence = by_session.entry(session).or_default();
        *confidence = confidence.max(sure.unwrap_or(DEFAULT));
    }
    let surest = by_session.values().copied().fold(0.0, f32::max);
    let doubt: f32 = by_session.values().map(|confidence| 1.0 - confidence).product();
    (1.0 - doubt).min(MOST.max(surest))
}

/// The share of confidence that is left after a time.
#[expect(clippy::cast_precision_loss, reason = "a second more or less is nothing in a year")]
pub fn left_after(seconds: i64) -> f32 {
    let years = seconds.max(0) as f32 / YEAR_SECONDS;
    (1.0 + (-years).exp2()) / 2.0
}

/// Applies the decay for an age in seconds, if known. The decay is rounded to steps, so that a memory's displayed
/// confidence does not change from day to day.
fn aged(confidence: f32, age: Option<i64>) -> f32 {
    let left = confidence * age.map_or(1.0, left_after);
    let steps = ((confidence - left) / STEP).round();
    confidence - steps * STEP
}

fn seconds(item: &Memory) -> Option<i64> {
    Some(item.date.as_ref()?.timestamp()?.as_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidence_decays_in_steps_to_at_most_half() {
        let year = 365 * 24 * 3600;
        let after = |years: f32| (aged(0.8, Some((years * year as f32) as i64)) * 100.0).round() as i32;
        assert_eq!([after(0.0), after(0.05), after(1.0), after(2.0), after(50.0)], [80, 80, 60, 50, 40]);
        assert_eq!(aged(0.8, None), 0.8);
    }
}
