//! The engine: one index over one worktree, shared by all requests.

mod deep;
mod keep_up;
mod memories;
mod questions;
mod state;

pub(super) use state::State;
pub use state::{Engine, EngineSettings};
