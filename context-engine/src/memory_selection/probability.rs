//! The probability that a memory is relevant for a question: a logistic model for each kind of vectors.
//!
//! `benches/admit/fit.py` fits the weights to the features that `bench admit --per-question FILE` writes.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use muninn_recall::Recalled;
use muninn_team::Memory;
use muninn_text::embed::{MINILM_ID, STATIC_ID, dot};
use serde::Deserialize;

use crate::relevance::DEFAULT;

/// The features of a memory, in the order of [`Features`]:
///
/// - `evidence`: the weight of the question's words that it contains, in units of the idf of a term in one memory, up to 3;
/// - `cosine`: the cosine similarity to the question;
/// - `asked`: the cosine similarity of the question to the nearest one that the memory answers;
/// - `answers`: 1 if it answers questions, whose words count for it, too;
/// - `static`: the cosine similarity of the static vectors, if `cosine` is of others;
/// - `lead`: by how much its cosine, or that of a question that it answers, is above the next of the first ten memories;
/// - `above`: by how much it is above their median;
/// - `identifiers`: the number of the question's identifiers that it contains as a whole, up to 2, minus the number of missing
///   ones, up to 3. A question about `Arg::overrides_with` is not about a memory that does not contain this name;
/// - `places`: the similarity of its places to those of the question, from 0 to 1, or [`UNKNOWN_PLACES`];
/// - `crowd`: the e-folds of memories above [`FEW`]: the best of many memories is more often the best by chance;
/// - `code`: the cosine similarity of the question to the best code. A question that the code answers needs no memory;
/// - `form`: how much the question by itself sounds like one that a memory answers; a linear model over its vector.
pub(super) const NAMES: [&str; 12] = [
    "evidence", "cosine", "asked", "answers", "static", "lead", "above", "identifiers", "places", "crowd", "code",
    "form",
];

/// The features of a memory, in the order of [`NAMES`].
pub(super) type Features = [f32; NAMES.len()];

/// The position of the similarity of places in [`Features`].
pub(super) const PLACES: usize = 8;

/// The weights that `benches/admit/fit.py` wrote.
static FITTED: &str = include_str!("weights.json");

#[derive(Deserialize)]
struct Fitted {
    r#static: FittedModel,
    minilm: FittedModel,
}

#[derive(Deserialize)]
struct FittedModel {
    /// One number for each dimension of the vectors.
    form: Vec<f32>,
    form_constant: f32,
    weights: BTreeMap<String, f32>,
    constant: f32,
    sure: f32,
    likely: f32,
}

/// The model for vectors of one kind.
pub(super) struct Model {
    is_static: bool,
    form: Vec<f32>,
    form_constant: f32,
    weights: Features,
    constant: f32,
    /// The least probability of a memory that is shown in full, and of one that is named, at the default threshold.
    sure: f32,
    likely: f32,
}

/// The model for static vectors, and that for MiniLM's.
static MODELS: LazyLock<[Model; 2]> = LazyLock::new(|| {
    let fitted: Fitted = serde_json::from_str(FITTED).expect("the compiled-in weights are tested");
    [(true, fitted.r#static), (false, fitted.minilm)].map(|(is_static, fitted)| Model {
        is_static,
        weights: NAMES.map(|name| fitted.weights.get(name).copied().unwrap_or(0.0)),
        form: fitted.form,
        form_constant: fitted.form_constant,
        constant: fitted.constant,
        sure: fitted.sure,
        likely: fitted.likely,
    })
});

impl Model {
    /// The model for the vectors of an embedder. Those of an unknown one are scaled to the static ones.
    pub(super) fn of(embedder: Option<&str>) -> &'static Model {
        &MODELS[usize::from(embedder.is_some_and(|id| id.starts_with(MINILM_ID)))]
    }

    /// Minimum cosine of two memories that are probably about the same subject.
    pub(super) fn same_subject(&self) -> f32 {
        if self.is_static { 0.38 } else { 0.45 }
    }

    /// The best and the median cosine of ten recalled memories of which none answers: the mean of 780 questions of
    /// `benches/admit`.
    pub(super) fn usual(&self) -> [f32; 2] {
        if self.is_static { [0.2, 0.1] } else { [0.27, 0.13] }
    }

    /// Whether the model is that for static vectors.
    pub(super) fn is_static(&self) -> bool {
        self.is_static
    }

    /// See `form` of [`NAMES`]. `vector` is of the model's kind.
    pub(super) fn form(&self, vector: &[f32]) -> f32 {
        dot(&self.form, vector) + self.form_constant
    }

    /// Returns the probability that a memory with these features is relevant. `prior` is the sum of the weights that do
    /// not depend on the question's words; see [`prior`].
    pub(super) fn probability(&self, features: &Features, prior: f32) -> f32 {
        let sum = dot(&self.weights, features) + self.constant + prior;
        1.0 / (1.0 + (-sum).exp())
    }

    /// The least probabilities for the configured threshold.
    pub(super) fn least(&self, threshold: f32) -> Least {
        let [sure, likely, beside] =
            [self.sure, self.likely, BESIDE].map(|at_default| at_default * threshold / DEFAULT);
        Least { sure, likely, beside }
    }
}

