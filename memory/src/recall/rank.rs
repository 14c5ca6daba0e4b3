//! The order of memories for a question: three scores, each brought to one scale, added up.
//!
//! Added and not fused by rank: how far the best is above the next is what the scores know, and ranks forget it. The
//! weights were chosen on half of a published set of questions about long conversations, by leaving one conversation out
//! at a time; see `benches/README.md`. They are coarse on purpose: a quarter, and one.

use crate::derived::vectors::{VectorIndex, cosine};
use crate::lexical::{Bm25, DocId};

use super::order::Runs;
use super::words::{Asked, REACH, length_of, saturated, share};

/// What a memory's own words count, beside those of it and its neighbours together, which count one.
const OWN: f32 = 0.25;
/// What the cosine counts.
const NEAR: f32 = 1.0;
/// So many of the best by words, and by vectors, are looked at closely, with their neighbours.
const WIDE: usize = 1_000;

/// What is searched.
pub(super) struct Ranker<'a> {
    pub(super) index: &'a Bm25,
    pub(super) runs: &'a Runs,
    /// Of a memory, and of one with those around it.
    pub(super) mean_lengths: [f32; 2],
    pub(super) vectors: Option<&'a VectorIndex>,
}

/// How well a memory fits a question.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ranked {
    pub(super) doc: DocId,
    /// The sum: comparable within one question only.
    pub(super) score: f32,
    /// Which share of what the question says the memory says too, its rarer words counting for more.
    pub(super) coverage: f32,
}

impl Ranker<'_> {
    /// Scores what is allowed and has anything of a question, in the order of the memories. `near` is the question's
    /// vector.
    pub(super) fn rank(&self, terms: &[String], near: Option<&[f32]>, allowed: &dyn Fn(u32) -> bool) -> Vec<Ranked> {
        let asked: Vec<Asked> = terms
            .iter()
            .map(|term| Asked::new(self.index, self.runs, term))
            .collect();
        let own = self.own(&asked);
        let best = own.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
        let near = near.zip(self.vectors);
        let chosen = self.chosen(&own, near, allowed);
        let around = self.around(&asked, &chosen);
        let best_around = around.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
        let coverage = self.coverage(&asked, &chosen);
        let mut ranked = Vec::with_capacity(chosen.len());
        for (at, doc) in chosen.iter().enumerate().filter(|(_, doc)| allowed(**doc)) {
            let cosine = near.map_or(0.0, |(query, vectors)| cosine_of(vectors, query, *doc));
            let own = own.get(*doc as usize).copied().unwrap_or(0.0);
            ranked.push(Ranked {
                doc: DocId(*doc),
                score: OWN * own / best + around[at] / best_around + NEAR * cosine,
                coverage: coverage[at],
            });
        }
        ranked
    }

    /// BM25 of every memory by its own words.
    fn own(&self, asked: &[Asked]) -> Vec<f32> {
        let mut scores = vec![0.0; self.index.len()];
        for term in asked {
            for (doc, count) in &term.postings {
                if let Some(score) = scores.get_mut(*doc as usize) {
                    let length = length_of(self.index, *doc);
                    *score += term.idf * saturated(*count as f32, length, self.mean_lengths[0]);
                }
            }
        }
        scores
    }

    /// The best by words and by vectors with their neighbours, in order of their numbers.
    fn chosen(&self, own: &[f32], near: Option<(&[f32], &VectorIndex)>, allowed: &dyn Fn(u32) -> bool) -> Vec<u32> {
        let mut best: Vec<(u32, f32)> = (0u32..)
            .zip(own.iter().copied())
            .filter(|(doc, score)| *score > 0.0 && allowed(*doc))
            .collect();
        if best.len() > WIDE {
            best.select_nth_unstable_by(WIDE, |a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            best.truncate(WIDE);
        }
        let mut best: Vec<u32> = best.into_iter().map(|(doc, _)| doc).collect();
        if let Some((query, vectors)) = near {
            best.extend(vectors.nearest(query, WIDE).into_iter().filter(|doc| allowed(*doc)));
        }
        self.widened(&best)
    }

    /// Memories with their neighbours, in order of their numbers, each once.
    fn widened(&self, docs: &[u32]) -> Vec<u32> {
        let around = |doc: &u32| {
            let (first, end) = self.runs.around(*doc, REACH);
            first..end
        };
        let mut all: Vec<u32> = docs.iter().flat_map(around).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// BM25 of some memories, each taken together with what its neighbours say.
    fn around(&self, asked: &[Asked], chosen: &[u32]) -> Vec<f32> {
        let read = self.widened(chosen);
        let mut scores = vec![0.0; chosen.len()];
        // Neighbours stand beside each other in `read`, so a place there and a distance are enough to find one.
        let places: Vec<(usize, u32, u32)> = chosen
            .iter()
            .map(|doc| {
                let (first, end) = self.runs.around(*doc, REACH);
                (read.partition_point(|one| *one < first), first, end)
            })
            .collect();
        let sum = |doc: u32, (place, first, end): (usize, u32, u32), value: &dyn Fn(usize, u32) -> f32| -> f32 {
            let others = (place..).zip(first..end);
            others.map(|(at, other)| share(doc, other) * value(at, other)).sum()
        };
        let length =
            |(doc, place): (&u32, &(usize, u32, u32))| sum(*doc, *place, &|_, other| length_of(self.index, other));
        let lengths: Vec<f32> = chosen.iter().zip(&places).map(length).collect();
        for term in asked {
            let counts = term.counts(&read);
            for (at, (doc, place)) in chosen.iter().zip(&places).enumerate() {
                let count = sum(*doc, *place, &|at, _| counts[at]);
                scores[at] += term.idf_around * saturated(count, lengths[at], self.mean_lengths[1]);
            }
        }
        scores
    }

    fn coverage(&self, asked: &[Asked], chosen: &[u32]) -> Vec<f32> {
        let total: f32 = asked.iter().map(|term| term.idf).sum();
        let mut covered = vec![0.0; chosen.len()];
        for term in asked {
            for (sum, count) in covered.iter_mut().zip(term.counts(chosen)) {
                *sum += if count > 0.0 { term.idf } else { 0.0 };
            }
        }
        covered.iter_mut().for_each(|sum| *sum /= total.max(f32::MIN_POSITIVE));
        covered
    }
}

/// A cosine below zero says no more than zero.
fn cosine_of(vectors: &VectorIndex, query: &[f32], doc: u32) -> f32 {
    vectors.bytes(doc).map_or(0.0, |bytes| cosine(query, bytes).max(0.0))
}
