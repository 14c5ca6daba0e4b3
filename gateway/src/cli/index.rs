//! `muninn index`: brings the index up to date and says what is in it.

use std::process::ExitCode;

use clap::Args;
use muninn_context_engine::IndexReport;

use super::output::{self, plural};
use super::progress::ProgressLine;
use super::{CliError, Common, Exit};
use crate::config::paths;
use crate::server::Repository;

/// Bring the index up to date.
#[derive(Args)]
pub(crate) struct Index {
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

impl Index {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        output::log_to_stderr("warn");
        let config = common.configuration(None)?;
        let repository = Repository::open(&common.directory()?, &config, &paths::state_dir()?);
        if let Some(problem) = repository.problem {
            return Err(CliError::new(Exit::NotFound, problem)
                .hint("run it inside a git repository, or name one with --root DIR"));
        }
        let progress = ProgressLine::new();
        let report = repository.refresh(&progress);
        progress.finish();
        let Some(report) = report.map_err(|error| CliError::new(Exit::Failure, error))? else {
            return Ok(ExitCode::SUCCESS);
        };
        if self.json {
            output::json(&report);
        } else {
            output::line(&summary(&report));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// A report in one line, notes below.
pub(crate) fn summary(report: &IndexReport) -> String {
    let mut text = format!(
        "indexed {} ({} unchanged), {}, {}, in {} ms",
        plural(report.files, "file"),
        report.reused,
        plural(report.chunks, "chunk"),
        plural(report.memories, "memory item"),
        report.millis
    );
    for note in &report.notes {
        text.push_str(&format!("\nnote: {note}"));
    }
    text
}
