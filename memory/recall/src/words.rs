//! Term statistics of memories and questions.
//!
//! There are two statistics: how specific a term is to a memory, and how specific it is to a memory with its
//! neighbours. Both are BM25 over the same postings. A term that occurs in nearly every session, such as a
//! participant's name, can be specific by the first statistic although it is unspecific by the second.

use std::cmp::Ordering;

use muninn_team::memories::Memory;
use muninn_text::lexical::{Bm25, Bm25Builder, Tokenizer, content_terms, idf};

use super::order::NeighbourRuns;

/// Number of neighbours on each side whose words count.
pub(super) const REACH: u32 = 3;
/// Weight of a word by its distance in memories: each step multiplies it by 0.7.
const SHARES: [f32; REACH as usize + 1] = [1.0, 0.7, 0.49, 0.343];
/// BM25 parameters for passages of a few sentences (Anserini's defaults). The values for whole documents discount
/// repetition too little and length too much here.
const K1: f32 = 0.9;
const B: f32 = 0.4;

/// The index over titles, texts and related texts, in memory order.
pub(super) fn index(items: &[Memory]) -> Bm25 {
    let mut tokenizer = Tokenizer::new();
    let mut index = Bm25Builder::default();
    for item in items {
        let item_terms = content_terms(&mut tokenizer, &format!("{}\n{}", item.title, item.searched_text()));
        index.add(item_terms.iter().map(|(term, count)| (term.as_str(), *count)));
    }
    index.finish()
}

/// Mean length of a memory, and of a memory with its neighbours, in terms.
pub(super) fn mean_lengths(index: &Bm25, runs: &NeighbourRuns) -> [f32; 2] {
    let mut sums = [0.0f64; 2];
    for (doc, length) in (0u32..).zip(index.lengths()) {
        sums[0] += f64::from(*length);
        sums[1] += f64::from(length_around(index, runs, doc));
    }
    sums.map(|sum| (sum / index.len().max(1) as f64).max(1.0) as f32)
}

pub(super) fn length_of(index: &Bm25, doc: u32) -> f32 {
    index.lengths().get(doc as usize).map_or(0.0, |length| *length as f32)
}

/// The length of a memory with its neighbours.
pub(super) fn length_around(index: &Bm25, runs: &NeighbourRuns, doc: u32) -> f32 {
    let (first, end) = runs.around(doc, REACH);
    let lengths = (first..end).map(|other| share(doc, other) * length_of(index, other));
    lengths.sum()
}

/// The weight of another memory's words for this one.
pub(super) fn share(doc: u32, other: u32) -> f32 {
    SHARES.get(doc.abs_diff(other) as usize).copied().unwrap_or(0.0)
}

/// A term's count, saturated and discounted by length, as in BM25.
pub(super) fn saturated(count: f32, length: f32, mean: f32) -> f32 {
    count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * length / mean))
}

/// A term of a question with its postings.
pub(super) struct QueryTerm {
    /// Memories that contain it, with counts.
    pub(super) postings: Vec<(u32, u32)>,
    /// Inverse document frequency in memories.
    pub(super) idf: f32,
    /// Inverse document frequency in memories with neighbours.
    pub(super) idf_around: f32,
}

impl QueryTerm {
    /// Looks up a term.
    pub(super) fn new(index: &Bm25, runs: &NeighbourRuns, term: &str) -> Self {
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

    /// Finds sorted memories that contain the term: the position of each, and its count.
    pub(super) fn among(&self, docs: &[u32]) -> Vec<(usize, f32)> {
        let mut found = Vec::new();
        let (mut at, mut rest) = (0, self.postings.as_slice());
        while let (Some(doc), Some((next, count))) = (docs.get(at), rest.first()) {
            match doc.cmp(next) {
                Ordering::Less => at += gallop(&docs[at..], |doc| doc < next),
                Ordering::Greater => rest = &rest[gallop(rest, |(next, _)| next < doc)..],
                Ordering::Equal => {
                    found.push((at, *count as f32));
                    at += 1;
                }
            }
        }
        found
    }
}

/// The length of a sorted list's prefix that is `below`, by galloping search from the start.
fn gallop<T>(list: &[T], below: impl Fn(&T) -> bool) -> usize {
    let mut step = 1;
    while step < list.len() && below(&list[step]) {
        step *= 2;
    }
    let (from, to) = (step / 2, (step + 1).min(list.len()));
    from + list[from..to].partition_point(below)
}

#[cfg(test)]
mod tests {
    use proptest::collection::btree_set;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        /// A galloping search finds the same position as a linear search.
        #[test]
        fn galloping_equals_linear_search(
            docs in btree_set(0u32..60, 0..40),
            having in btree_set(0u32..60, 0..40),
        ) {
            let docs: Vec<u32> = docs.into_iter().collect();
            let postings = having.iter().map(|doc| (*doc, doc + 1)).collect();
            let term = QueryTerm { postings, idf: 0.0, idf_around: 0.0 };
            let expected = docs.iter().enumerate().filter(|(_, doc)| having.contains(doc));
            let expected: Vec<(usize, f32)> = expected.map(|(at, doc)| (at, (doc + 1) as f32)).collect();
            prop_assert_eq!(term.among(&docs), expected);
        }
    }
}
