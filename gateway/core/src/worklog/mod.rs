//! The worklog of a worktree, `JOURNAL.md`, and what each session has done with it: whether it has read what others wrote,
//! what it tried, and whether it must declare a mutation.

mod attempts;
mod exclude;
mod reads;
mod session;
mod sessions;
mod tool_call;

pub use reads::WorklogStatus;
pub(super) use reads::logged;
pub(super) use session::handover_text;
pub use session::{SessionWorklog, WorklogUseError};
pub use tool_call::{ToolCall, ToolOutcome};
