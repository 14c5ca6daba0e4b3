//! `muninn knowledge new`: creates a knowledge page to be filled in.

use std::process::ExitCode;

use clap::Args;
use muninn_core::{Draft, NewError, new_knowledge};
use muninn_repo_tools::Worktree;

use super::{CliError, Exit, examples, output};

/// Create a page in .muninn/knowledge/, and print its path
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn knowledge new \"Money is in cents\"", "Create a convention"),
    ("muninn knowledge new --type decision --domain billing \"Use UTC\"", "Create a decision of a domain"),
    ("muninn knowledge new --applies-to 'src/http/**' \"Handlers\"", "Create a page about some files"),
]))]
pub(super) struct New {
    /// The page's title
    title: String,
    /// The page's type: convention, decision, glossary, ...
    #[arg(long = "type", value_name = "TYPE", default_value = "convention")]
    kind: String,
    /// The domain that the page belongs to
    #[arg(long)]
    domain: Option<String>,
    /// The confidence: high, medium, low, or a number from 0 to 1
    #[arg(long)]
    confidence: Option<String>,
    /// The source of the knowledge
    #[arg(long)]
    source: Option<String>,
    /// Files that the page is about, as a `.gitignore` pattern; may be repeated
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
            NewError::Secret => {
                CliError::new(Exit::Failure, message).hint("remove the secret: git would keep it forever")
            }
            NewError::Exists { .. } => {
                CliError::new(Exit::Failure, message).hint("edit the file, or choose another title")
            }
        }
    }
}
