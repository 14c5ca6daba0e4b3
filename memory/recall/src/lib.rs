//! Recall: the loaded memories and their search.
//!
//! Recall is hybrid: it combines the words of a memory, the words of the memory and its neighbours, and the similarity
//! of its vector (`rank.rs`). Unreadable parts are skipped and reported and never cause a failure, because these files
//! come from other people by `git pull`.

pub mod confidence;
mod embedding;
mod kept;
mod make;
mod memories;
mod options;
mod order;
mod rank;
mod related;
mod rows;
mod sources;
mod summaries;
mod types;
mod words;

pub use memories::{KeptAndChanged, Memories, MemoryCounts, Recalled};
pub use options::{IsStale, RecallOptions};
pub use sources::MemorySources;
