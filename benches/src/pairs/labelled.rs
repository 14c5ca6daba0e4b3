//! Pairs of sentences with what they are to each other, one JSON object a line.

use serde::Deserialize;

/// A pair and its label.
#[derive(Debug, Clone, Deserialize)]
pub struct Labelled {
    /// Names it.
    pub id: String,
    /// The first sentence.
    pub a: String,
    /// The second.
    pub b: String,
    /// What the first is to the second.
    pub label: Label,
    /// It was not looked at while the rules were made; absent where nothing was set apart.
    pub held: Option<bool>,
}

/// What the first sentence of a pair is to the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Label {
    /// It says the same.
    Duplicate,
    /// It says all that the second does, and perhaps more.
    Entailment,
    /// Both cannot be so.
    Contradiction,
    /// Nothing of these.
    Neutral,
}

impl Label {
    /// Whether the second sentence adds nothing to the first.
    pub fn is_duplicate(self) -> bool {
        matches!(self, Self::Duplicate | Self::Entailment)
    }
}
