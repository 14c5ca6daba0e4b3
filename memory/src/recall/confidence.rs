//! How sure a memory is: by how many found it out, and how long ago.
//!
//! A pattern or a failure is written down by each session that comes upon it, in the same words; a learning is told again
//! in others, as a pattern may be, and reconciling finds that it is the same. Recalled one by one these would crowd out all
//! else, so one stands for all. Sessions are independent witnesses: that none of those who say so is right is as probable as that each
//! of them is wrong, `1 - confidence = product of (1 - confidence of a session)`. What one session says often counts once.
//!
//! What nobody has confirmed for long is less sure. Of its confidence half is lost in the long run, and half of that in
//! each year: `confidence * (1 + 2^(-age / 1 year)) / 2`. The age is counted up to the newest record of all, not up to
//! today, so that a repository in which nothing happens forgets nothing.

use std::collections::{HashMap, HashSet};

use crate::memories::{Memory, MemoryKind};
use crate::records::RecordStatus;

/// Types of records that are written without anybody's doing.
const FOUND: [&str; 2] = ["pattern", "failure"];
/// What a session that does not say how sure it is counts.
const USUAL: f32 = 0.5;
/// However many say so, nothing is certain that nobody is certain of.
const MOST: f32 = 0.95;
/// By which confidence is lost.
const STEP: f32 = 0.05;
const YEAR_SECONDS: f32 = 365.0 * 24.0 * 3600.0;

/// Leaves one of all that say the same, with the confidence of all together: of learnings, the record that stands for the
/// others (`folded` by `kept`); of what sessions found without anybody's doing, the newest, since its files are the least
/// likely to have changed. Keeps the order. Returns what `main`, a file as it is shown, has something of, as the records that stand for it.
pub(super) fn merge(items: &mut Vec<Memory>, status: &RecordStatus, main: &str) -> HashSet<String> {
    let mut alike: HashMap<(&str, String), Vec<usize>> = HashMap::new();
    for (at, item) in items
        .iter()
        .enumerate()
        .filter(|(_, item)| item.kind == MemoryKind::Record)
    {
        let kept = status.kept(&item.source);
        let key = match item.record_type.as_deref() {
            Some("failure") => ("failure", item.text.clone()),
            _ => ("", kept.to_owned()),
        };
        alike.entry(key).or_default().push(at);
    }
    let mut of_main = HashSet::new();
    let now = items.iter().filter_map(seconds).max();
    let mut is_left_out = vec![false; items.len()];
    let mut sure: Vec<(usize, f32)> = Vec::new();
    for ((kind, kept), group) in alike {
        let newest = group.iter().copied().max_by_key(|at| (&items[*at].date, *at));
        // The one that stands for all may be superseded, or in the archive.
        let first = group.iter().copied().min_by_key(|at| &items[*at].source);
        let is_found = group.iter().any(|at| was_found(&items[*at]));
        let Some(stays) = (if is_found { newest } else { first }) else {
            continue;
        };
        if kind.is_empty() && group.iter().any(|at| items[*at].path == main) {
            of_main.insert(kept);
        }
        let age = newest.and_then(|newest| Some(now? - seconds(&items[newest])?));
        let is_known = group.len() > 1 || items[stays].confidence.is_some();
        if is_known {
            let confidence = together(
                group
                    .iter()
                    .map(|at| (items[*at].session.as_deref(), items[*at].confidence)),
            );
            let is_main = items[stays].path == main;
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
    of_main
}

fn was_found(item: &Memory) -> bool {
    item.record_type.as_deref().is_some_and(|kind| FOUND.contains(&kind))
}

/// How sure several are together who say the same, each with its session and how sure it is itself.
pub(crate) fn together<'a>(witnesses: impl Iterator<Item = (Option<&'a str>, Option<f32>)>) -> f32 {
    let mut by_session: HashMap<Option<&str>, f32> = HashMap::new();
    for (session, sure) in witnesses {
        let confidence = by_session.entry(session).or_default();
        *confidence = confidence.max(sure.unwrap_or(USUAL));
    }
    let surest = by_session.values().copied().fold(0.0, f32::max);
    let doubt: f32 = by_session.values().map(|confidence| 1.0 - confidence).product();
    (1.0 - doubt).min(MOST.max(surest))
}

/// What share of a confidence is left after so many seconds.
#[expect(clippy::cast_precision_loss, reason = "a second more or less is nothing in a year")]
pub(crate) fn left_after(seconds: i64) -> f32 {
    let years = seconds.max(0) as f32 / YEAR_SECONDS;
    (1.0 + (-years).exp2()) / 2.0
}

/// In seconds; nothing is lost where the age is not known. What is lost goes by steps: a memory that is shown with its
/// confidence must not look like another one the next day.
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
