//! What a team knows: [`knowledge`] that people write as Markdown, and [`records`] that are learned from sessions.
//!
//! A [`Store`] keeps the records of a repository's sessions and of its branches. [`learn`] makes records of what an agent
//! did.

pub mod citations;
#[cfg(any(test, feature = "fixture"))]
#[expect(clippy::unwrap_used, reason = "only tests use it")]
pub mod fixture;
mod history;
pub mod knowledge;
pub mod learn;
pub mod memories;
pub mod records;
pub mod store;

pub use history::{HistoryEvent, LoggedDecision, decisions, history};
pub use memories::{ConflictSide, Memory, MemoryKind};
pub use records::Home;
pub use store::Store;
