//! `muninn explore`: a model explores the repository for one question, from the shell.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use http::HeaderMap;
use muninn_context_engine::explore::{Ended, Found, Observer, Recorder, Recording};
use muninn_memory::model::Model;
use muninn_memory::model::block_on;
use muninn_memory::redact;
use muninn_repo_tools::Supervisor;
use serde_json::json;

use super::output::{self, plural};
use super::progress::ProgressLine;
use super::{CliError, Common, Exit};
use crate::app::Workspace;
use crate::backend::{Candidate, Courier, RemoteModel, Router, Target};
use crate::config::{Config, paths};
use crate::store::{Outcome, Receipt, SqliteStore, Store};
use crate::wire::WireFormat;

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
        let state_dir = paths::state_dir()?;
        let repository = common.workspace_of(&config)?;
        let Some(engine) = repository.engine.clone() else {
            let problem = repository.problem.unwrap_or_default();
            return Err(CliError::new(Exit::NotFound, problem)
                .hint("run it inside a git repository, or name one with --root DIR"));
        };
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
        let found = engine.explore_deep(&self.question, &config.explore.limits(), &recorder, &Shown);
        if let Some(file) = &self.record {
            recorder.finish().write(BufWriter::new(File::create(file)?))?;
        }
        let receipt = receipt(&self.question, &repository, &found);
        let id = receipt.id.clone();
        self.print(&id, &found);
        if let Ok((store, _)) = SqliteStore::open(&state_dir, &config.limits) {
            store.note_receipt(receipt);
            block_on(store.flush());
        }
        let failed = found.trace.ended == Ended::Model;
        Ok(if failed {
            ExitCode::from(Exit::Failure as u8)
        } else {
            ExitCode::SUCCESS
        })
    }

    /// The model that explores: the one of `--model`, of `[explore]`, or the one that `ask` would ask.
    fn explorer(&self, config: &Config) -> Result<RemoteModel, CliError> {
        let courier = Courier::start(&Supervisor::default(), config.limits.connect_timeout)
            .map_err(|error| CliError::new(Exit::Failure, error.to_string()))?;
        let router = Router::new(config, 0);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let candidate = match (router.explorer(&config.explore), &self.model) {
            (Some(candidate), None) => Some((candidate, String::new())),
            (named, model) => runtime.block_on(routed(&router, named, model.as_deref())),
        };
        let (candidate, model) = candidate.ok_or_else(|| {
            CliError::new(Exit::Config, "no model is connected that could explore").hint(
                "start a model server on this machine, or name one with `backend` and `model` under [explore] in muninn.toml",
            )
        })?;
        Ok(RemoteModel::new(&courier, candidate, &model, &HeaderMap::new()))
    }

    fn print(&self, id: &str, found: &Found) {
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
            found.trace.ended.words(),
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

/// Where a model's name leads; without one, the model that answers questions from the command line.
async fn routed(router: &Router, named: Option<Candidate>, model: Option<&str>) -> Option<(Candidate, String)> {
    let Some(model) = model else {
        let (backend, model) = router.default_model().await?;
        let format = backend.format_for(WireFormat::Chat);
        let rename = Some(model.clone());
        let candidate = Candidate {
            backend,
            format,
            rename,
        };
        return Some((candidate, model));
    };
    // The backend of `[explore]`, asked for another of its models.
    if let Some(candidate) = named {
        let rename = Some(model.to_owned());
        return Some((Candidate { rename, ..candidate }, model.to_owned()));
    }
    let target = router
        .route_for(WireFormat::Chat, model, &HeaderMap::new(), &|_| true)
        .await
        .ok()?;
    match target {
        Target::Candidates(candidates) => Some((candidates.into_iter().next()?, model.to_owned())),
        Target::Context => None,
    }
}

fn receipt(question: &str, repository: &Workspace, found: &Found) -> Receipt {
    Receipt {
        model: found.trace.model.clone(),
        backend: found.trace.model.split('/').next().unwrap_or_default().to_owned(),
        outcome: Outcome::Explored,
        reason: Some("asked for from the command line".to_owned()),
        ms: found.trace.ms,
        explore_ms: found.trace.ms,
        exploration: Some(Box::new(found.trace.clone())),
        ..Receipt::of(ulid::Ulid::generate().to_string(), &repository.root, question)
    }
}

/// Each call on a line of its own, while somebody waits.
struct Shown;

impl Observer for Shown {
    fn calls(&self, tool: &str, arguments: &str) {
        output::note(&redact(&format!("  {tool} {arguments}")));
    }
}
