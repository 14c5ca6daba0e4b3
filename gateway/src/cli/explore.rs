//! `muninn explore`: a model explores the repository for one question.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use muninn_backend::RemoteModel;
use muninn_config::Config;
use muninn_context_engine::explore::{Ended, ExploreOutcome, Observer, Recorder, Recording};
use muninn_core::{ExplorerError, explorer};
use muninn_text::model::Model;
use muninn_text::redact;
use serde_json::json;

use super::log;
use super::output::{self, plural};
use super::progress::ProgressLine;
use super::{CliError, Common, Exit, examples};

/// Let a model explore this repository, and print the places that answer a question
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn explore \"Where is a session's id derived?\"", "Print places and an answer"),
    ("muninn explore --trace --model qwen3 \"Who calls refill?\"", "Show each tool call and its cost"),
    ("muninn explore --replay replies.jsonl \"Who calls refill?\"", "Repeat a recorded exploration without a model"),
]))]
pub(crate) struct Explore {
    /// The question
    question: String,
    /// The model that explores [default: the model of `[explore]`, else the configured or discovered model]
    #[arg(long)]
    model: Option<String>,
    /// Record the model's replies in FILE, one per line
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    record: Option<PathBuf>,
    /// Take the replies from a recording instead of a model
    #[arg(long, value_name = "FILE", conflicts_with = "model")]
    replay: Option<PathBuf>,
    /// Show each tool call with its cost and result
    #[arg(long)]
    trace: bool,
    /// Print one JSON object: receipt, citations, files, answer, trace
    #[arg(long)]
    json: bool,
}

impl Explore {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        log::to_stderr("warn");
        let config = common.configuration(None)?;
        let repository = common.workspace_with(&config)?;
        if let Some(problem) = &repository.problem {
            return Err(CliError::no_repository(problem));
        }
        let model: Box<dyn Model> = match &self.replay {
            Some(file) => Box::new(read_recording(file)?),
            None => Box::new(self.explorer(&config)?),
        };
        let progress = ProgressLine::new();
        let report = repository.refresh(&progress);
        progress.finish();
        report.map_err(|error| CliError::new(Exit::Failure, error.to_string()))?;
        output::note(&format!("exploring with {}", model.id()));
        let recorder = Recorder::of(&*model);
        let explored = repository.explore(&config, &self.question, &recorder, &PrintCalls);
        let (found, id) = explored.ok_or_else(|| CliError::no_repository("there is no repository to explore"))?;
        if let Some(file) = &self.record {
            let written = File::create(file).and_then(|file| recorder.finish().write(BufWriter::new(file)));
            let message = |error| format!("cannot write the recording {}: {error}", file.display());
            written.map_err(|error| CliError::new(Exit::Failure, message(error)))?;
        }
        self.print(&id, &found);
        let failed = found.trace.ended == Ended::Model;
        Ok(if failed { ExitCode::from(Exit::Failure as u8) } else { ExitCode::SUCCESS })
    }

    /// The model that explores: that of `--model`, of `[explore]`, or the one that `muninn ask` uses.
    fn explorer(&self, config: &Config) -> Result<RemoteModel, CliError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(runtime.block_on(explorer(config, self.model.as_deref()))?)
    }

    fn print(&self, id: &str, found: &ExploreOutcome) {
        if self.json {
            output::json(&json!({
                "receipt": id, "citations": found.trace.citations, "files": found.files,
                "answer": found.trace.answer, "trace": found.trace,
            }));
            return;
        }
        for citation in &found.trace.citations {
            output::line(citation);
        }
        if found.citations.is_empty() {
            output::note("the model cited no places; the files that match the question best:");
            for file in found.files.iter().take(5) {
                output::line(&file.printed());
            }
        }
        if let Some(answer) = &found.trace.answer {
            output::line(&format!("\n{answer}"));
        }
        if self.trace {
            output::line("");
            output::print(&found.trace.text());
        }
        let totals = found.trace.totals();
        output::note(&format!(
            "{}: {} in {}, {} + {} tokens, {:.1} s; receipt {id}",
            found.trace.ended.label(),
            plural(totals.calls as usize, "call"),
            plural(totals.turns as usize, "turn"),
            totals.input,
            totals.output,
            found.trace.ms / 1e3,
        ));
        if let Some(problem) = &found.trace.problem {
            output::note(&format!("reason: {problem}"));
        }
    }
}

fn read_recording(file: &Path) -> Result<Recording, CliError> {
    let message = |error: &dyn std::error::Error| format!("cannot read the recording {}: {error}", file.display());
    let open = File::open(file).map_err(|error| CliError::new(Exit::NotFound, message(&error)))?;
    Recording::read(BufReader::new(open)).map_err(|error| CliError::new(Exit::Failure, message(&error)))
}

impl From<ExplorerError> for CliError {
    fn from(error: ExplorerError) -> Self {
        let message = error.to_string();
        match error {
            ExplorerError::BlockingClient(_) => CliError::new(Exit::Failure, message),
            ExplorerError::NoModel => CliError::new(Exit::Config, message).hint(
                "start a model server on this machine, or name one with `backend` and `model` under [explore] in muninn.toml",
            ),
        }
    }
}

/// Prints each tool call to stderr when it starts.
struct PrintCalls;

impl Observer for PrintCalls {
    fn calls(&self, tool: &str, arguments: &str) {
        output::note(&redact(&format!("  {tool} {arguments}")));
    }
}
