//! The worklog: `JOURNAL.md` of a worktree, which all agents and people that work there share. It is an ordinary file.
//! Muninn appends lines to it, and never changes lines that exist.
//!
//! ```text
//! # JOURNAL — auth/machine-token
//!
//! ## 2026-03-17 14:30 — attempted direct token swap
//! Intent: replace JWT with machine token in all API routes
//! Approach: open
//! Agent: claude-code, session 4f1c
//!
//! ❌ Failed: `cargo test` (error[E0308]: mismatched types)
//! → Cannot swap at middleware layer
//! ```

mod archive;
mod file;
mod gossip;
mod limits;
mod mutation;
mod parsed;

pub use archive::{Archived, CORRECTIONS, FOLDER};
pub use file::{Appended, SessionHeader, Tail, Worklog, WorklogError};
pub use limits::{FAILURES_BEFORE_MUTATION, FILE, HANDOVER_LINES};
pub use mutation::{Mutation, MutationKind, UnknownMutation};
pub use parsed::{ParsedMutation, ParsedWorklog};

#[cfg(test)]
mod tests;
