//! Lifting files of commits whose messages are similar to the question.
//!
//! A commit message names the purpose of a change in words that the changed files need not contain. Messages are good
//! at finding candidates and poor at ranking them: a file once changed for a similar reason is seldom the one to change
//! now.

use muninn_index::FileRole;
use muninn_text::lexical::{DocId, idf, saturation};

use super::{Index, PART_WEIGHT};
use crate::question::Question;

/// Lift of the best file by messages, as a share of the best file's score.
pub(super) const WEIGHT: f32 = 0.2;
/// Maximum number of messages.
const MESSAGES: usize = 30;

/// Returns each file's share from similar messages, 1 for the best; empty if no file has one. The score of a commit is
/// divided by the square root of the number of source files that it changed.
#[expect(clippy::cast_precision_loss, reason = "at most thirty files")]
pub(super) fn shares(index: Index<'_>, question: &Question) -> Vec<f32> {
    let mut shares = Vec::new();
    for (commit, score) in best(index, question) {
        let is_source = |file: &usize| index.snapshot.file(*file).role == FileRole::Source;
        let sources: Vec<usize> = index.companions.changed_by(commit).filter(is_source).collect();
        for file in &sources {
            shares.resize(index.snapshot.file_numbers(), 0.0f32);
            shares[*file] += score / (sources.len() as f32).sqrt();
        }
    }
    let best = shares.iter().copied().fold(0.0, f32::max);
    shares.iter_mut().for_each(|share| *share /= best.max(f32::MIN_POSITIVE));
    shares
}

/// Returns the most similar messages by BM25, with their scores.
#[expect(clippy::cast_precision_loss, reason = "counts and lengths are far below 2^24")]
fn best(index: Index<'_>, question: &Question) -> Vec<(DocId, f32)> {
    let messages = index.companions.co_change().messages();
    let lengths = messages.lengths();
    let average = lengths.iter().sum::<u32>() as f32 / lengths.len().max(1) as f32;
    let mut scores = vec![0.0f32; lengths.len()];
    let mut add = |term: &str, weight: f32| {
        let idf = idf(messages.inverted().frequency(term), lengths.len());
        for (commit, _) in messages.inverted().postings(term) {
            let at = commit.0 as usize;
            scores[at] += weight * idf * saturation(1.0, lengths[at] as f32, average);
        }
    };
    // All words count, not only those of files, because messages contribute the words that files lack.
    for concept in &question.concepts {
        add(&concept.whole, concept.weight);
        concept.parts.iter().for_each(|part| add(part, PART_WEIGHT * concept.weight));
    }
    let found = (0u32..).map(DocId).zip(scores).filter(|(_, score)| *score > 0.0);
    let mut found: Vec<(DocId, f32)> = found.collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    found.truncate(MESSAGES);
    found
}