/// The least probabilities of memories in a prompt.
#[derive(Debug, Clone, Copy)]
pub(super) struct Least {
    /// Of a memory that is shown in full.
    pub(super) sure: f32,
    /// Of a memory that is named.
    pub(super) likely: f32,
    /// Of a memory that is named beside a likely one.
    pub(super) beside: f32,
}

/// See [`Least::beside`]. `fit.py` prints what other values cost.
const BESIDE: f32 = 0.05;

/// The similarity of places if the repository has hardly any files, or the question leads to none. A memory is then the
/// only context of the question. With 0.75, 6% of unrelated questions get a memory in a repository without code.
pub(super) const UNKNOWN_PLACES: f32 = 0.75;
/// Weights without training data, because the facts of the benchmark have neither files nor ages. The memory is about a
/// subject of the question; a cited file has changed; the record is written automatically; each unit of confidence above
/// [`USUAL_CONFIDENCE`].
const SUBJECT: f32 = 3.0;
const STALE: f32 = -0.5;
const DERIVED: f32 = -0.5;
const CONFIDENCE: f32 = 1.0;
/// The confidence of `muninn remember`.
const USUAL_CONFIDENCE: f32 = 0.9;

/// Number of memories for which the number counts neither way, and the bounds of the feature.
const FEW: f32 = 50.0;
const CROWD: (f32, f32) = (-1.6, 3.0);
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

/// Converts the cosines of an unknown embedder to the scale of the static vectors. Each embedder has its own distribution of
/// cosines: two unrelated texts have a cosine of 0.05 with the static vectors, and of 0.5 with others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CosineScale {
    factor: f32,
    offset: f32,
}

impl CosineScale {
    const KNOWN: Self = Self { factor: 1.0, offset: 0.0 };
    /// Mean and standard deviation of the static cosines of recalled memories, to which those of an unknown embedder
    /// are scaled.
    const USUAL: (f32, f32) = (0.14, 0.055);
    /// Minimum number of cosines for a mean.
    const ENOUGH: usize = 20;

    /// Selects the scale of an embedder. That of an unknown one is measured on the recalled memories; `None` if they are too
    /// few, or if there are no vectors.
    #[expect(clippy::cast_precision_loss, reason = "fifty memories at most")]
    pub(super) fn of(embedder: Option<&str>, recalled: &[Recalled]) -> Option<Self> {
        match embedder {
            Some(id) if id.starts_with(STATIC_ID) || id.starts_with(MINILM_ID) => Some(Self::KNOWN),
            Some(_) if recalled.len() >= Self::ENOUGH => {
                let count = recalled.len() as f32;
                let mean = recalled.iter().map(|one| one.cosine).sum::<f32>() / count;
                let squares = recalled.iter().map(|one| (one.cosine - mean).powi(2)).sum::<f32>();
                let factor = Self::USUAL.1 / (squares / count).sqrt().max(0.01);
                Some(Self { factor, offset: Self::USUAL.0 - factor * mean })
            }
            _ => None,
        }
    }

    pub(super) fn convert(self, cosine: f32) -> f32 {
        self.factor * cosine + self.offset
    }
}

#[cfg(test)]
mod tests {
    use muninn_text::embed::{Embedder as _, StaticVectors};
    use muninn_text::lexical::DocId;

    use super::*;

    #[test]
    fn every_feature_has_a_weight_and_every_weight_a_feature() {
        let fitted: Fitted = serde_json::from_str(FITTED).unwrap();
        let mut names = NAMES;
        names.sort_unstable();
        for model in [&fitted.r#static, &fitted.minilm] {
            assert_eq!(model.weights.keys().map(String::as_str).collect::<Vec<_>>(), names);
            assert!(model.likely < model.sure && model.sure < 1.0);
        }
        assert_eq!(fitted.r#static.form.len(), StaticVectors::shared().unwrap().dimensions());
        assert_eq!(fitted.minilm.form.len(), 384);
    }

    #[test]
    fn more_evidence_is_more_probable() {
        for model in [Model::of(None), Model::of(Some("minilm-l6-1"))] {
            let none = Features::default();
            for name in ["evidence", "cosine", "asked", "lead", "above", "places", "form"] {
                let at = NAMES.iter().position(|known| *known == name).unwrap();
                let mut more = none;
                more[at] = 1.0;
                assert!(model.probability(&more, 0.0) > model.probability(&none, 0.0), "{name}");
            }
            assert!(model.probability(&none, SUBJECT) > model.probability(&none, 0.0));
        }
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
                coverage: 0.0,
                rank_score: 0.0,
                cosine: if at % 2 == 0 { 0.6 } else { 0.7 },
                asked: 0.0,
                stale: false,
            })
            .collect();
        let scale = CosineScale::of(Some("nomic"), &recalled).unwrap();
        let (mean, deviation) = CosineScale::USUAL;
        assert!((scale.convert(0.65) - mean).abs() < 1e-4);
        assert!((scale.convert(0.7) - mean - deviation).abs() < 1e-4);
        for embedder in [None, Some("nomic")] {
            assert_eq!(CosineScale::of(embedder, &recalled[..2]), None);
        }
        assert_eq!(CosineScale::of(Some("static-1"), &recalled), Some(CosineScale::KNOWN));
        assert_eq!(CosineScale::of(Some("minilm-l6-1"), &recalled), Some(CosineScale::KNOWN));
    }
}
