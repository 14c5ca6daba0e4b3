//! Selecting the memories to pack for a question.
//!
//! Recall ranks the memories. A memory is relevant if it contains enough of the question's words. The rank is not
//! sufficient, because some memory always has the best score.

use std::collections::HashMap;

use muninn_memory::index::Snapshot;
use muninn_memory::index::lexical::{DocId, Tokenizer, idf};
use muninn_memory::recall::BlobLookup;
use muninn_memory::{Memories, RecallOptions, Recalled};
use muninn_repo_tools::RelPath;

use crate::pack::MemoryCandidate;
use crate::question::{self, Question};
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

/// The features of a memory's admission: the share of the question's weight that it contains; its cosine similarity to
/// the question; its lead over the next memory, or its distance to the best one, relative to the best score; the weight
/// of the contained words, in units of the idf of a term in one document; the number of the question's identifiers that
/// it contains; whether it is about one of the best files.
pub(crate) type Features = [f32; 6];

/// A recalled memory with its features.
struct Scored<'a> {
    recalled: Recalled,
    concepts: u64,
    about: Option<&'a RelPath>,
    features: Features,
}

/// Recalls memories and measures them, best first.
fn scored<'a>(
    (memories, snapshot): (&Memories, Option<&Snapshot>),
    (question, text): (&Question, &str),
    best: &[&'a RelPath],
) -> Vec<Scored<'a>> {
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
    let total: f32 = query.weights.iter().sum::<f32>().max(f32::MIN_POSITIVE);
    let singular = idf(1, memories.documents()).max(0.1);
    let score = |at: usize| found.get(at).map_or(0.0, |recalled: &Recalled| recalled.rank_score);
    let highest = score(0).max(f32::MIN_POSITIVE);
    let about = |doc: DocId| {
        let memory = memories.get(doc)?;
        let is_about =
            |path: &RelPath| memories.applies_to(memory, path) || memory.cites.iter().any(|cited| cited.path == *path);
        best.iter().copied().find(|path| is_about(path))
    };
    let features = |at: usize, recalled: &Recalled, mask: u64, is_about: bool| {
        let next = if at == 0 { score(1) } else { highest };
        let identifiers = question.concepts.iter().enumerate();
        let identifiers = identifiers.filter(|(bit, concept)| concept.identifier && mask >> bit & 1 == 1);
        [
            query.weigh(mask) / total,
            recalled.cosine,
            (recalled.rank_score - next) / highest,
            query.weigh(mask) / singular,
            identifiers.count() as f32,
            f32::from(u8::from(is_about)),
        ]
    };
    let measured = found.iter().enumerate().map(|(at, recalled)| {
        let mask = concepts.get(&recalled.doc).copied().unwrap_or(0);
        let about = about(recalled.doc);
        Scored {
            recalled: recalled.clone(),
            concepts: mask,
            about,
            features: features(at, recalled, mask, about.is_some()),
        }
    });
    measured.collect()
}

/// Returns the source and the features of the memories that recall ranks first, for measurements.
pub(crate) fn features(
    (memories, snapshot): (&Memories, Option<&Snapshot>),
    text: &str,
    best: &[&RelPath],
) -> Vec<(String, Vec<f32>)> {
    let question = question::analyse(&mut Tokenizer::new(), text);
    let scored = scored((memories, snapshot), (&question, text), best)
        .into_iter()
        .take(5);
    let named = scored.filter_map(|scored| {
        let memory = memories.get(scored.recalled.doc)?;
        Some((memory.source.clone(), scored.features.to_vec()))
    });
    named.collect()
}

/// Returns the memories that contain enough of the question, best first. The minimum is lower for a section about one
/// of the `best` files.
pub(crate) fn select_memories<'a>(
    (memories, snapshot): (&Memories, Option<&Snapshot>),
    (question, text): (&Question, &str),
    threshold: f32,
    best: &[&'a RelPath],
) -> Vec<MemoryCandidate<'a>> {
    let scored = scored((memories, snapshot), (question, text), best);
    let highest = scored.first().map_or(0.0, |best| best.recalled.rank_score);
    let least = MIN_SHARE.max(threshold * 0.8);
    let fitting = scored.into_iter().filter_map(|scored| {
        let [share, ..] = scored.features;
        let enough = scored.concepts.count_ones() >= 2 || question.concepts.len() == 1;
        let fits = enough && share >= least && scored.recalled.rank_score >= MIN_SCORE * highest;
        let about = if fits {
            None
        } else {
            Some(scored.about.filter(|_| share >= LIFTED * least)?)
        };
        Some(MemoryCandidate {
            doc: scored.recalled.doc,
            score: scored.recalled.rank_score,
            concepts: scored.concepts,
            about,
            stale: scored.recalled.stale,
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
