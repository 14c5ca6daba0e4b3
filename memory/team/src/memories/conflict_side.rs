use serde::{Deserialize, Serialize};

/// An open conflict or undecided pair, as one of its sides refers to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictSide {
    /// The conflict's id.
    pub conflict: String,
    /// The source of the memory on the other side.
    pub other: String,
    /// Whether nobody but rules says that the two contradict each other.
    pub is_undecided: bool,
}
