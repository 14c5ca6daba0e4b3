//! Whether what was found is about what was asked.
//!
//! BM25 always finds something, and its scores mean nothing from one question to the next. What does mean something is
//! the share of the question that one place accounts for: each thing that the question names weighs its idf, and one
//! that the repository never mentions weighs as much as one that it mentions once. A wish for a poem meets `write`
//! everywhere and the rest nowhere; its share is small however well `write` scores. Beside the share there must be evidence: a rare word, a
//! name, or several words together, since a lone common word is found anywhere.

use crate::question::Question;
use crate::rank::{Candidate, Query, place_of};
use muninn_memory::derived::Place;
use muninn_memory::derived::Snapshot;

/// The share that must be found, for a question of four to eight things.
pub(crate) const DEFAULT: f32 = 0.5;
/// Of a question of one, two or three things so much must be found, in units of the threshold: half of two words is
/// one word, and one word is found anywhere.
const FEW: [f32; 3] = [1.8, 1.5, 1.2];
/// Longer questions tell a story around what they ask; beyond so many concepts less of it need be found.
const MANY: f32 = 8.0;
/// What finding a concept counts: in the best chunk, in another good chunk of the file, elsewhere in it.
const NEAR: f32 = 0.75;
const FAR: f32 = 0.45;
/// What a test, or a file that a program wrote, counts for: they hold words about anything.
const WEAK: f32 = 0.45;
/// What documentation and settings count for: a large manual has a word about most things.
const PROSE: f32 = 0.8;
/// So many of the best files are considered, and so many chunks of each.
const FILES: usize = 8;
const CHUNKS: usize = 3;
/// The sum of idf that the best chunk must hold, in units of the idf of a term that one document holds.
const EVIDENCE: f32 = 0.6;

/// How well the question is accounted for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Fit {
    /// The share of the question's weight that the best place accounts for, from 0 to 1.
    pub(crate) share: f32,
    /// What is required.
    pub(crate) required: f32,
    /// Weight of what was found in one chunk, in units of a singular term's.
    pub(crate) evidence: f32,
    /// The question has one plain word to go by, and nothing here is called by it.
    pub(crate) lone: bool,
    /// The question spells out a path or a name that exists.
    pub(crate) certain: bool,
}

impl Fit {
    /// Measures a question against the best files. `singular` is the idf of a term that one document holds.
    pub(crate) fn of(
        snapshot: &Snapshot,
        question: &Question,
        query: &Query,
        candidates: &[Candidate],
        singular: f32,
        threshold: f32,
    ) -> Self {
        let total: f32 = query.weights.iter().sum();
        let telling = question.concepts.iter().filter(|concept| !concept.is_number()).count();
        let identifier = question.concepts.iter().any(|concept| concept.identifier);
        let mut fit = Self {
            required: required(telling, threshold),
            lone: telling <= 1 && !identifier,
            ..Self::default()
        };
        for candidate in candidates.iter().take(FILES) {
            let chunks = candidate.chunks.iter().take(CHUNKS);
            let near = chunks
                .clone()
                .fold(candidate.path_concepts, |all, chunk| all | chunk.concepts);
            for chunk in chunks {
                let trust = trust(place_of(snapshot, chunk.doc), question);
                let here = chunk.concepts | candidate.path_concepts;
                let found = query.weigh(here)
                    + NEAR * query.weigh(near & !here)
                    + FAR * query.weigh(candidate.concepts & !near);
                fit.share = fit.share.max(trust * found / total.max(f32::MIN_POSITIVE));
                fit.evidence = fit.evidence.max(trust * query.weigh(here) / singular.max(0.1));
                fit.certain |= names_something(question, chunk.defines);
                fit.lone &= chunk.defines | candidate.path_concepts == 0;
            }
            fit.certain |= candidate.named;
        }
        fit
    }

    /// Whether to show what was found; if not, why.
    pub(crate) fn verdict(&self) -> Result<(), String> {
        let (share, required) = (self.share * 100.0, self.required * 100.0);
        if self.certain && self.share >= self.required / 2.0 {
            return Ok(());
        }
        if self.share < self.required {
            let found = format!("{share:.0}% of the question found in one place, {required:.0}% required");
            return Err(format!("below the threshold: {found}"));
        }
        if self.evidence < EVIDENCE || self.lone {
            return Err("below the threshold: only words that are common in this repository were found".to_owned());
        }
        Ok(())
    }
}

fn trust(place: Place, question: &Question) -> f32 {
    match place {
        Place::Source => 1.0,
        Place::Test if question.about_tests => 1.0,
        Place::Docs if question.about_docs => 1.0,
        Place::Docs | Place::Settings => PROSE,
        Place::Test | Place::Generated | Place::Template => WEAK,
    }
}

/// Whether a definition was found whose name the question writes as an identifier.
fn names_something(question: &Question, defines: u64) -> bool {
    question
        .concepts
        .iter()
        .enumerate()
        .any(|(bit, concept)| concept.identifier && defines >> bit & 1 == 1)
}

#[expect(clippy::cast_precision_loss, reason = "at most 64 concepts")]
fn required(concepts: usize, threshold: f32) -> f32 {
    match concepts.checked_sub(1).and_then(|at| FEW.get(at)) {
        Some(factor) => (threshold * factor).min(0.95),
        None => threshold * (MANY / concepts.max(1) as f32).min(1.0).sqrt().max(0.5),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_words_must_all_be_found_and_many_need_not() {
        assert!((required(5, 0.5) - 0.5).abs() < 1e-6);
        assert!((1..4).all(|few| required(few, 0.5) > required(few + 1, 0.5)));
        assert!(required(20, 0.5) < 0.5);
        assert!(required(64, 0.5) >= 0.25);
        assert_eq!(required(2, 0.0), 0.0);
    }
}
