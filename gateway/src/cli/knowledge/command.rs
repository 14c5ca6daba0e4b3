use std::process::ExitCode;

use clap::{Args, Subcommand};
use muninn_base::FileError;
use muninn_core::WriteError;

use super::super::{CliError, Common, Exit, examples};
use super::{check, import, list, new};

/// Create, list, check and import knowledge pages
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn knowledge new \"Money\"", "Create a page"),
    ("muninn knowledge list", "List all pages"),
    ("muninn knowledge check", "Check all pages, for example in CI"),
]))]
pub(crate) struct KnowledgeCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    New(new::New),
    List(list::List),
    Check(check::Check),
    Import(import::Import),
}

impl KnowledgeCommand {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        let worktree = common.worktree()?;
        match self.action {
            Action::New(command) => command.run(&worktree),
            Action::List(command) => command.run(common, &worktree),
            Action::Check(command) => command.run(&worktree),
            Action::Import(command) => command.run(&worktree),
        }
    }
}

impl From<WriteError> for CliError {
    fn from(error: WriteError) -> Self {
        let failure = CliError::new(Exit::Failure, error.to_string());
        match error {
            WriteError::NotSetUp { .. } => failure.hint("run `muninn init` first"),
            WriteError::Full(_) => failure,
            WriteError::File(error) => error.into(),
        }
    }
}

impl From<FileError> for CliError {
    fn from(error: FileError) -> Self {
        let failure = CliError::new(Exit::Failure, error.to_string());
        match error {
            FileError::NotADirectory { .. } => {
                failure.hint("pages are written only into directories of their own; remove the link or file")
            }
            FileError::Io { .. } => failure,
        }
    }
}
