use serde::{Deserialize, Serialize};

/// An open conflict or undecided pair, as one of its sides refers to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictSide {
    /// The conflict's id.
    pub conflict: String,
    /// The source of the memory on the other side.
    pub other: String,
    /// Whether only rules say that the two may contradict each other.
    #[serde(default)]
    pub is_undecided: bool,
}
