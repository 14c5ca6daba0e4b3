//! `muninn index`: updates the index and reports its contents.

use std::process::ExitCode;

use clap::Args;
use muninn_context_engine::IndexReport;
use muninn_core::Workspace;
use serde::Serialize;

use super::log;
use super::output::{self, plural};
use super::progress::ProgressLine;
use super::{CliError, Common, Exit, examples};

/// Update the index of this repository, and report its size
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn index", "Update the index; `muninn serve` does the same by itself"),
    ("muninn index --json", "The report as JSON"),
]))]
pub(crate) struct Index {
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

impl Index {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        log::to_stderr("warn");
        let config = common.configuration(None)?;
        let repository = common.workspace_with(&config)?;
        if let Some(problem) = repository.problem {
            return Err(CliError::no_repository(problem));
        }
        let progress = ProgressLine::new();
        let report = repository.refresh(&progress);
        progress.finish();
        let Some(report) = report.map_err(|error| CliError::new(Exit::Failure, error.to_string()))? else {
            return Ok(ExitCode::SUCCESS);
        };
        let report = Report::of(report, &repository, &progress);
        progress.finish();
        if self.json {
            output::json(&report);
        } else {
            output::line(&report.text());
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The report, as it is printed.
#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    index: IndexReport,
    /// Definitions in the symbol table.
    definitions: usize,
    /// Pairs of files of which one imports the other.
    imports: usize,
    /// Pairs of definitions of which one seems to call the other.
    calls: usize,
    /// Chunks with vectors.
    vectors: usize,
    /// Vectors that this run made.
    embedded: usize,
}

impl Report {
    /// Builds the graph and the vectors, which the index itself does not need.
    fn of(mut index: IndexReport, repository: &Workspace, progress: &ProgressLine) -> Report {
        let engine = repository.engine.as_ref();
        let filled = repository.embed(&|done, all| progress.counted("embedding memory:", done, all));
        let (definitions, imports, calls) = engine.map_or((0, 0, 0), |engine| engine.graph_size());
        index.notes.extend(filled.notes);
        Report {
            index,
            definitions,
            imports,
            calls,
            vectors: filled.embedded + filled.loaded,
            embedded: filled.embedded,
        }
    }

    fn text(&self) -> String {
        let mut text = summary(&self.index);
        let more = format!(
            "{}, {}, {}, {} ({} new)",
            plural(self.definitions, "definition"),
            plural(self.imports, "import"),
            plural(self.calls, "call"),
            plural(self.vectors, "vector"),
            self.embedded
        );
        text.insert_str(text.find('\n').unwrap_or(text.len()), &format!("\n{more}"));
        text
    }
}

/// The report in one line, with notes below.
pub(crate) fn summary(report: &IndexReport) -> String {
    let mut text = format!(
        "indexed {} ({} unchanged), {}, {}, in {} ms",
        plural(report.files, "file"),
        report.reused,
        plural(report.chunks, "chunk"),
        plural(report.memories, "memory item"),
        report.millis
    );
    let skipped = report.skipped.describe();
    if !skipped.is_empty() {
        text.push_str(&format!("\nnote: not indexed: {skipped}"));
    }
    for note in &report.notes {
        text.push_str(&format!("\nnote: {note}"));
    }
    text
}
