//! The engine: one index over one worktree, shared by all requests.

mod actions;
mod deep;
mod keep_up;
mod memories;
mod questions;
mod related;
mod state;

pub use actions::{Action, new_notes};
pub(super) use state::State;
pub use state::{Engine, EngineSettings};
