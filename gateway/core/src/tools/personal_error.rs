use muninn_notebooks::personal::{FiringError, PersonalError};

/// Why personal memory cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum PersonalUseError {
    #[error("personal memory is not enabled, or belongs to another access key")]
    NotYours,
    #[error("`{0}` is no action: write inbox, notify, session or agent")]
    Action(String),
    #[error("reminders that tools make cannot run agent `{0}`: set `allow_from_tools = true` in [personal.agents.{0}]")]
    Agent(String),
    #[error(transparent)]
    Personal(#[from] PersonalError),
    #[error(transparent)]
    Firing(#[from] FiringError),
}
