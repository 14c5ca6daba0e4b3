use std::sync::Arc;

use muninn_text::embed::StaticVectors;

use super::kind::Token;
use super::trees::Forest;

/// The relation of two claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Relation {
    /// Duplicates.
    Same,
    /// One says all that the other says, and more. Only a model says so.
    Refines,
    /// They contradict each other, whichever is newer. Only a model says so.
    Contradicts,
    /// They may contradict each other: somebody with judgement should decide.
    Undecided,
    /// No relation that the judge finds.
    Unrelated,
}

/// A relation with its reason.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// The relation of the first claim to the second.
    pub relation: Relation,
    /// The reason, for a reviewer.
    pub reason: String,
    /// Probability from 0 to 1 that the claims are duplicates or contradict each other.
    pub related: f32,
    /// Probability from 0 to 1 that the claims contradict each other.
    pub certainty: f32,
    /// Whether the difference is a value: a number, a name, or opposite words.
    pub is_value: bool,
}

/// The probability of a duplicate or a contradiction from which the author of the newer statement is asked about the older one.
const ASKED: f32 = 0.8;

impl Judgement {
    /// Returns whether the author of the newer statement should say how it relates to the older one.
    pub fn is_question(&self) -> bool {
        self.relation == Relation::Undecided || self.related >= ASKED
    }

    /// A judgement by an exact rule.
    pub(crate) fn exact(relation: Relation, reason: &str) -> Self {
        Self {
            relation,
            reason: reason.to_owned(),
            related: f32::from(u8::from(relation != Relation::Unrelated)),
            certainty: f32::from(u8::from(relation == Relation::Undecided)),
            is_value: false,
        }
    }
}

/// Judges pairs of claims. Loading takes milliseconds: reuse it for many pairs.
pub struct FittedJudge {
    pub(crate) vectors: Arc<StaticVectors>,
    pub(crate) forest: Forest,
}

/// A text, or the main clause of one.
pub(crate) struct ParsedText {
    pub(crate) tokens: Vec<Token>,
    /// The unit vector of the text.
    pub(crate) vector: Vec<f32>,
    pub(crate) trigrams: Vec<u32>,
    pub(crate) is_cut: bool,
    /// Whether the text is English prose.
    pub(crate) is_prose: bool,
}
