//! Lifting files that earlier sessions used for similar questions.
//!
//! Several hits for a file add up like independent evidence: the remaining doubts are multiplied.

use std::collections::{BTreeSet, HashMap};

use super::{Index, Statistics};
use crate::question::Question;

/// Lift of a file without remaining doubt, as a share of the best file's score.
pub(super) const WEIGHT: f32 = 0.5;
/// Minimum share for naming the hits as a reason; a smaller one does not change the rank.
pub(super) const MIN_REPORTED_SHARE: f32 = 0.05;
/// Minimum similarity of two questions.
const MIN_SIMILARITY: f32 = 0.25;

/// Returns each file's share from similar questions, from 0 to 1; empty if no file has one.
#[expect(clippy::cast_precision_loss, reason = "a session touches few files")]
pub(super) fn shares(index: Index<'_>, question: &Question) -> Vec<f32> {
    let mut doubts: HashMap<usize, f32> = HashMap::new();
    for (number, similarity) in similar(index, question) {
        let Some(hit) = index.hits.get(number) else { continue };
        let each = similarity * hit.relevance / (hit.files.len() as f32).sqrt();
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

/// Returns the hits with similar questions, and their similarity up to 1: the cosine of their words, weighted by idf.
/// Words that the repository does not contain are ignored, because hits do not store them.
fn similar(index: Index<'_>, question: &Question) -> Vec<(u32, f32)> {
    let hits = index.hits;
    // A long text shares a word with every question. The headline names its topic.
    let topic = question.headline.as_deref().unwrap_or(question);
    let inverted = hits.terms().inverted();
    let words: BTreeSet<&str> = topic
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
    let mut similar: Vec<(u32, f32)> =
        shared.into_iter().map(cosine).filter(|(_, cosine)| *cosine >= MIN_SIMILARITY).collect();
    // A fixed order, because products of floats depend on it.
    similar.sort_unstable_by_key(|(hit, _)| *hit);
    similar
}
