//! `muninn conflicts`: shows the open conflicts between memories.

use std::process::ExitCode;

use clap::Args;
use muninn_core::{ConflictView, conflicts};
use muninn_reconcile::{ConflictState, OpenConflict};
use serde_json::json;

use super::sides;
use crate::cli::output::{self, plural};
use crate::cli::{CliError, Common, examples};

/// Show memories that contradict each other, or may
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn conflicts", "All open conflicts, and a line for each undecided pair"),
    ("muninn conflicts 7QK2", "The conflict or the pair whose id contains 7QK2, in full"),
    ("muninn conflicts --undecided --json", "The next undecided pairs, for an agent: see `muninn resolve --by`"),
]))]
pub(crate) struct Conflicts {
    /// The id of a conflict or an undecided pair, or any unambiguous part of it [default: all]
    #[arg(conflicts_with = "undecided")]
    id: Option<String>,
    /// Only pairs that no person and no model has decided, the most certain first
    #[arg(long)]
    undecided: bool,
    /// Print JSON: conflicts with id, state, certainty, decisions, reasons, by, proposal, and sides with text, differing words, subject, entities, date, session, branch, author, confidence and files. With --undecided: the batch with id, instructions and pairs, and the number of undecided pairs
    #[arg(long)]
    json: bool,
}

impl Conflicts {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        if self.undecided && self.json {
            output::json(&json!({"batch": super::workspace(common)?.undecided()?}));
            return Ok(ExitCode::SUCCESS);
        }
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
        let (undecided, found): (Vec<_>, Vec<_>) =
            views.iter().partition(|view| view.state == ConflictState::Undecided && self.id.is_none());
        if !self.undecided {
            found.iter().for_each(|view| output::line(&sides::text(view)));
        }
        if !undecided.is_empty() {
            let is_pair = undecided.iter().all(|view| view.sides.len() == 2);
            let question = if is_pair { "do these two still both hold?" } else { "do these still all hold?" };
            output::line(&format!("{}; {question}", plural(undecided.len(), "undecided pair")));
            undecided.iter().for_each(|view| output::line(&sides::question(view)));
        }
        match views.len() {
            0 => output::note("there are no open conflicts and no undecided pairs"),
            _ => output::note(
                "decide one with `muninn resolve ID --keep=left|right|both|none` or `--write TEXT`, or all with `muninn resolve`; `muninn conflicts ID` shows one in full",
            ),
        }
        Ok(ExitCode::SUCCESS)
    }
}
