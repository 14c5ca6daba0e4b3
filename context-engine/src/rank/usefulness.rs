//! The probability that a chunk is useful: that a developer has to read it, or change it, to do what the question asks.
//!
//! A logistic model over the chunk's place among the candidates. Its weights are a regression over the chunks of 66
//! graded prompts on six repositories, see the benchmark `packs`. Cross-validated by prompt, predicted and observed
//! shares agree: of the chunks with a probability of 0.2 to 0.3, 28% are useful, of those with 0.5 to 0.6, 58%.

use std::collections::HashMap;

use muninn_index::Snapshot;
use muninn_text::lexical::DocId;

use super::Candidate;

/// Weight of the file's score, relative to the best file.
const FILE_SCORE: f32 = 1.95;
/// Weight of the logarithm of the file's rank.
const FILE_RANK: f32 = -0.34;
/// Weight of the best file's lead over the second file, relative to its score. It applies to the best file only.
const LEAD: f32 = 1.19;
/// Weight of the logarithm of the chunk's rank among all chunks, by the sum of its relative score and its likeness.
const CHUNK_RANK: f32 = -0.82;
/// Weight of the logarithm of the number of lines.
const LINES: f32 = -0.29;
/// Weight of the probability that the question is about the repository.
const RELEVANCE: f32 = 0.6;
const INTERCEPT: f32 = -1.52;

/// Sets the usefulness of each chunk. `near` holds the chunks with similar vectors, `relevance` is the probability that
/// the question is about the repository.
#[expect(clippy::cast_precision_loss, reason = "at most a few thousand chunks")]
pub(crate) fn rate(snapshot: &Snapshot, candidates: &mut [Candidate], near: &[(DocId, f32)], relevance: f32) {
    let near: HashMap<DocId, f32> = near.iter().copied().collect();
    let chunks = || candidates.iter().flat_map(|candidate| &candidate.chunks);
    let best = chunks().map(|chunk| chunk.score).fold(f32::MIN_POSITIVE, f32::max);
    let strength = |doc: DocId, score: f32| score / best + near.get(&doc).copied().unwrap_or(0.0);
    let mut order: Vec<(f32, DocId)> = chunks().map(|chunk| (strength(chunk.doc, chunk.score), chunk.doc)).collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let ranks: HashMap<DocId, usize> = order.iter().enumerate().map(|(rank, (_, doc))| (*doc, rank)).collect();
    let score = |rank: usize| candidates.get(rank).map_or(0.0, |candidate: &Candidate| candidate.score);
    let highest = score(0).max(f32::MIN_POSITIVE);
    let lead = 1.0 - score(1) / highest;
    for (file_rank, candidate) in candidates.iter_mut().enumerate() {
        let of_file = FILE_SCORE * candidate.score / highest
            + FILE_RANK * (file_rank as f32).ln_1p()
            + if file_rank == 0 { LEAD * lead } else { 0.0 };
        for chunk in &mut candidate.chunks {
            let span = snapshot.span(chunk.doc);
            let rank = ranks.get(&chunk.doc).copied().unwrap_or(order.len());
            let sum = INTERCEPT
                + of_file
                + CHUNK_RANK * (rank as f32).ln_1p()
                + LINES * ((span.last + 1 - span.first) as f32).ln_1p()
                + RELEVANCE * relevance;
            chunk.usefulness = 1.0 / (1.0 + (-sum).exp());
        }
    }
}
