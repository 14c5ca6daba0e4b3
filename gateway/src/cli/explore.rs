//! `muninn explore`: a model explores the repository for one question, from the shell.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use muninn_context_engine::explore::{Ended, ExploreOutcome, Observer, Recorder, Recording};
use muninn_memory::model::Model;
use muninn_memory::redact;
use serde_json::json;

use super::output::{self, plural};
use super::progress::ProgressLine;
use super::{CliError, Common, Exit};
use crate::app::{ExplorerError, explorer};
use crate::backend::RemoteModel;
use crate::config::Config;

/// Have a model explore this repository for a question.
#[derive(Args)]
pub(crate) struct Explore {
    /// The question
    question: String,
    /// The model to ask [default: what `[explore]` names, else the configured or found one]
    #[arg(long)]
    model: Option<String>,
    /// Write what the model says into this file, a line for each reply
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    record: Option<PathBuf>,
    /// Have a recording say what the model said, instead of a model
    #[arg(long, value_name = "FILE", conflicts_with = "model")]
    replay: Option<PathBuf>,
    /// Show each call with what it cost and returned
    #[arg(long)]
    trace: bool,
    /// Print one JSON object: receipt, citations, files, answer, trace
    #[arg(long)]
    json: bool,
}

impl Explore {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        output::log_to_stderr("warn");
        let config = common.configuration(None)?;
        let repository = common.workspace_of(&config)?;
        if let Some(problem) = &repository.problem {
            return Err(CliError::new(Exit::NotFound, problem.clone())
                .hint("run it inside a git repository, or name one with --root DIR"));
        }
        let model: Box<dyn Model> = match &self.replay {
            Some(file) => Box::new(recorded(file)?),
            None => Box::new(self.explorer(&config)?),
        };
        let progress = ProgressLine::new();
        let report = repository.refresh(&progress);
        progress.finish();
        report.map_err(|error| CliError::new(Exit::Failure, error.to_string()))?;
        output::note(&format!("exploring with {}", model.id()));
        let recorder = Recorder::of(&*model);
        let explored = repository.explore(&config, &self.question, &recorder, &Shown);
        let (found, id) = explored.ok_or_else(|| CliError::new(Exit::NotFound, "there is no repository"))?;
        if let Some(file) = &self.record {
            recorder.finish().write(BufWriter::new(File::create(file)?))?;
        }
        self.print(&id, &found);
        let failed = found.trace.ended == Ended::Model;
        Ok(if failed {
            ExitCode::from(Exit::Failure as u8)
        } else {
            ExitCode::SUCCESS
        })
    }

    /// The model that explores: the one of `--model`, of `[explore]`, or the one that `ask` would ask.
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
            output::note("it cites nothing; the files that fit best by their words:");
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
            output::note(&format!("because: {problem}"));
        }
    }
}

fn recorded(file: &Path) -> Result<Recording, CliError> {
    let open =
        File::open(file).map_err(|error| CliError::new(Exit::NotFound, format!("{}: {error}", file.display())))?;
    Recording::read(BufReader::new(open))
        .map_err(|error| CliError::new(Exit::Failure, format!("{}: {error}", file.display())))
}

impl From<ExplorerError> for CliError {
    fn from(error: ExplorerError) -> Self {
        let message = error.to_string();
        match error {
            ExplorerError::Courier(_) => CliError::new(Exit::Failure, message),
            ExplorerError::NoModel => CliError::new(Exit::Config, message).hint(
                "start a model server on this machine, or name one with `backend` and `model` under [explore] in muninn.toml",
            ),
        }
    }
}

/// Each call on a line of its own, while somebody waits.
struct Shown;

impl Observer for Shown {
    fn calls(&self, tool: &str, arguments: &str) {
        output::note(&redact(&format!("  {tool} {arguments}")));
    }
}
