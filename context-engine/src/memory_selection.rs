//! Selecting the memories to pack for a question.
//!
//! Recall ranks the memories, and some memory always has the best score. Therefore a logistic model
//! ([`probability`]) decides whether a memory that contains a word of the question is packed. The decision does not
//! depend on the decision about code. A memory that a person attached to a file is also packed if the question is about
//! that file.

mod abbreviations;
mod measures;
mod places;
mod probability;
mod select;

pub use select::Fit;
pub(crate) use select::{JudgedMemory, MemoryInputs, is_derived, is_retired, judge, select_memories};
