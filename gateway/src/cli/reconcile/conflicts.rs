//! `muninn conflicts`: what waits for a person.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::sides;
use crate::app::conflicts;
use crate::cli::output::{self, plural};
use crate::cli::{CliError, Common};

/// Show memories that contradict each other, for you to settle with `muninn resolve`
#[derive(Args)]
pub(crate) struct Conflicts {
    /// Print JSON: conflicts with id, reason, by, and left and right with text, subject, entities, date, session, author, confidence and files
    #[arg(long)]
    json: bool,
}

impl Conflicts {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        let worktree = common.worktree()?;
        let open = conflicts(&worktree)?;
        if self.json {
            let all: Vec<_> = open.iter().map(|open| sides::as_json(&worktree, open)).collect();
            output::json(&json!({"conflicts": all}));
            return Ok(ExitCode::SUCCESS);
        }
        for one in &open {
            output::line(&sides::shown(&worktree, one));
        }
        match open.len() {
            0 => output::note("there are no open conflicts"),
            count => output::note(&format!(
                "{}; settle one with `muninn resolve ID --keep=left|right|both`, or all with `muninn resolve`",
                plural(count, "open conflict")
            )),
        }
        Ok(ExitCode::SUCCESS)
    }
}
