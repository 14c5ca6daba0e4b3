//! `muninn knowledge import`: what another repository knows, and this one does not yet.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use muninn_repo_tools::Worktree;

use super::{CliError, Exit, output, tame};
use crate::app::{ImportError, import_knowledge};

/// Copy what is missing here from another repository's knowledge; exits with 1 where a file is refused
#[derive(Args)]
pub(super) struct Import {
    /// Another repository, its .muninn/knowledge, or a folder of Markdown
    #[arg(value_name = "DIR")]
    from: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Import {
    pub(super) fn run(self, worktree: &Worktree) -> Result<ExitCode, CliError> {
        let done = import_knowledge(worktree, &self.from)?;
        if self.json {
            output::json(&done);
        } else {
            for path in &done.imported {
                output::line(&path.printed());
            }
            for refused in &done.refused {
                output::note(&format!(
                    "{}: not imported: {}",
                    tame(&refused.path),
                    tame(&refused.reason)
                ));
            }
            output::note(&format!(
                "{} imported from {}, {} here already, {} refused",
                output::plural(done.imported.len(), "file"),
                tame(&done.from),
                done.same.len(),
                done.refused.len()
            ));
        }
        Ok(if done.refused.is_empty() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }
}

impl From<ImportError> for CliError {
    fn from(error: ImportError) -> Self {
        let message = error.to_string();
        match error {
            ImportError::Write(error) => error.into(),
            ImportError::NotADirectory { .. } => CliError::new(Exit::NotFound, message),
            ImportError::NoKnowledge { .. } => {
                CliError::new(Exit::NotFound, message).hint("name a folder of Markdown in it, if that is what you want")
            }
            ImportError::Itself { .. } => CliError::new(Exit::Usage, message),
        }
    }
}
