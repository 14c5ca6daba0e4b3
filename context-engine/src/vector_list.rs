//! The list of chunks with vectors similar to a short question.
//!
//! A long text repeats its topic, and its words are better evidence than vectors. A short question can lack the word
//! that the code uses. So vectors are used for questions without a headline ([`Question::headline`]) and without a
//! named path. Vectors improve questions with identifiers less than other questions, but still improve them.
//!
//! Similarity is weak evidence with a high minimum, because any two texts about code are somewhat similar. So the value
//! of a chunk is its distance to the last candidate, relative to the distance of the best candidate. The values are
//! added to lexical scores and not to ranks.

use std::collections::HashMap;

use muninn_index::Snapshot;
use muninn_index::vectors::{ByBlob, Vectors};
use muninn_text::lexical::DocId;

use crate::question::Question;

/// Weight of the best file of this list. The best lexical file has the weight 1.
const WEIGHT: f32 = 0.5;
/// Number of candidate chunks. The last candidate has the value zero.
const CANDIDATES: usize = 100;

/// Vectors with their mapping to the chunks of a snapshot.
#[derive(Clone, Copy)]
pub(crate) struct VectorList<'a> {
    pub(crate) vectors: &'a Vectors,
    pub(crate) by_blob: &'a ByBlob,
}

impl VectorList<'_> {
    /// Returns the most similar chunks with values from 1 for the best down to 0. The result is empty if the question
    /// is not suited for vectors, or if the embedder fails.
    pub(crate) fn near(&self, snapshot: &Snapshot, question: &Question, text: &str) -> Vec<(DocId, f32)> {
        if !is_for_vectors(question) {
            return Vec::new();
        }
        let found = self.vectors.search(text, CANDIDATES).unwrap_or_else(|error| {
            tracing::debug!(%error, "cannot embed the question");
            Vec::new()
        });
        let (Some(best), Some(last)) = (found.first(), found.last()) else {
            return Vec::new();
        };
        let (best, floor) = (best.score, if found.len() < CANDIDATES { 0.0 } else { last.score.max(0.0) });
        let share = |score: f32| (score - floor) / (best - floor).max(f32::EPSILON);
        let docs = found.iter().flat_map(|near| {
            let docs = self.by_blob.docs(snapshot, &near.blob, near.form, near.chunk);
            docs.map(move |doc| (doc, share(near.score)))
        });
        docs.filter(|(_, share)| *share > 0.0).collect()
    }
}

/// Returns whether a question is short and names no path.
fn is_for_vectors(question: &Question) -> bool {
    question.headline.is_none() && question.paths.is_empty()
}

/// Returns the score of each file from its most similar chunk.
pub(crate) fn file_scores(
    snapshot: &Snapshot,
    near: &[(DocId, f32)],
    demotion: impl Fn(DocId) -> f32,
) -> HashMap<usize, f32> {
    let mut files: HashMap<usize, f32> = HashMap::new();
    for (doc, share) in near {
        let share = share * demotion(*doc);
        let best = files.entry(snapshot.file_of(*doc)).or_default();
        *best = best.max(WEIGHT * share);
    }
    files
}
