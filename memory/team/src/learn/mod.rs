//! Learning from an agent's actions, without a model.
//!
//! Between two human turns, an agent reads files, edits files, and names files in its answer. These files are relevant
//! to the question; edited files are the most relevant. Records contain paths, hashes, and only those words of the
//! question that occur in the repository, so nothing new reaches git. If the user allows text, sentences that state a
//! decision are recorded too ([`decisions`]).

pub mod budget;
pub mod decisions;
mod limits;
mod notes;
mod observed;
pub mod summarize;
mod turn;

pub(super) use limits::{MAX_FILES, MOST_CONFIDENCE};
pub use notes::{ShownNote, is_used};
pub use observed::{query_hash, summary};
pub use turn::{Failure, LearnContext, Turn};
pub(super) use turn::{names, touched};
