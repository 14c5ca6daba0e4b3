use std::io;
use std::path::PathBuf;

use muninn_context_engine::render;
use muninn_notebooks::worklog::{FILE, HANDOVER_LINES, Tail, Worklog, WorklogError};
use muninn_repo_tools::{ReferenceError, Worktree};
use thiserror::Error;

use super::super::memory::MemoryError;
use super::sessions::SessionsFile;

/// The worklog of a worktree.
pub struct SessionWorklog {
    pub(crate) worklog: Worklog,
    pub(crate) worktree: Worktree,
    /// The directory of what is kept about it. Its siblings are those of other worktrees.
    pub(crate) state: PathBuf,
    pub(crate) sessions: SessionsFile,
    pub(crate) track: bool,
}

/// Why a worklog cannot be used.
#[derive(Debug, Error)]
pub enum WorklogUseError {
    /// It is not enabled.
    #[error("the worklog is not enabled")]
    Disabled,
    /// The worktree was not set up.
    #[error("this repository was not set up for Muninn")]
    NotInitialised,
    /// There is no repository.
    #[error("there is no git repository")]
    NoRepository,
    /// The file.
    #[error(transparent)]
    Worklog(#[from] WorklogError),
    /// The state of the sessions cannot be written.
    #[error("cannot write what sessions did: {0}")]
    State(#[from] io::Error),
    /// HEAD cannot be read.
    #[error(transparent)]
    Head(#[from] ReferenceError),
    /// A discovery was not remembered.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

/// The text of a handover for an agent, for the inside of a fence.
pub(crate) fn handover_text(tail: &Tail) -> String {
    let markers =
        if tail.has_conflict_markers { "It has git's conflict markers: both sides are quoted.\n" } else { "" };
    format!(
        "# The worklog of this worktree\nOthers worked here before. Do not repeat what failed. After a decision, a failure or a \
         finding, add a line: `muninn worklog append TEXT`.\n{markers}{}",
        render::quoted(&format!("{FILE}, last {HANDOVER_LINES} lines:"), &tail.text)
    )
}
