//! Parses a model's answer about a batch of pairs, strictly.

use muninn_text::model::answer::{plain, without_fence};
use serde::Deserialize;
use thiserror::Error;

use super::ModelVerdict;
use crate::judge::Relation;

/// Maximum length of a reason, in bytes.
const LONGEST_REASON: usize = 200;

/// Why an answer is not usable. The error holds no text of the answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum Refusal {
    /// Not JSON, or JSON of another shape.
    #[error("it is not the JSON that was asked for (line {line}, column {column})")]
    Shape {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
    },
    /// A decision on an unknown pair.
    #[error("it decides on a pair that is not among those that were asked about")]
    Invented,
    /// A second decision on a pair.
    #[error("it decides on pair {0} more than once")]
    Twice(usize),
    /// No decision on a pair.
    #[error("it says nothing of pair {0}")]
    Missing(usize),
    /// A decision without a reason, which a reviewer needs.
    #[error("it gives no reason for pair {0}")]
    Reason(usize),
    /// A wrong decision on a control pair.
    #[error("it is wrong about a control pair")]
    Control,
    /// The answer reached its token limit.
    #[error("it was cut short, which more max_answer_tokens would mend")]
    CutShort,
    /// The backend refused the request.
    #[error("{0}")]
    Request(String),
    /// The backend's response is no answer.
    #[error("{0}")]
    Unusable(String),
}

impl Refusal {
    /// The message for a user. A backend's own message names the model already.
    pub(super) fn message(&self, model: &str) -> String {
        match self {
            Self::Unusable(message) => message.clone(),
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
    Replaced,
    Unrelated,
    Unsure,
}

impl From<RelationWord> for Relation {
    fn from(word: RelationWord) -> Self {
        match word {
            RelationWord::Same => Self::Same,
            RelationWord::Refines => Self::Refines,
            RelationWord::Contradicts | RelationWord::Replaced => Self::Contradicts,
            RelationWord::Unrelated => Self::Unrelated,
            RelationWord::Unsure => Self::Undecided,
        }
    }
}

/// Parses an answer about `pairs` pairs, with or without a code fence around it: one decision per pair, in order.
pub(super) fn read(answer: &str, pairs: usize) -> Result<Vec<ModelVerdict>, Refusal> {
    let written: AnswerJson = serde_json::from_str(without_fence(answer))
        .map_err(|error| Refusal::Shape { line: error.line(), column: error.column() })?;
    let mut verdicts: Vec<Option<ModelVerdict>> = (0..pairs).map(|_| None).collect();
    for decision in written.decisions {
        let number = decision.pair;
        let place = number.checked_sub(1).and_then(|at| verdicts.get_mut(at));
        let place = place.ok_or(Refusal::Invented)?;
        let reason = reason(&decision.reason);
        if reason.is_empty() {
            return Err(Refusal::Reason(number));
        }
        let settled = ModelVerdict {
            newer_holds: matches!(decision.relation, RelationWord::Replaced),
            relation: decision.relation.into(),
            reason,
            is_vetoed: false,
        };
        if place.replace(settled).is_some() {
            return Err(Refusal::Twice(number));
        }
    }
    let each = verdicts.into_iter().zip(1..);
    each.map(|(verdict, number)| verdict.ok_or(Refusal::Missing(number))).collect()
}

fn reason(text: &str) -> String {
    let text = plain(text);
    let end = text.floor_char_boundary(LONGEST_REASON);
    text[..end].trim_end().to_owned()
}
