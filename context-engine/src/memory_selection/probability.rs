//! The probability that a memory is relevant for a question: a logistic model.
//!
//! `benches/admit/fit.py` prints the fitted weights and the reliability table. They are a ridge regression over the
//! features that `bench admit --per-question FILE` writes.

use muninn_recall::Recalled;
use muninn_team::Memory;
use muninn_text::embed::{MINILM_ID, STATIC_ID};

/// The features of a memory, in the order of [`WEIGHTS`]:
///
/// 0. the weight of the question's words that it contains, in units of the idf of a term in one memory, up to 3;
/// 1. the cosine similarity to the question, on the scale of the static vectors ([`CosineScale`]);
/// 2. its lead over the next memory, or its distance to the best one, relative to the best score, within 1/2;
/// 3. the number of the question's identifiers that it contains as a whole, up to 2, minus the number of missing ones, up to 3. A
///    question about `Arg::overrides_with` is not about a memory that does not contain this name;
/// 4. the similarity of its places to those of the question, from 0 to 1, or [`UNKNOWN_PLACES`];
/// 5. the e-folds of memories above [`FEW`]: the best of many memories is more often the best by chance;
/// 6. 1 if the question proposes a change or asks for permission. Such questions are more often answered by a decision;
/// 7. the cosine similarity of the question to the best code. A question that the code answers needs no memory;
/// 8. the share of the question's words that it matches by similar words ([`WordMatch`](muninn_recall::WordMatch)).
pub(super) type Features = [f32; 9];
/// The position of the similarity of places in [`Features`].
pub(super) const PLACES: usize = 4;

const WEIGHTS: Features = [1.6, 6.6, 2.3, 0.5, 2.9, -0.5, 1.0, -3.5, 2.2];
const REQUIRED: f32 = 6.7;
/// The similarity of places if the repository has hardly any files, or the question leads to none. A memory is then the
/// only context of the question. With 0.75, 6% of unrelated questions get a memory in a repository without code.
pub(super) const UNKNOWN_PLACES: f32 = 0.75;
/// Weights without training data, because the facts of the benchmark have neither files nor ages. The memory is about a
/// subject of the question; a cited file has changed; the record is written automatically; each unit of confidence above
/// [`USUAL_CONFIDENCE`].
const SUBJECT: f32 = 1.5;
const STALE: f32 = -0.5;
const DERIVED: f32 = -0.5;
const CONFIDENCE: f32 = 1.0;
/// The confidence of `muninn remember`.
const USUAL_CONFIDENCE: f32 = 0.9;

/// Number of memories for which the number counts neither way, and the bounds of the feature.
const FEW: f32 = 50.0;
const CROWD: (f32, f32) = (-1.6, 3.0);
/// Minimum probability at threshold 1. At the default threshold of 0.5, the minimum is 0.4, with which at most 2% of the
/// unrelated questions of the development data get a memory.
const LEAST: f32 = 0.8;

/// Words of a proposal or a request.
const PROPOSALS: [&str; 21] = [
    "add", "allowed", "bump", "change", "delete", "drop", "fine", "ok", "okay", "our", "please", "remove", "rename",
    "replace", "shall", "should", "switch", "update", "us", "want", "we",
];

/// Returns the minimum probability of a packed memory for the configured threshold.
pub(super) fn least(threshold: f32) -> f32 {
    LEAST * threshold
}

/// Returns the probability that a memory with these features is relevant. `prior` is the sum of the weights that do not
/// depend on the question's words; see [`prior`].
pub(super) fn probability(features: &Features, prior: f32) -> f32 {
    let weighted = features.iter().zip(WEIGHTS).map(|(feature, weight)| feature * weight);
    1.0 / (1.0 + (REQUIRED - prior - weighted.sum::<f32>()).exp())
}

/// Returns the part of the sum that depends on the memory itself and on its files.
pub(super) fn prior(memory: &Memory, is_about: bool, is_stale: bool, is_derived: bool) -> f32 {
    let confidence = memory.confidence.unwrap_or(USUAL_CONFIDENCE) - USUAL_CONFIDENCE;
    let switches = [(is_about, SUBJECT), (is_stale, STALE), (is_derived, DERIVED)];
    let switched = switches.iter().filter(|(on, _)| *on).map(|(_, weight)| weight);
    CONFIDENCE * confidence + switched.sum::<f32>()
}

/// Returns the feature of the number of memories.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^24")]
pub(super) fn crowd(memories: usize) -> f32 {
    (memories.max(1) as f32 / FEW).ln().clamp(CROWD.0, CROWD.1)
}

