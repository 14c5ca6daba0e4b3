//! What several sessions found out by themselves is one memory, and a surer one.
//!
//! A pattern or a failure is written down by each session that comes upon it, in the same words. Recalled one by one they
//! would crowd out all else. Sessions are independent witnesses: that none of those who say so is right is as probable as
//! that each of them is wrong, `1 - confidence = product of (1 - confidence of a session)`. What one session says often
//! counts once.

use std::collections::HashMap;

use super::memory::Memory;

/// Types of records that are written without anybody's doing.
const FOUND: [&str; 2] = ["pattern", "failure"];
/// What a session that does not say how sure it is counts.
const USUAL: f32 = 0.5;
/// However many say so, nothing of this kind is certain.
const MOST: f32 = 0.95;

/// Leaves of what is said alike the newest, with the confidence of all together. Keeps the order.
pub(super) fn merge(items: &mut Vec<Memory>) {
    let mut said: HashMap<(String, String), Vec<usize>> = HashMap::new();
    for (at, item) in items.iter().enumerate() {
        let kind = item.record_type.as_deref().filter(|kind| FOUND.contains(kind));
        if let Some(kind) = kind {
            said.entry((kind.to_owned(), item.text.clone())).or_default().push(at);
        }
    }
    let mut is_older = vec![false; items.len()];
    for alike in said.into_values().filter(|alike| alike.len() > 1) {
        let confidence = together(alike.iter().filter_map(|at| items.get(*at)));
        let Some(newest) = alike.iter().copied().max_by_key(|at| (items[*at].date.clone(), *at)) else {
            continue;
        };
        items[newest].confidence = Some(confidence);
        for at in alike {
            is_older[at] = at != newest;
        }
    }
    let mut is_older = is_older.into_iter();
    items.retain(|_| !is_older.next().unwrap_or(false));
}

fn together<'a>(items: impl Iterator<Item = &'a Memory>) -> f32 {
    let mut by_session: HashMap<Option<&str>, f32> = HashMap::new();
    for item in items {
        let confidence = by_session.entry(item.session.as_deref()).or_default();
        *confidence = confidence.max(item.confidence.unwrap_or(USUAL));
    }
    let doubt: f32 = by_session.values().map(|confidence| 1.0 - confidence).product();
    (1.0 - doubt).min(MOST)
}
