//! The list of what is like a question in meaning, for questions that have few words to go by.
//!
//! A long text names what it is about over and over, and its own words are the better guide. A short question has one
//! chance to use the word that the code uses. So vectors take part where there is no headline to be told from a story
//! ([`Question::headline`]), and where no path is spelled out that could be opened instead. Identifiers do not exclude
//! them: such questions gain less, and still gain.
//!
//! Likeness is weak evidence with a high floor, since any two texts about code are somewhat alike. So what counts is by
//! how much a chunk is above the last of the candidates, as a share of what the best is above it; and it adds to the
//! scores by words, not to ranks.

use std::collections::HashMap;

use muninn_memory::index::Snapshot;
use muninn_memory::index::lexical::DocId;
use muninn_memory::index::vectors::{ByBlob, Vectors};

use crate::question::Question;

/// What the best file of this list gets, beside 1 for the best by its words.
const WEIGHT: f32 = 0.5;
/// So many chunks are candidates; the likeness of the last of them counts nothing.
const CANDIDATES: usize = 100;

/// Vectors, and which chunks of a snapshot they are.
#[derive(Clone, Copy)]
pub(crate) struct VectorList<'a> {
    pub(crate) vectors: &'a Vectors,
    pub(crate) by_blob: &'a ByBlob,
}

impl VectorList<'_> {
    /// The chunks most like a question, from 1 for the best down to 0; empty for a question that is not for this list,
    /// and where the embedder fails.
    pub(crate) fn near(&self, snapshot: &Snapshot, question: &Question, text: &str) -> Vec<(DocId, f32)> {
        if !is_for_vectors(question) {
            return Vec::new();
        }
        let found = self.vectors.search(text, CANDIDATES).unwrap_or_else(|error| {
            tracing::debug!(%error, "a question has no vector");
            Vec::new()
        });
        let (Some(best), Some(last)) = (found.first(), found.last()) else {
            return Vec::new();
        };
        let (best, floor) = (
            best.score,
            if found.len() < CANDIDATES {
                0.0
            } else {
                last.score.max(0.0)
            },
        );
        let share = |score: f32| (score - floor) / (best - floor).max(f32::EPSILON);
        let docs = found.iter().flat_map(|near| {
            let docs = self.by_blob.docs(snapshot, &near.blob, near.form, near.chunk);
            docs.map(move |doc| (doc, share(near.score)))
        });
        docs.filter(|(_, share)| *share > 0.0).collect()
    }
}

/// Whether a question has few words, and spells nothing out.
fn is_for_vectors(question: &Question) -> bool {
    question.headline.is_none() && question.paths.is_empty()
}

/// What each file gets for its chunk that is most like the question.
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
