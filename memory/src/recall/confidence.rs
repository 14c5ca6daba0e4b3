//! How sure a memory is: by how many found it out, and how long ago.
//!
//! A pattern or a failure is written down by each session that comes upon it, in the same words; a learning is told again
//! in others, and reconciling finds that it is the same. Recalled one by one these would crowd out all else, so one
//! stands for all. Sessions are independent witnesses: that none of those who say so is right is as probable as that each
//! of them is wrong, `1 - confidence = product of (1 - confidence of a session)`. What one session says often counts once.
//!
//! What nobody has confirmed for long is less sure. Of its confidence half is lost in the long run, and half of that in
//! each year: `confidence * (1 + 2^(-age / 1 year)) / 2`. The age is counted up to the newest record of all, not up to
//! today, so that a repository in which nothing happens forgets nothing.

use std::collections::HashMap;

use jiff::Timestamp;

use super::memory::{Memory, MemoryKind};
use crate::records::{Alike, MAIN};

/// Types of records that are written without anybody's doing.
const FOUND: [&str; 2] = ["pattern", "failure"];
/// What a session that does not say how sure it is counts.
const USUAL: f32 = 0.5;
/// However many say so, nothing is certain that nobody is certain of.
const MOST: f32 = 0.95;
/// By which confidence is lost.
const STEP: f32 = 0.05;
const YEAR_SECONDS: f32 = 365.0 * 24.0 * 3600.0;

/// Leaves one of all that say the same, with the confidence of all together: of what `same` says so, the record that
/// stands for the others (`folded` by `kept`); of what was found in the same words, the newest. Keeps the order.
pub(super) fn merge(items: &mut Vec<Memory>, same: &Alike) {
    let mut alike: HashMap<(String, String), Vec<usize>> = HashMap::new();
    for (at, item) in items
        .iter()
        .enumerate()
        .filter(|(_, item)| item.kind == MemoryKind::Record)
    {
        let kept = same.kept(&item.source);
        let kind = item.record_type.as_deref().filter(|kind| FOUND.contains(kind));
        let key = match kind {
            Some(kind) => (kind.to_owned(), item.text.clone()),
            None => (String::new(), kept.to_owned()),
        };
        alike.entry(key).or_default().push(at);
    }
    let now = items.iter().filter_map(seconds).max();
    let mut is_left_out = vec![false; items.len()];
    let mut sure: Vec<(usize, f32)> = Vec::new();
    for ((kind, _), group) in alike {
        let newest = group.iter().copied().max_by_key(|at| (items[*at].date.clone(), *at));
        let first = group.iter().copied().min_by_key(|at| &items[*at].source);
        let Some(stays) = (if kind.is_empty() { first } else { newest }) else {
            continue;
        };
        let age = newest.and_then(|newest| Some(now? - seconds(&items[newest])?));
        let is_known = group.len() > 1 || items[stays].confidence.is_some();
        if is_known {
            let confidence = together(group.iter().map(|at| &items[*at]));
            let is_main = items[stays].path == MAIN;
            let aged = if is_main { aged(confidence, age) } else { confidence };
            sure.push((stays, aged));
        }
        group
            .into_iter()
            .filter(|at| *at != stays)
            .for_each(|at| is_left_out[at] = true);
    }
    for (at, confidence) in sure {
        items[at].confidence = Some(confidence);
    }
    let mut is_left_out = is_left_out.into_iter();
    items.retain(|_| !is_left_out.next().unwrap_or(false));
}

fn together<'a>(items: impl Iterator<Item = &'a Memory> + Clone) -> f32 {
    let mut by_session: HashMap<Option<&str>, f32> = HashMap::new();
    for item in items {
        let confidence = by_session.entry(item.session.as_deref()).or_default();
        *confidence = confidence.max(item.confidence.unwrap_or(USUAL));
    }
    let surest = by_session.values().copied().fold(0.0, f32::max);
    let doubt: f32 = by_session.values().map(|confidence| 1.0 - confidence).product();
    (1.0 - doubt).min(MOST.max(surest))
}

/// In seconds; nothing is lost where the age is not known. What is lost goes by steps: a memory that is shown with its
/// confidence must not look like another one the next day.
#[expect(clippy::cast_precision_loss, reason = "a second more or less is nothing in a year")]
fn aged(confidence: f32, age: Option<i64>) -> f32 {
    let years = age.map_or(0.0, |age| age.max(0) as f32 / YEAR_SECONDS);
    let left = confidence * (1.0 + (-years).exp2()) / 2.0;
    let steps = ((confidence - left) / STEP).round();
    confidence - steps * STEP
}

fn seconds(item: &Memory) -> Option<i64> {
    let date: Timestamp = item.date.as_deref()?.parse().ok()?;
    Some(date.as_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidence_is_lost_slowly_by_steps_and_never_more_than_half() {
        let year = 365 * 24 * 3600;
        let after = |years: f32| (aged(0.8, Some((years * year as f32) as i64)) * 100.0).round() as i32;
        assert_eq!(
            [after(0.0), after(0.05), after(1.0), after(2.0), after(50.0)],
            [80, 80, 60, 50, 40]
        );
        assert_eq!(aged(0.8, None), 0.8);
    }
}
