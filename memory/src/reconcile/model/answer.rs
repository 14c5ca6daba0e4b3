//! An answer of a model about a batch of pairs, read to the letter.

use serde::Deserialize;
use thiserror::Error;

use super::ModelVerdict;
use crate::model::answer::{plain, without_fence};
use crate::reconcile::judge::Relation;

/// Longer reasons are cut, in bytes.
const LONGEST_REASON: usize = 200;

/// Why an answer is not what was asked for. Nothing of the answer is in it, which may be anything.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(super) enum Refusal {
    /// It is no JSON, or JSON of another shape.
    #[error("it is not the JSON that was asked for (line {line}, column {column})")]
    Shape {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
    },
    /// Nobody asked for that.
    #[error("it decides on a pair that is not among those that were asked about")]
    Invented,
    /// Once is enough.
    #[error("it decides on pair {0} more than once")]
    Twice(usize),
    /// Each pair needs one.
    #[error("it says nothing of pair {0}")]
    Missing(usize),
    /// A reviewer has to be able to follow it.
    #[error("it gives no reason for pair {0}")]
    Reason(usize),
    /// Whoever gets a plain case wrong is not to be trusted with the others.
    #[error("it is wrong about a pair of which the answer is known")]
    Control,
    /// More tokens would mend that.
    #[error("it was cut short, which more max_answer_tokens would mend")]
    CutShort,
    /// The backend did not take the request.
    #[error("{0}")]
    Request(String),
    /// What came back is no answer.
    #[error("{0}")]
    Unusable(String),
}

impl Refusal {
    /// For whoever waits; what a backend said has its model's name in it.
    pub(super) fn told(&self, model: &str) -> String {
        match self {
            Self::Unusable(said) => said.clone(),
            refusal => format!("{model} gave no usable answer: {refusal}"),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerJson {
    decisions: Vec<DecisionJson>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DecisionJson {
    pair: usize,
    relation: RelationWord,
    reason: String,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RelationWord {
    Same,
    Refines,
    Contradicts,
    Unrelated,
    Unsure,
}

impl From<RelationWord> for Relation {
    fn from(word: RelationWord) -> Self {
        match word {
            RelationWord::Same => Self::Same,
            // Which of the two says more makes no difference: both stay.
            RelationWord::Refines => Self::Refines,
            RelationWord::Contradicts => Self::Contradicts,
            RelationWord::Unrelated => Self::Unrelated,
            RelationWord::Unsure => Self::Doubt,
        }
    }
}

/// Reads an answer about `pairs` pairs, with or without a code fence around it: one decision on each, in their order.
pub(super) fn read(answer: &str, pairs: usize) -> Result<Vec<ModelVerdict>, Refusal> {
    let written: AnswerJson = serde_json::from_str(without_fence(answer)).map_err(|error| Refusal::Shape {
        line: error.line(),
        column: error.column(),
    })?;
    let mut said: Vec<Option<ModelVerdict>> = (0..pairs).map(|_| None).collect();
    for decision in written.decisions {
        let number = decision.pair;
        let place = number.checked_sub(1).and_then(|at| said.get_mut(at));
        let place = place.ok_or(Refusal::Invented)?;
        let reason = reason(&decision.reason);
        if reason.is_empty() {
            return Err(Refusal::Reason(number));
        }
        let settled = ModelVerdict {
            relation: decision.relation.into(),
            reason,
            is_vetoed: false,
        };
        if place.replace(settled).is_some() {
            return Err(Refusal::Twice(number));
        }
    }
    let each = said.into_iter().zip(1..);
    each.map(|(said, number)| said.ok_or(Refusal::Missing(number)))
        .collect()
}

fn reason(text: &str) -> String {
    let text = plain(text);
    let end = text.floor_char_boundary(LONGEST_REASON);
    text[..end].trim_end().to_owned()
}
