//! `muninn daemon`: the background process that answers hooks and MCP servers.
//!
//! They start it themselves. The commands are for a look at it, and for a service manager that prefers to start it.

use std::process::ExitCode;

use clap::{Args, Subcommand};

#[cfg(not(unix))]
use super::Exit;
use super::{CliError, Common, examples};

/// Run, start, stop or show the background process that answers hooks and MCP servers
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn daemon status", "Show whether it runs, and its worktrees"),
    ("muninn daemon stop", "End it; the next hook starts it again"),
]))]
pub(crate) struct DaemonCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Run in the foreground until nobody has called for half an hour; logs to daemon.log
    #[command(after_help = examples(&[("muninn daemon run", "As a service manager starts it")]))]
    Run,
    /// Start it in the background, unless it runs
    #[command(after_help = examples(&[
        ("muninn daemon start", "Start it, and index this repository"),
        ("muninn daemon start --root ../api", "Start it, and index another repository"),
    ]))]
    Start,
    /// Stop it, and wait until it has ended
    #[command(after_help = examples(&[("muninn daemon stop", "Stop it; no error if it does not run")]))]
    Stop,
    /// Show it; exits with 4 if it does not run
    #[command(after_help = examples(&[
        ("muninn daemon status", "Process, start, calls and worktrees"),
        ("muninn daemon status --json", "As JSON"),
    ]))]
    Status {
        /// Print JSON: running, host, version, process, since, calls, active, worktrees
        #[arg(long)]
        json: bool,
    },
}

impl DaemonCommand {
    #[cfg(unix)]
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        match self.action {
            Action::Run => process::run(common),
            Action::Start => control::start(common),
            Action::Stop => control::stop(common),
            Action::Status { json } => control::status(common, json),
        }
    }

    #[cfg(not(unix))]
    pub(crate) fn run(self, _: &Common) -> Result<ExitCode, CliError> {
        Err(CliError::new(
            Exit::Failure,
            "there is no daemon on this system: it needs Unix sockets",
        ))
    }
}

#[cfg(unix)]
mod control;
#[cfg(unix)]
mod process;

#[cfg(unix)]
pub(super) use control::{DaemonPlace, is_running, wait};
#[cfg(unix)]
pub(super) use process::listen_beside;