/// Returns whether a text proposes a change or asks for permission.
pub(super) fn is_proposal(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    words.any(|word| PROPOSALS.contains(&word.to_ascii_lowercase().as_str()))
}

/// Converts the cosines of an embedder to the scale of the static vectors. Each embedder has its own distribution of
/// cosines: two unrelated texts have a cosine of 0.05 with the static vectors, and of 0.5 with others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CosineScale {
    factor: f32,
    offset: f32,
}

impl CosineScale {
    const STATIC: Self = Self { factor: 1.0, offset: 0.0 };
    /// Fitted together with the weights.
    const MINILM: Self = Self { factor: 1.23, offset: -0.18 };
    /// Without vectors, the typical value of a memory among the first counts for all memories.
    const NONE: Self = Self { factor: 0.0, offset: 0.18 };
    /// Mean and standard deviation of the static cosines of recalled memories, to which those of an unknown embedder
    /// are scaled.
    const USUAL: (f32, f32) = (0.14, 0.055);
    /// Minimum number of cosines for a mean.
    const ENOUGH: usize = 20;

    /// Selects the scale of an embedder. That of an unknown one is measured on the recalled memories.
    #[expect(clippy::cast_precision_loss, reason = "fifty memories at most")]
    pub(super) fn of(embedder: Option<&str>, recalled: &[Recalled]) -> Self {
        match embedder {
            Some(id) if id.starts_with(STATIC_ID) => Self::STATIC,
            Some(id) if id.starts_with(MINILM_ID) => Self::MINILM,
            Some(_) if recalled.len() >= Self::ENOUGH => {
                let count = recalled.len() as f32;
                let mean = recalled.iter().map(|one| one.cosine).sum::<f32>() / count;
                let squares = recalled.iter().map(|one| (one.cosine - mean).powi(2)).sum::<f32>();
                let factor = Self::USUAL.1 / (squares / count).sqrt().max(0.01);
                Self { factor, offset: Self::USUAL.0 - factor * mean }
            }
            _ => Self::NONE,
        }
    }

    pub(super) fn convert(self, cosine: f32) -> f32 {
        self.factor * cosine + self.offset
    }
}

#[cfg(test)]
mod tests {
    use muninn_text::lexical::DocId;

    use super::*;

    #[test]
    fn each_feature_moves_the_probability_in_the_direction_of_its_weight() {
        let typical: Features = [1.5, 0.25, 0.0, 0.0, 0.3, 0.0, 0.0, 0.3, 0.3];
        let before = probability(&typical, 0.0);
        assert!((0.0..1.0).contains(&before));
        for (at, weight) in WEIGHTS.into_iter().enumerate() {
            let mut higher = typical;
            higher[at] += 0.1;
            assert_eq!(probability(&higher, 0.0) > before, weight > 0.0, "feature {at}");
        }
        assert!(probability(&typical, SUBJECT) > before);
    }

    #[test]
    fn a_proposal_is_recognised_by_its_words() {
        assert!(is_proposal("Should the port be 8080?"));
        assert!(is_proposal("Please, rename `a`."));
        assert!(!is_proposal("Where is the port read?"));
        assert!(!is_proposal("how is addition of weeks tested"));
    }

    #[test]
    fn few_memories_count_for_and_many_against() {
        assert_eq!([crowd(0), crowd(1), crowd(50), crowd(1 << 20)], [CROWD.0, CROWD.0, 0.0, CROWD.1]);
    }

    #[test]
    fn cosines_of_an_unknown_embedder_are_standardised() {
        let recalled: Vec<Recalled> = (0..40)
            .map(|at| Recalled {
                doc: DocId(at),
                score: 0.0,
                rank_score: 0.0,
                cosine: if at % 2 == 0 { 0.6 } else { 0.7 },
                stale: false,
            })
            .collect();
        let scale = CosineScale::of(Some("nomic"), &recalled);
        let (mean, deviation) = CosineScale::USUAL;
        assert!((scale.convert(0.65) - mean).abs() < 1e-4);
        assert!((scale.convert(0.7) - mean - deviation).abs() < 1e-4);
        for embedder in [None, Some("nomic")] {
            assert_eq!(CosineScale::of(embedder, &recalled[..2]), CosineScale::NONE);
        }
        assert_eq!(CosineScale::of(Some("static-1"), &recalled), CosineScale::STATIC);
        assert_eq!(CosineScale::of(Some("minilm-l6-1"), &recalled), CosineScale::MINILM);
    }
}
