//! `muninn reconcile`: what sessions learned becomes main memory.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use http::HeaderMap;
use muninn_context_engine::Progress;
use muninn_memory::Store;
use muninn_memory::embed::StaticVectors;
use muninn_memory::reconcile::judge::Tools;
use muninn_memory::reconcile::{
    Asked, Judging, ReconcileError, ReconcileOptions, Reconciled, Reconciler, ReconcilerLimits, reconcile,
};
use serde_json::json;

use crate::backend::{Courier, RemoteModel, Router};
use crate::cli::output::{self, plural};
use crate::cli::progress::ProgressLine;
use crate::cli::{CliError, Common, Exit};
use crate::config::{Config, paths};
use crate::store::{Outcome, Receipt, SqliteStore, Store as _};

/// Make what sessions learned part of main memory: duplicates fold, contradictions wait for you
#[derive(Args)]
#[command(
    after_help = "Nothing is committed: look at `git diff .muninn`, then commit it. A main.jsonl with conflict markers, as a merge on a forge may leave it, is mended by the same command."
)]
pub(crate) struct Reconcile {
    /// Keep what the sessions' files held, in .muninn/memory/sessions/archive/
    #[arg(long)]
    archive: bool,
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Do it on this branch, though it is not the default one
    #[arg(long)]
    here: bool,
    /// Move what is worth least to .muninn/memory/archive/, until main has at most `[memory] max_main_bytes`
    #[arg(long)]
    prune: bool,
    /// Ask no model, though `[memory.reconciler]` names one
    #[arg(long)]
    no_llm: bool,
    /// Print JSON: consolidated, duplicates, superseded, conflicts, open, pruned, asked, segments, notes
    #[arg(long)]
    json: bool,
}

impl Reconcile {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        output::log_to_stderr("error");
        let config = common.configuration(None)?;
        let (store, max_main_bytes) = super::store_of(common, &config)?;
        let options = ReconcileOptions {
            archive: self.archive,
            dry_run: self.dry_run,
            here: self.here,
            max_main_bytes: self.prune.then_some(max_main_bytes),
        };
        let progress = ProgressLine::new();
        let (compared, asking) = (Counted(&progress, "comparing"), Counted(&progress, "asking about"));
        let model = self.model(&config)?;
        let reconciler = model
            .as_ref()
            .map(|(model, limits)| Reconciler::new(model, *limits, &asking));
        let judging = Judging {
            judge: &Tools::new(),
            embedder: StaticVectors::shipped().ok().map(|vectors| Arc::new(vectors) as _),
            progress: &compared,
            reconciler: reconciler.as_ref(),
        };
        let started = Instant::now();
        let done = reconcile(&store, options, &judging, &mut |_| {});
        progress.finish();
        let done = done.map_err(said)?;
        if let Some(asked) = done.asked.as_ref().filter(|asked| asked.input > 0) {
            account(asked, &store, &config, started)?;
        }
        if self.json {
            output::json(&as_json(&done));
        } else {
            self.print(&done);
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The model to ask, and what that may cost; nothing where nobody is to be asked, or only to be counted what would be.
    fn model(&self, config: &Config) -> Result<Option<(RemoteModel, ReconcilerLimits)>, CliError> {
        let Some(reconciler) = config.reconciler.as_ref().filter(|_| !self.no_llm) else {
            return Ok(None);
        };
        let Some(candidate) = Router::new(config, 0).chosen(&reconciler.model) else {
            return Ok(None);
        };
        let courier = Courier::start("muninn-models", config.limits.connect_timeout)
            .map_err(|error| CliError::new(Exit::Failure, error.to_string()))?;
        let model = RemoteModel::new(&courier, candidate, &reconciler.model.model, &HeaderMap::new());
        let tokens = if self.dry_run { 0 } else { reconciler.limits.tokens };
        let limits = ReconcilerLimits {
            tokens,
            ..reconciler.limits
        };
        Ok(Some((model, limits)))
    }

    fn print(&self, done: &Reconciled) {
        if let Some(asked) = done.asked.as_ref().filter(|asked| asked.open > 0) {
            output::note(&self.asked(asked));
        }
        for note in &done.notes {
            output::note(&output::tame_line(note));
        }
        let summary = done.summary;
        let mut told = vec![
            format!("{} consolidated", memories(summary.consolidated)),
            format!("{} removed", plural(summary.duplicates, "duplicate")),
        ];
        if summary.superseded > 0 {
            told.push(format!("{} superseded", memories(summary.superseded)));
        }
        told.push(plural(summary.conflicts, "conflict"));
        if self.prune {
            told.push(format!("{} archived", memories(done.pruned)));
        }
        let would = if self.dry_run { "would be: " } else { "" };
        output::line(&format!("{would}{}", told.join(", ")));
        if summary.open > 0 {
            output::note(&format!(
                "{} open; `muninn conflicts` shows them",
                plural(summary.open, "conflict")
            ));
        }
    }

    fn asked(&self, asked: &Asked) -> String {
        let model = &asked.model;
        if self.dry_run {
            return format!("{model} would be asked about {}", plural(asked.open, "open pair"));
        }
        match &asked.problem {
            None => format!("{model}: {}", in_words(asked)),
            Some(problem) => format!(
                "{model}: {}; the others are as rules leave them: {problem}",
                in_words(asked)
            ),
        }
    }
}

/// How far something is.
struct Counted<'a>(&'a ProgressLine, &'static str);

impl Progress for Counted<'_> {
    fn advance(&self, done: usize, total: usize) {
        self.0.counted(self.1, done, total);
    }
}

