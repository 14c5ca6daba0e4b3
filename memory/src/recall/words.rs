//! What memories and questions about them say, word by word.
//!
//! Statistics of two kinds: how telling it is that a memory has a word itself, and that it stands anywhere around it.
//! Both are BM25 over the same postings. A word that nearly every session has somewhere, as the name of somebody who
//! takes part in it, tells little the second way, though it may tell much the first.

use crate::lexical::{Bm25, Bm25Builder, Tokenizer, counted, idf, is_stop_word, words};

use super::memory::Memory;
use super::order::Runs;

/// The neighbours on each side whose words count.
pub(super) const REACH: u32 = 3;
/// The share with which a word counts that stands so many memories away: each step is worth 0.7 of the one before.
const SHARES: [f32; REACH as usize + 1] = [1.0, 0.7, 0.49, 0.343];
/// Saturation and length of BM25 as they are usual for passages of a few sentences (Anserini's defaults). The values for
/// whole documents discount repetition too little and length too much here.
const K1: f32 = 0.9;
const B: f32 = 0.4;

/// The terms of a text that say something, each with how often. Code and prose share them; see [`crate::lexical`].
pub(super) fn terms(tokenizer: &mut Tokenizer, text: &str) -> Vec<(String, u32)> {
    let mut kept = String::with_capacity(text.len());
    let mut end = 0;
    for word in words(text) {
        // What stands between two words stays, so that a hyphen still joins them.
        kept.push_str(&text[end..word.start]);
        end = word.start + word.text.len();
        if !is_stop_word(&word.text.to_lowercase()) {
            kept.push_str(word.text);
        }
    }
    counted(tokenizer, &kept)
}

/// The index over titles and texts, in the order of the memories.
pub(super) fn index(items: &[Memory]) -> Bm25 {
    let mut tokenizer = Tokenizer::new();
    let mut index = Bm25Builder::default();
    for item in items {
        let said = terms(&mut tokenizer, &format!("{}\n{}", item.title, item.text));
        index.add(said.iter().map(|(term, count)| (term.as_str(), *count)));
    }
    index.finish()
}

/// The mean length of a memory, and of one with those around it, in terms.
pub(super) fn mean_lengths(index: &Bm25, runs: &Runs) -> [f32; 2] {
    let mut sums = [0.0f64; 2];
    for (doc, length) in (0u32..).zip(index.lengths()) {
        let (first, end) = runs.around(doc, REACH);
        let around: f32 = (first..end)
            .map(|other| share(doc, other) * length_of(index, other))
            .sum();
        sums[0] += f64::from(*length);
        sums[1] += f64::from(around);
    }
    sums.map(|sum| (sum / index.len().max(1) as f64).max(1.0) as f32)
}

pub(super) fn length_of(index: &Bm25, doc: u32) -> f32 {
    index.lengths().get(doc as usize).map_or(0.0, |length| *length as f32)
}

/// How much of what another memory says counts for this one.
pub(super) fn share(doc: u32, other: u32) -> f32 {
    SHARES.get(doc.abs_diff(other) as usize).copied().unwrap_or(0.0)
}

/// A term's count in a text, saturated and with the text's length discounted, as BM25 has it.
pub(super) fn saturated(count: f32, length: f32, mean: f32) -> f32 {
    count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * length / mean))
}

/// A word of a question, and where it stands.
pub(super) struct Asked {
    /// Which memories have it, and how often each.
    pub(super) postings: Vec<(u32, u32)>,
    /// How telling it is in a memory.
    pub(super) idf: f32,
    /// How telling it is around one.
    pub(super) idf_around: f32,
}

impl Asked {
    /// Looks a term up.
    pub(super) fn new(index: &Bm25, runs: &Runs, term: &str) -> Self {
        let postings: Vec<(u32, u32)> = index.inverted().postings(term).map(|(doc, n)| (doc.0, n)).collect();
        let mut around = 0;
        let mut behind = 0;
        for (doc, _) in &postings {
            let (first, end) = runs.around(*doc, REACH);
            around += end.saturating_sub(first.max(behind));
            behind = behind.max(end);
        }
        Self {
            idf: idf(u32::try_from(postings.len()).unwrap_or(u32::MAX), index.len()),
            idf_around: idf(around, index.len()),
            postings,
        }
    }

    /// How often each of some memories, in order of their numbers, has it.
    pub(super) fn counts(&self, docs: &[u32]) -> Vec<f32> {
        let mut rest = self.postings.as_slice();
        let count = |doc: &u32| {
            rest = &rest[gallop(rest, *doc)..];
            match rest.first() {
                Some((found, count)) if found == doc => *count as f32,
                _ => 0.0,
            }
        };
        docs.iter().map(count).collect()
    }
}

/// The first place whose number is not below `doc`, which is near where the search begins.
fn gallop(postings: &[(u32, u32)], doc: u32) -> usize {
    let mut step = 1;
    while step < postings.len() && postings[step].0 < doc {
        step *= 2;
    }
    let (from, to) = (step / 2, (step + 1).min(postings.len()));
    from + postings[from..to].partition_point(|(found, _)| *found < doc)
}
