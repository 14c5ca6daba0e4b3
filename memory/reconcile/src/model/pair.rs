use super::super::judge::{Claim, Relation};

/// A pair that rules leave open, the older claim first.
pub(crate) struct OpenPair<'a> {
    pub(crate) older: Claim<'a>,
    pub(crate) newer: Claim<'a>,
    /// Whether one claim negates the other or uses words that exclude the other's. Such a pair is never merged.
    pub(crate) opposes: bool,
}

/// A model's decision on a pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModelVerdict {
    pub(crate) relation: Relation,
    /// Whether a contradiction is over, because the newer claim replaces the older one.
    pub(crate) newer_holds: bool,
    /// The model's reason.
    pub(crate) reason: String,
    /// Whether the model's `same` was refused because the words oppose each other.
    pub(crate) is_vetoed: bool,
}
