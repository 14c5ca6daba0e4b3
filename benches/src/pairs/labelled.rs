//! Pairs of sentences with what they are to each other, one JSON object a line.

use serde::Deserialize;

/// A pair and its label.
#[derive(Debug, Clone, Deserialize)]
pub struct Labelled {
    /// Names it.
    #[serde(default)]
    pub id: String,
    /// The first sentence.
    pub a: String,
    /// The second.
    pub b: String,
    /// The relation of the first sentence to the second.
    pub label: Label,
    /// Whether the pair is held out; absent if no pair is.
    pub held: Option<bool>,
}

/// The relation of a pair's first sentence to its second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Label {
    /// Both say the same.
    Duplicate,
    /// The first says everything that the second says, and perhaps more.
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
