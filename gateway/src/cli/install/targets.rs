use clap::Args;
use muninn_clients::{Change, Client, ClientCommand, Install as Record, Journal, Plan, Scope, Setup};

use super::super::CliError;
use super::programs;

/// The client and how to proceed, for both commands.
#[derive(Args)]
pub(crate) struct Target {
    /// The client
    #[arg(value_enum)]
    pub(crate) client: Client,
    /// Whose settings to change
    #[arg(long, value_enum, default_value = "user")]
    pub(crate) scope: Scope,
    /// Show the changes and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Write without asking
    #[arg(long)]
    pub(crate) yes: bool,
}

/// Records the plan and writes its files. If one fails, the others are restored.
pub(crate) fn write(
    journal: &mut Journal,
    plan: Plan,
    setup: &Setup,
    command: Option<&ClientCommand>,
    old: Option<Record>,
) -> Result<Record, CliError> {
    journal.record(&plan)?;
    let mut install = plan.install;
    let mut written: Vec<Change> = Vec::new();
    for (change, file) in plan.changes.iter().zip(&mut install.files) {
        let command = command.filter(|command| command.path == change.file.path);
        let done = match command {
            Some(command) => programs::register(command, change, setup),
            None => change.write().map(|()| change.clone()).map_err(CliError::from),
        };
        match done {
            Ok(done) => {
                file.note_text(done.text.as_deref());
                written.push(done);
            }
            Err(error) => {
                let error = roll_back(&written, error);
                match old {
                    Some(old) => journal.put(&old)?,
                    None => journal.forget(&install)?,
                }
                return Err(error);
            }
        }
    }
    journal.put(&install)?;
    Ok(install)
}

/// Takes back what was written before an error, and returns the error.
pub(crate) fn roll_back(written: &[Change], error: CliError) -> CliError {
    let failed = written.iter().rev().find_map(|change| change.reversed().write().err());
    match failed {
        Some(failed) => {
            CliError::new(error.exit, format!("{error}, except that a file could not be restored: {failed}"))
                .hint("`installs` in the state directory has a backup of each file")
        }
        None => error,
    }
}
