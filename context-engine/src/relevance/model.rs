//! The fitted model: a probability from the features of a question in a repository.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use muninn_text::embed::dot;
use serde::Deserialize;

/// The names of the features, as in `weights.json`; `form` is the result of the linear model over the question's vector. In a
/// long question, chance finds more, so some features are also there times the logarithm of the length.
pub(super) const NAMES: [&str; 18] = [
    "strongest", "lacking", "count", "few", "size", "share", "in_path", "exact", "unknown", "titles", "texts", "pairs",
    "form", "length", "strongest_by_length", "share_by_length", "texts_by_length", "form_by_length",
];

/// The features of a question, in the order of [`NAMES`].
pub(super) type Features = [f32; NAMES.len()];

/// The weights that `benches/relevance/fit.py` wrote.
static FITTED: &str = include_str!("weights.json");

#[derive(Deserialize)]
struct Fitted {
    /// One number for each dimension of the static vectors.
    form: Vec<f32>,
    form_constant: f32,
    weights: BTreeMap<String, f32>,
    constant: f32,
}

pub(super) struct Model {
    form: Vec<f32>,
    form_constant: f32,
    weights: Features,
    constant: f32,
}

impl Model {
    pub(super) fn shared() -> &'static Model {
        static MODEL: LazyLock<Model> = LazyLock::new(|| {
            let fitted: Fitted = serde_json::from_str(FITTED).expect("the compiled-in weights are tested");
            let weight = |name: &str| fitted.weights.get(name).copied().unwrap_or(0.0);
            Model {
                form: fitted.form,
                form_constant: fitted.form_constant,
                weights: NAMES.map(weight),
                constant: fitted.constant,
            }
        });
        &MODEL
    }

    /// How much the question by itself sounds like one about a repository; from its vector.
    pub(super) fn form(&self, vector: &[f32]) -> f32 {
        dot(&self.form, vector) + self.form_constant
    }

    /// The probability that a question with these features is about the repository.
    pub(super) fn probability(&self, features: &Features) -> f32 {
        let sum = dot(&self.weights, features) + self.constant;
        1.0 / (1.0 + (-sum).exp())
    }
}

#[cfg(test)]
mod tests {
    use muninn_text::embed::{Embedder as _, StaticVectors};

    use super::*;

    #[test]
    fn every_feature_has_a_weight_and_every_weight_a_feature() {
        let fitted: Fitted = serde_json::from_str(FITTED).unwrap();
        let mut names = NAMES;
        names.sort_unstable();
        assert_eq!(fitted.weights.keys().map(String::as_str).collect::<Vec<_>>(), names);
        assert_eq!(fitted.form.len(), StaticVectors::shared().unwrap().dimensions());
    }

    #[test]
    fn more_evidence_is_more_probable() {
        let model = Model::shared();
        let none = Features::default();
        for name in ["strongest", "share", "exact", "texts", "form"] {
            let at = NAMES.iter().position(|known| *known == name).unwrap();
            let mut more = none;
            more[at] = 1.0;
            assert!(model.probability(&more) > model.probability(&none), "{name}");
        }
    }
}
