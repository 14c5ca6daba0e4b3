//! `muninn flush`: writes waiting records into segments now.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::{CliError, Common, examples, plural};
use crate::cli::log;
use crate::cli::output;

/// Write waiting records into memory now, instead of when the gateway is idle
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn flush", "For example before a commit"),
    ("muninn flush --json", "Segments, records and what waits, as JSON"),
]))]
pub(crate) struct Flush {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Flush {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        log::to_stderr("error");
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
        let directory = memory.place();
        match flushed.records {
            0 => output::line("no records to write"),
            records => output::line(&format!("{} written:", plural(records, "record"))),
        }
        for segment in &flushed.segments {
            output::line(&format!("  {directory}{segment}"));
        }
        for waiting in &flushed.waiting {
            let branch = waiting.branch.as_deref().unwrap_or("a detached HEAD");
            let records = plural(waiting.records, "record");
            output::line(&format!("{branch}: {records} waiting until it is checked out or merged"));
        }
        Ok(ExitCode::SUCCESS)
    }
}