/// Leaves a receipt of what a model cost.
fn account(asked: &Asked, store: &Store, config: &Config, started: Instant) -> Result<(), CliError> {
    let (receipts, _) = SqliteStore::open(&paths::state_dir()?, &config.limits)
        .map_err(|error| CliError::new(Exit::Failure, super::with_causes(&error)))?;
    let question = "reconcile what sessions learned";
    receipts.note_receipt(Receipt {
        model: asked.model.clone(),
        backend: asked.model.split('/').next().unwrap_or_default().to_owned(),
        outcome: Outcome::Reconciled,
        reason: Some(in_words(asked)),
        ms: started.elapsed().as_secs_f64() * 1e3,
        ..Receipt::of(ulid::Ulid::generate().to_string(), store.worktree().root(), question)
    });
    receipts.flush();
    Ok(())
}

/// `5 of 7 open pairs answered, 3200 + 400 tokens`.
fn in_words(asked: &Asked) -> String {
    format!(
        "{} of {} answered, {} + {} tokens",
        asked.answered,
        plural(asked.open, "open pair"),
        asked.input,
        asked.output
    )
}

fn memories(count: usize) -> String {
    match count {
        1 => "1 memory".to_owned(),
        count => format!("{count} memories"),
    }
}

fn as_json(done: &Reconciled) -> serde_json::Value {
    let summary = done.summary;
    json!({
        "consolidated": summary.consolidated,
        "duplicates": summary.duplicates,
        "superseded": summary.superseded,
        "conflicts": summary.conflicts,
        "open": summary.open,
        "pruned": done.pruned,
        "asked": done.asked,
        "segments": done.segments,
        "notes": done.notes,
    })
}

fn said(error: ReconcileError) -> CliError {
    let told = CliError::new(Exit::Failure, super::with_causes(&error));
    match error {
        ReconcileError::NotDefault { default, .. } => {
            told.hint(format!("check out {default}, or say --here to do it on this branch"))
        }
        ReconcileError::Changed { .. } => told.hint("nothing is lost; run it again"),
        ReconcileError::Busy => told.hint("wait for it, and ask again"),
        ReconcileError::Directory(_) | ReconcileError::Io { .. } => told,
    }
}
