//! `muninn knowledge import`: copies missing knowledge pages from another repository.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use muninn_core::{ImportError, import_knowledge};
use muninn_repo_tools::Worktree;

use super::{CliError, Exit, examples, output};

/// Copy pages that are missing here from another repository; exits with 1 if a file is refused
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn knowledge import ../api", "Copy the knowledge of another repository"),
    ("muninn knowledge import ~/notes/conventions", "Copy a folder of Markdown"),
]))]
pub(super) struct Import {
    /// A repository, its .muninn/knowledge, or a folder of Markdown files
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
                    "{}: refused: {}",
                    output::sanitize_field(&refused.path),
                    output::sanitize_field(&refused.reason)
                ));
            }
            output::note(&format!(
                "{} imported from {}, {} already here, {} refused",
                output::plural(done.imported.len(), "file"),
                output::sanitize_field(&done.from),
                done.same.len(),
                done.refused.len()
            ));
        }
        Ok(if done.refused.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

impl From<ImportError> for CliError {
    fn from(error: ImportError) -> Self {
        let message = error.to_string();
        match error {
            ImportError::Write(error) => error.into(),
            ImportError::NotADirectory { .. } => CliError::new(Exit::NotFound, message),
            ImportError::NoKnowledge { .. } => {
                CliError::new(Exit::NotFound, message).hint("name the folder in it that has the Markdown files")
            }
            ImportError::Itself { .. } => CliError::new(Exit::Usage, message),
        }
    }
}
