//! `muninn history`: what happened to a record.

use std::process::ExitCode;

use clap::Args;
use muninn_team::HistoryEvent;
use serde_json::json;

use super::{CliError, Common, examples};
use crate::cli::log;
use crate::cli::output;

/// Show who wrote a record, what contradicted it, and what was decided
///
/// Each event has its date, its author and the branch. A decision has the note of the person who made it.
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn history 7QK2", "The history of the record whose id contains 7QK2"),
    ("muninn history 7QK2 --json", "The same as JSON"),
]))]
pub(crate) struct History {
    /// The id of a record, a conflict or a decision, or any unambiguous part of it
    id: String,
    /// Print JSON: events with date, event, id, author, branch, text
    #[arg(long)]
    json: bool,
}

impl History {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        log::to_stderr("error");
        let events = common.workspace()?.history(&self.id)?;
        if self.json {
            output::json(&json!({"events": events}));
            return Ok(ExitCode::SUCCESS);
        }
        events.iter().for_each(print_event);
        Ok(ExitCode::SUCCESS)
    }
}

pub(crate) fn print_event(event: &HistoryEvent) {
    let date: String = event.date.chars().take(10).collect();
    let by = event.author.as_ref().map(|author| format!(" by {author}")).unwrap_or_default();
    let on = event.branch.as_ref().map(|branch| format!(" on {branch}")).unwrap_or_default();
    let heading = output::sanitize_line(&format!("{date} {}{by}{on} ({})", event.event, event.id));
    output::line(&format!("{heading}\n    {}", output::sanitize_line(&event.text)));
}
