use std::io::{self};
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

/// Why an agent did not run, or did not answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum AgentError {
    #[error("agent `{0}` is not enabled")]
    NotEnabled(String),
    #[error("agent `{0}` does not run for reminders that a tool made")]
    NotForTools(String),
    #[error("there is no directory {}", .0.display())]
    NoDirectory(PathBuf),
    #[error("no agent runs beside {}: settings of clients name programs, and a personal memory has none", .0.display())]
    ClientSettings(PathBuf),
    #[error("there is no program `{0}`")]
    NoProgram(String),
    #[error("cannot start `{program}`: {error}")]
    Start { program: String, error: io::Error },
    #[error("it did not end within {} s", .0.as_secs())]
    TimedOut(Duration),
    #[error("Muninn stopped during the run")]
    Stopped,
    /// The client says that it failed.
    #[error("{0}")]
    Reported(String),
    /// The last line that a client printed before it failed.
    #[error("{status}: {line}")]
    Failed { status: ExitStatus, line: String },
    #[error("the agent printed no answer")]
    NoAnswer,
}
