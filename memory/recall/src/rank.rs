//! Ranks memories for a question by the sum of three normalised scores.
//!
//! Scores are added and not fused by rank, because ranks lose the distance between the best and the next result. The
//! weights were chosen on half of a published set of questions about long conversations, by leave-one-conversation-out;
//! see `benches/README.md`. They are deliberately coarse.

use muninn_text::lexical::{Bm25, DocId};

use super::order::NeighbourRuns;
use super::rows::Rows;
use super::words::{QueryTerm, REACH, length_around, length_of, saturated, share};

/// Weight of a memory's own words; the words of it and its neighbours have weight 1.
const OWN: f32 = 0.25;
/// Weight of the cosine similarity.
const NEAR: f32 = 1.0;
/// Number of candidates by words, and by vectors, that are scored with their neighbours.
const WIDE: usize = 1_000;

/// The data that is searched.
pub(super) struct Ranker<'a> {
    pub(super) index: &'a Bm25,
    pub(super) runs: &'a NeighbourRuns,
    /// Mean length of a memory, and of a memory with its neighbours.
    pub(super) mean_lengths: [f32; 2],
    pub(super) vectors: Option<&'a Rows>,
}

/// The scores of a memory for a question.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ranked {
    pub(super) doc: DocId,
    /// The sum of scores, comparable within one question only.
    pub(super) score: f32,
    /// The share of the question's words that the memory contains, weighted by rarity.
    pub(super) coverage: f32,
    /// The cosine similarity to the question, from 0 to 1; 0 without vectors.
    pub(super) cosine: f32,
    /// The cosine similarity to the nearest question that the memory answers, from 0 to 1; 0 without one.
    pub(super) asked: f32,
}

impl Ranker<'_> {
    /// Scores allowed memories that match, in order of their numbers. `near` is the question's vector.
    pub(super) fn rank(&self, terms: &[String], near: Option<&[f32]>, allowed: &dyn Fn(u32) -> bool) -> Vec<Ranked> {
        let query: Vec<QueryTerm> = terms.iter().map(|term| QueryTerm::new(self.index, self.runs, term)).collect();
        let own = self.own(&query);
        let best = own.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
        let near = near.zip(self.vectors);
        let chosen = self.chosen(&own, near, allowed);
        let context_scores = self.context_scores(&query, &chosen);
        let best_around =
            context_scores.iter().map(|context_scores| context_scores.around).fold(f32::MIN_POSITIVE, f32::max);
        let ranked = chosen.iter().zip(context_scores).filter(|(doc, _)| allowed(**doc));
        let mut ranked: Vec<Ranked> = ranked
            .map(|(doc, context_scores)| Ranked {
                doc: DocId(*doc),
                score: OWN * own.get(*doc as usize).copied().unwrap_or(0.0) / best
                    + context_scores.around / best_around,
                coverage: context_scores.coverage,
                cosine: 0.0,
                asked: 0.0,
            })
            .collect();
        if let Some((query, vectors)) = near {
            let cosines = vectors.cosines(query, ranked.iter().map(|ranked| ranked.doc.0));
            for (ranked, [cosine, asked]) in ranked.iter_mut().zip(cosines) {
                (ranked.cosine, ranked.asked) = (cosine, asked);
                ranked.score += NEAR * cosine.max(asked);
            }
        }
        ranked
    }

    /// BM25 scores of every memory by its own words.
    fn own(&self, query: &[QueryTerm]) -> Vec<f32> {
        let mut scores = vec![0.0; self.index.len()];
        for term in query {
            for (doc, count) in &term.postings {
                if let Some(score) = scores.get_mut(*doc as usize) {
                    let length = length_of(self.index, *doc);
                    *score += term.idf * saturated(*count as f32, length, self.mean_lengths[0]);
                }
            }
        }
        scores
    }

    /// The best candidates by words and by vectors, with their neighbours, in order of their numbers.
    fn chosen(&self, own: &[f32], near: Option<(&[f32], &Rows)>, allowed: &dyn Fn(u32) -> bool) -> Vec<u32> {
        let mut best: Vec<(u32, f32)> =
            (0u32..).zip(own.iter().copied()).filter(|(doc, score)| *score > 0.0 && allowed(*doc)).collect();
        if best.len() > WIDE {
            best.select_nth_unstable_by(WIDE, |a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            best.truncate(WIDE);
        }
        let mut best: Vec<u32> = best.into_iter().map(|(doc, _)| doc).collect();
        if let Some((query, vectors)) = near {
            best.extend(vectors.nearest(query, WIDE, allowed));
        }
        best.sort_unstable();
        self.widened(&best)
    }

    /// Adds the neighbours of sorted memories: sorted, each once.
    fn widened(&self, docs: &[u32]) -> Vec<u32> {
        let mut all = Vec::new();
        let mut behind = 0;
        for doc in docs {
            let (first, end) = self.runs.around(*doc, REACH);
            all.extend(behind.max(first)..end);
            behind = end;
        }
        all
    }

    /// Scores memories in the context of their neighbours.
    fn context_scores(&self, query: &[QueryTerm], chosen: &[u32]) -> Vec<ContextScore> {
        let read = self.widened(chosen);
        let mut all = vec![ContextScore::default(); read.len()];
        let lengths: Vec<f32> = read.iter().map(|doc| length_around(self.index, self.runs, *doc)).collect();
        let mut counts = vec![0.0f32; read.len()];
        let total: f32 = query.iter().map(|term| term.idf).sum();
        for term in query {
            for (at, count) in term.among(&read) {
                all[at].coverage += term.idf / total.max(f32::MIN_POSITIVE);
                let (first, end) = self.runs.around(read[at], REACH);
                // Memories in `chosen` have all their neighbours in `read`; the counts of the others are not used.
                let from = at.saturating_sub((read[at] - first) as usize);
                let to = read.len().min(at + (end - read[at]) as usize);
                for (other, sum) in read[from..to].iter().zip(&mut counts[from..to]) {
                    *sum += share(read[at], *other) * count;
                }
            }
            for ((context_scores, count), length) in all.iter_mut().zip(&mut counts).zip(&lengths) {
                if *count > 0.0 {
                    context_scores.around += term.idf_around * saturated(*count, *length, self.mean_lengths[1]);
                    *count = 0.0;
                }
            }
        }
        let mut chosen = chosen.iter().peekable();
        let mut is_chosen = read.iter().map(|doc| chosen.next_if_eq(&doc).is_some());
        all.retain(|_| is_chosen.next().unwrap_or(false));
        all
    }
}

/// The scores of a memory in its context.
#[derive(Debug, Clone, Copy, Default)]
struct ContextScore {
    /// BM25 of the memory together with its neighbours.
    around: f32,
    /// See [`Ranked::coverage`].
    coverage: f32,
}
