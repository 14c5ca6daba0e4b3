use std::process::ExitCode;

use clap::{Args, Subcommand};

#[cfg(not(unix))]
use super::super::Exit;
use super::super::{CliError, Common, examples};
use super::{control, manager, process};

/// Run, start, stop or show the background process for hooks, MCP servers and reminders
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
    /// Run in the foreground until nobody has called for half an hour and there are no reminders; logs to daemon.log
    #[command(after_help = examples(&[("muninn daemon run --stay", "As a service manager starts it")]))]
    Run {
        /// Do not end by itself
        #[arg(long)]
        stay: bool,
    },
    /// Start it in the background, unless it runs
    #[command(after_help = examples(&[
        ("muninn daemon start", "Start it, and index this repository"),
        ("muninn daemon start --root ../api", "Start it, and index another repository"),
    ]))]
    Start,
    /// Stop it, and wait until it has ended
    #[command(after_help = examples(&[("muninn daemon stop", "Stop it; no error if it does not run")]))]
    Stop,
    /// Have the service manager start it at every login: a systemd user unit, or a launchd agent
    #[command(after_help = examples(&[("muninn daemon install --dry-run", "Print the file, and do nothing")]))]
    Install {
        /// Print what would be written
        #[arg(long)]
        dry_run: bool,
    },
    /// Undo `install`
    #[command(after_help = examples(&[("muninn daemon uninstall", "Stop the service, and remove its file")]))]
    Uninstall,
    /// Show it and the reminders; exits with 4 if it does not run
    #[command(after_help = examples(&[
        ("muninn daemon status", "Process, start, calls and worktrees"),
        ("muninn daemon status --json", "As JSON"),
    ]))]
    Status {
        /// Print JSON: running, host, version, process, since, calls, active, worktrees, reminders
        #[arg(long)]
        json: bool,
    },
}

impl DaemonCommand {
    #[cfg(unix)]
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        match self.action {
            Action::Run { stay } => process::run(common, stay),
            Action::Start => control::start(common),
            Action::Stop => control::stop(common),
            Action::Install { dry_run } => manager::install(common, dry_run),
            Action::Uninstall => manager::uninstall(),
            Action::Status { json } => control::status(common, json),
        }
    }

    #[cfg(not(unix))]
    pub(crate) fn run(self, _: &Common) -> Result<ExitCode, CliError> {
        Err(CliError::new(Exit::Failure, "there is no daemon on this system: it needs Unix sockets"))
    }
}
