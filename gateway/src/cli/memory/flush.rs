//! `muninn flush`: writes what was learned where it belongs, now.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::{CliError, Common, plural};
use crate::cli::output;

/// Write what was learned in sessions where it belongs, now
#[derive(Args)]
pub(crate) struct Flush {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Flush {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        output::log_to_stderr("error");
        let workspace = common.workspace()?;
        let memory = workspace.writable_memory()?;
        let flushed = memory.flush()?;
        if self.json {
            let waiting = flushed.waiting.iter().map(
                |waiting| json!({"session": waiting.session, "branch": waiting.branch, "records": waiting.records}),
            );
            output::json(&json!({
                "segments": flushed.segments,
                "records": flushed.records,
                "waiting": waiting.collect::<Vec<_>>(),
            }));
            return Ok(ExitCode::SUCCESS);
        }
        let place = memory.place();
        match flushed.records {
            0 => output::line("nothing to write"),
            records => output::line(&format!("{} written:", plural(records, "record"))),
        }
        for segment in &flushed.segments {
            output::line(&format!("  {place}{segment}"));
        }
        for waiting in &flushed.waiting {
            let branch = waiting.branch.as_deref().unwrap_or("a detached HEAD");
            let records = plural(waiting.records, "record");
            output::line(&format!(
                "{records} of {branch} wait until that is checked out or merged"
            ));
        }
        Ok(ExitCode::SUCCESS)
    }
}
