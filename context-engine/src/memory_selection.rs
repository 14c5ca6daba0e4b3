//! Selecting the memories to pack for a question.
//!
//! Recall ranks the memories. A memory is relevant if it contains enough of the question's words. The rank is not
//! sufficient, because some memory always has the best score.

use std::collections::HashMap;

use muninn_memory::index::Snapshot;
use muninn_memory::index::lexical::DocId;
use muninn_memory::recall::BlobLookup;
use muninn_memory::{Memories, RecallOptions, Recalled};
use muninn_repo_tools::RelPath;

use crate::pack::MemoryCandidate;
use crate::question::Question;
use crate::rank::{Query, Statistics};

/// Minimum share of the question's weight that a memory must contain. The share is low, because a memory has far less
/// text than a chunk of code.
const MIN_SHARE: f32 = 0.34;
/// Factor on the minimum share for a section about one of the best files. The file is additional evidence for the
/// section.
const LIFTED: f32 = 0.5;
/// Minimum score of a memory relative to the best one.
const MIN_SCORE: f32 = 0.5;
/// Number of recalled memories that are considered. Fewer memories are packed.
const CONSIDERED: usize = 50;

/// Returns the memories that contain enough of the question's weight, best first. The minimum share is lower for a
/// section about one of the `best` files.
pub(crate) fn select_memories<'a>(
    (memories, snapshot): (&Memories, Option<&Snapshot>),
    (question, text): (&Question, &str),
    threshold: f32,
    best: &[&'a RelPath],
) -> Vec<MemoryCandidate<'a>> {
    let blob_of =
        snapshot.map(|snapshot| move |path: &RelPath| snapshot.find(path).map(|(_, file)| file.facts.blob.to_string()));
    let found = memories.recall(
        text,
        &RecallOptions {
            keep: CONSIDERED,
            blob_of: blob_of.as_ref().map(|blob_of| blob_of as BlobLookup<'_>),
            ..RecallOptions::default()
        },
    );
    let query = Query::new(question, memories);
    let concepts = concepts(memories, &query, &found);
    let total: f32 = query.weights.iter().sum();
    let least = total * MIN_SHARE.max(threshold * 0.8);
    let highest = found.first().map_or(0.0, |best| best.rank_score);
    let about = |doc: DocId| {
        let memory = memories.get(doc)?;
        best.iter().copied().find(|path| memories.applies_to(memory, path))
    };
    let fitting = found.into_iter().filter_map(|recalled| {
        let mask = concepts.get(&recalled.doc).copied().unwrap_or(0);
        let enough = mask.count_ones() >= 2 || question.concepts.len() == 1;
        let fits = enough && query.weigh(mask) >= least && recalled.rank_score >= MIN_SCORE * highest;
        let lifted = || about(recalled.doc).filter(|_| query.weigh(mask) >= LIFTED * least);
        let about = if fits { None } else { Some(lifted()?) };
        Some(MemoryCandidate {
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

/// Pairs the two sides of an open conflict at the rank of the better side, so that one side is never packed without the
/// other side.
fn with_opponents<'a>(memories: &Memories, mut fitting: Vec<MemoryCandidate<'a>>) -> Vec<MemoryCandidate<'a>> {
    let mut paired: Vec<MemoryCandidate<'a>> = Vec::with_capacity(fitting.len());
    while !fitting.is_empty() {
        let mut best = fitting.remove(0);
        if let Some(doc) = memories.get(best.doc).and_then(|memory| memories.opponent(memory)) {
            let found = fitting.iter().position(|other| other.doc == doc);
            let opponent = found.map(|at| fitting.remove(at)).unwrap_or(MemoryCandidate {
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

/// Returns the question's concepts that each recalled memory contains, as bits.
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

    /// The result is at least 20, because the frequency of a word in fewer memories is not significant.
    fn documents(&self) -> usize {
        self.index().len().max(20)
    }
}
