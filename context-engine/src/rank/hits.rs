//! Files that earlier sessions worked on for questions like this one.
//!
//! A file that mattered for several is the surer for it; as for independent witnesses, what is multiplied is the doubt
//! that each leaves.

use std::collections::{BTreeSet, HashMap};

use super::{Index, Statistics};
use crate::question::Question;

/// What a file that no doubt is left about gets, as a share of the best file's score.
pub(super) const WEIGHT: f32 = 0.5;
/// A file that has less is not said to be remembered: it would stand where it does without.
pub(super) const TOLD: f32 = 0.05;
/// Questions that have less in common are about something else.
const LEAST: f32 = 0.25;

/// What each file of the snapshot has from questions like this one, from 0 to 1; empty if none has anything.
#[expect(clippy::cast_precision_loss, reason = "a session touches few files")]
pub(super) fn shares(index: Index<'_>, question: &Question) -> Vec<f32> {
    let mut doubts: HashMap<usize, f32> = HashMap::new();
    for (number, likeness) in like(index, question) {
        let Some(hit) = index.hits.get(number) else { continue };
        let each = likeness * hit.relevance / (hit.files.len() as f32).sqrt();
        for (file, _) in hit.files.iter().filter_map(|path| index.snapshot.find(path)) {
            *doubts.entry(file).or_insert(1.0) *= 1.0 - each.clamp(0.0, 1.0);
        }
    }
    if doubts.is_empty() {
        return Vec::new();
    }
    let mut shares = vec![0.0; index.snapshot.file_numbers()];
    for (file, doubt) in doubts {
        shares[file] = 1.0 - doubt;
    }
    shares
}

/// The hits whose questions are like this one, and how like, up to 1: the cosine of their words, weighed by idf. Words that
/// the repository does not have count for neither, for they are not written down with a hit.
fn like(index: Index<'_>, question: &Question) -> Vec<(u32, f32)> {
    let hits = index.hits;
    // A long text has a word of every question; what it is about, its headline says.
    let asked = question.headline.as_deref().unwrap_or(question);
    let inverted = hits.terms().inverted();
    let words: BTreeSet<&str> = asked
        .concepts
        .iter()
        .flat_map(|concept| std::iter::once(&concept.whole).chain(&concept.parts))
        .map(String::as_str)
        .collect();
    let mut shared: HashMap<u32, f32> = HashMap::new();
    let mut square = 0.0;
    for term in words {
        if inverted.frequency(term) == 0 && Statistics::frequency(index.snapshot, term) == 0 {
            continue;
        }
        let weight = hits.weight(term).powi(2);
        square += weight;
        for (hit, _) in inverted.postings(term) {
            *shared.entry(hit.0).or_default() += weight;
        }
    }
    let cosine = |(hit, sum): (u32, f32)| (hit, sum / (hits.norm(hit) * square.sqrt()));
    let mut like: Vec<(u32, f32)> = shared
        .into_iter()
        .map(cosine)
        .filter(|(_, cosine)| *cosine >= LEAST)
        .collect();
    // Products of floats depend on their order.
    like.sort_unstable_by_key(|(hit, _)| *hit);
    like
}
