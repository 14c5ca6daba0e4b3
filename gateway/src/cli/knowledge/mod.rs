//! `muninn knowledge`: what the team wrote down, as files that people write, look over and bring along.
//!
//! Writing is for a worktree that was set up (`muninn init`), and never over a file that is there.

mod check;
mod import;
mod list;
mod new;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::{CliError, Common, Exit, output};
use crate::app::WriteError;

/// Write, look over and import what the team knows.
#[derive(Args)]
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
            Action::List(command) => command.run(&worktree),
            Action::Check(command) => command.run(&worktree),
            Action::Import(command) => command.run(&worktree),
        }
    }
}

impl From<WriteError> for CliError {
    fn from(error: WriteError) -> Self {
        let said = CliError::new(Exit::Failure, error.to_string());
        match error {
            WriteError::NotSetUp { .. } => said.hint("set it up with `muninn init` first"),
            WriteError::NotADirectory { .. } => {
                said.hint("knowledge is written into directories of the repository only")
            }
            WriteError::Io { .. } => said,
        }
    }
}

/// A text of a strange file, which must not speak to the terminal, nor take more than its line.
fn tame(text: &str) -> String {
    output::tame(text).replace('\n', "\u{fffd}")
}
