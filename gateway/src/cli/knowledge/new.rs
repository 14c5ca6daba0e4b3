//! `muninn knowledge new`: a file to go on with.

use std::process::ExitCode;

use clap::Args;
use muninn_repo_tools::Worktree;

use super::{CliError, Exit, output};
use crate::app::{Draft, NewError, new_knowledge};

/// Begin a file in .muninn/knowledge and print its path
#[derive(Args)]
pub(super) struct New {
    /// What it is called
    title: String,
    /// convention, decision, glossary, ...
    #[arg(long = "type", value_name = "TYPE", default_value = "convention")]
    kind: String,
    /// What it is about
    #[arg(long)]
    domain: Option<String>,
    /// How sure it is: high, medium, low, or a number from 0 to 1
    #[arg(long)]
    confidence: Option<String>,
    /// Where it comes from
    #[arg(long)]
    source: Option<String>,
    /// The files that it is about, as `.gitignore` writes them; may be given several times
    #[arg(long, value_name = "GLOB")]
    applies_to: Vec<String>,
}

impl New {
    pub(super) fn run(self, worktree: &Worktree) -> Result<ExitCode, CliError> {
        let path = new_knowledge(
            worktree,
            &Draft {
                title: self.title,
                kind: Some(self.kind),
                domain: self.domain,
                confidence: self.confidence,
                source: self.source,
                applies_to: self.applies_to,
            },
        )?;
        output::line(path.as_str());
        Ok(ExitCode::SUCCESS)
    }
}

impl From<NewError> for CliError {
    fn from(error: NewError) -> Self {
        let message = error.to_string();
        match error {
            NewError::Write(error) => error.into(),
            NewError::NoTitle | NewError::Value(_) => CliError::new(Exit::Usage, message),
            NewError::Secret => CliError::new(Exit::Failure, message).hint("git would keep it for good; leave it out"),
            NewError::Exists { .. } => CliError::new(Exit::Failure, message).hint("edit it, or choose another title"),
        }
    }
}
