//! `muninn conflicts`: shows the open conflicts between memories.

use std::process::ExitCode;

use clap::Args;
use muninn_core::{ConflictView, conflicts};
use muninn_reconcile::OpenConflict;
use serde_json::json;

use super::sides;
use crate::cli::output::{self, plural};
use crate::cli::{CliError, Common, examples};

/// Show memories that contradict each other
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn conflicts", "All open conflicts"),
    ("muninn conflicts 7QK2", "The conflict whose id contains 7QK2"),
]))]
pub(crate) struct Conflicts {
    /// The conflict's id, or any unambiguous part of it [default: all open conflicts]
    id: Option<String>,
    /// Print JSON: conflicts with id, reasons, by, proposal, and sides with text, differing words, subject, entities, date, session, branch, author, confidence and files
    #[arg(long)]
    json: bool,
}

impl Conflicts {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        let worktree = common.worktree()?;
        let open = conflicts(&worktree)?;
        let open = match &self.id {
            Some(part) => vec![OpenConflict::find(&open, part)?],
            None => open.iter().collect(),
        };
        let views: Vec<_> = open.iter().map(|open| ConflictView::of(&worktree, open)).collect();
        if self.json {
            output::json(&json!({"conflicts": views}));
            return Ok(ExitCode::SUCCESS);
        }
        for view in &views {
            output::line(&sides::text(view));
        }
        match open.len() {
            0 => output::note("there are no open conflicts"),
            count => output::note(&format!(
                "{}; resolve one with `muninn resolve ID --keep=left|right|both|none` or `--write TEXT`, or all with `muninn resolve`",
                plural(count, "open conflict")
            )),
        }
        Ok(ExitCode::SUCCESS)
    }
}
