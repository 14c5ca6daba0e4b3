//! The deep lane: a model explores the repository with tools, within a budget, and cites places.
//!
//! A question that no ranking can answer ("how does a cancelled stream release its permit?") is sent to a model. The
//! model gets the candidates of the lexical lane, a directory tree and tools. It makes many calls in one turn. For a
//! part of the question, it can open a child exploration with a share of the remaining budget. The exploration ends
//! with citations. Only existing places count, and citations never remove a file of the lexical lane: see `fuse`.
//!
//! An exploration ends with the best answer so far, and never with an error. This also holds if turns, tokens or time
//! are exhausted, if the model fails, or if its answer is nonsense. When an exploration returns, everything that it
//! started has ended.
//!
//! An exploration is a future that waits only for its model. Tools run while the future is polled. They take
//! milliseconds, so the future must be polled on a thread that may block. Between polls, an exploration occupies no
//! thread. Dropping the future ends the exploration.

mod batch;
mod budget;
mod call_cache;
mod citation;
mod conversation;
mod dialect;
mod fuse;
mod prompt;
mod recording;
mod run;
mod task;
mod toolset;
mod trace;
mod turns;

pub use citation::Citation;
pub use recording::{Recorder, Recording, RecordingError};
pub(crate) use run::{LexicalResult, explore};
pub(crate) use task::ExploreInputs;
pub use task::{DeepLimits, ExploreOutcome, Observer};
pub(super) use task::{Evidence, ExplorationTask, Explorer, millis};
pub use toolset::REGISTRY_TOOLS;
pub use trace::{CallTrace, Ended, Totals, Trace, TurnTrace};
