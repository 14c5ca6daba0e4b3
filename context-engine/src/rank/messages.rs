//! Files that commits changed whose messages are like the question.
//!
//! A message says in the words of people what a change was for, and the changed files need not hold any of them. It is a
//! good source of candidates and a poor one of order: what was once changed for a like reason is seldom exactly what has
//! to be changed now.

use muninn_memory::index::FileRole;
use muninn_memory::index::lexical::{DocId, idf, saturation};

use super::{Index, PART_WEIGHT};
use crate::question::Question;

/// What the files of the best messages get, as a share of the best file's score.
pub(super) const WEIGHT: f32 = 0.2;
/// So many messages count.
const MESSAGES: usize = 30;

/// What each file of the snapshot has from messages like the question, 1 for the best; empty if none has anything. A
/// commit's score is shared among the sources that it changed, by the root of their number.
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
    shares
        .iter_mut()
        .for_each(|share| *share /= best.max(f32::MIN_POSITIVE));
    shares
}

/// The messages that are most like the question, by BM25, with their scores.
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
    // Not the words that the files know: what only messages say is what they are asked for.
    for concept in &question.concepts {
        add(&concept.whole, concept.weight);
        concept
            .parts
            .iter()
            .for_each(|part| add(part, PART_WEIGHT * concept.weight));
    }
    let found = (0u32..).map(DocId).zip(scores).filter(|(_, score)| *score > 0.0);
    let mut found: Vec<(DocId, f32)> = found.collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    found.truncate(MESSAGES);
    found
}
