//! Which memories are worth packing for a question.
//!
//! Recall says in which order they come; whether one is about the question at all is for the words of the question to
//! say, for something is always the most like it.

use std::collections::HashMap;

use muninn_memory::index::Snapshot;
use muninn_memory::index::lexical::DocId;
use muninn_memory::recall::BlobLookup;
use muninn_memory::{Memories, RecallOptions, Recalled};
use muninn_repo_tools::RelPath;

use crate::pack::Remembered;
use crate::question::Question;
use crate::rank::{Query, Statistics};

/// The part of a question that a memory must account for. A memory is far less text than a chunk of code.
const LEAST_SHARE: f32 = 0.34;
/// What is left of this for a section about one of the best files: that it is about them speaks for it as well.
const LIFTED: f32 = 0.5;
/// A memory whose score is a smaller part of the best one's is not packed.
const GOOD: f32 = 0.5;
/// So many memories are looked at; fewer are packed.
const LOOKED_AT: usize = 50;

/// Memories that account for enough of the question, best first. Of a section that is about one of the `best` files less
/// is asked.
pub(crate) fn recalled<'a>(
    (memories, snapshot): (&Memories, Option<&Snapshot>),
    (question, text): (&Question, &str),
    threshold: f32,
    best: &[&'a RelPath],
) -> Vec<Remembered<'a>> {
    let blob_of =
        snapshot.map(|snapshot| move |path: &RelPath| snapshot.find(path).map(|(_, file)| file.facts.blob.to_string()));
    let found = memories.recall(
        text,
        &RecallOptions {
            keep: LOOKED_AT,
            blob_of: blob_of.as_ref().map(|blob_of| blob_of as BlobLookup<'_>),
            ..RecallOptions::default()
        },
    );
    let query = Query::new(question, memories);
    let concepts = concepts(memories, &query, &found);
    let total: f32 = query.weights.iter().sum();
    let least = total * LEAST_SHARE.max(threshold * 0.8);
    let highest = found.first().map_or(0.0, |best| best.rank_score);
    let about = |doc: DocId| {
        let memory = memories.get(doc)?;
        best.iter().copied().find(|path| memories.applies_to(memory, path))
    };
    let fitting = found.into_iter().filter_map(|recalled| {
        let mask = concepts.get(&recalled.doc).copied().unwrap_or(0);
        let enough = mask.count_ones() >= 2 || question.concepts.len() == 1;
        let fits = enough && query.weigh(mask) >= least && recalled.rank_score >= GOOD * highest;
        let lifted = || about(recalled.doc).filter(|_| query.weigh(mask) >= LIFTED * least);
        let about = if fits { None } else { Some(lifted()?) };
        Some(Remembered {
            doc: recalled.doc,
            score: recalled.rank_score,
            concepts: mask,
            about,
            stale: recalled.stale,
            opponent: None,
        })
    });
    with_opponents(memories, fitting.collect())
}

/// Puts what is contested and what contradicts it together, where the better of the two stands: one side of a conflict is
/// never told without the other.
fn with_opponents<'a>(memories: &Memories, mut fitting: Vec<Remembered<'a>>) -> Vec<Remembered<'a>> {
    let mut paired: Vec<Remembered<'a>> = Vec::with_capacity(fitting.len());
    while !fitting.is_empty() {
        let mut best = fitting.remove(0);
        if let Some(doc) = memories.get(best.doc).and_then(|memory| memories.opponent(memory)) {
            let found = fitting.iter().position(|other| other.doc == doc);
            let opponent = found.map(|at| fitting.remove(at)).unwrap_or(Remembered {
                doc,
                score: best.score,
                concepts: 0,
                about: None,
                stale: false,
                opponent: None,
            });
            best.opponent = Some(Box::new(opponent));
        }
        paired.push(best);
    }
    paired
}

/// Which of the question's concepts each of some memories has.
fn concepts(memories: &Memories, query: &Query, found: &[Recalled]) -> HashMap<DocId, u64> {
    let inverted = memories.index().inverted();
    let mut concepts: HashMap<DocId, u64> = found.iter().map(|recalled| (recalled.doc, 0)).collect();
    for probe in query.probes.iter().filter(|probe| probe.covers) {
        for (doc, _) in inverted.postings(&probe.term) {
            if let Some(mask) = concepts.get_mut(&doc) {
                *mask |= 1 << probe.concept;
            }
        }
    }
    concepts
}

impl Statistics for Memories {
    fn frequency(&self, term: &str) -> u32 {
        self.index().inverted().frequency(term)
    }

    /// A handful of memories says nothing about how common a word is.
    fn documents(&self) -> usize {
        self.index().len().max(20)
    }
}
