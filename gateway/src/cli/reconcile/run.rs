//! `muninn reconcile`: what sessions learned becomes main memory.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use muninn_context_engine::Progress;
use muninn_memory::embed::StaticVectors;
use muninn_memory::reconcile::judge::Tools;
use muninn_memory::reconcile::{Judging, ReconcileError, ReconcileOptions, Reconciled, reconcile};
use serde_json::json;

use crate::cli::output::{self, plural};
use crate::cli::progress::ProgressLine;
use crate::cli::{CliError, Common, Exit};

/// Make what sessions learned part of main memory: duplicates fold, contradictions wait for you
#[derive(Args)]
#[command(
    after_help = "Nothing is committed: look at `git diff .muninn`, then commit it. A main.jsonl with conflict markers, as a merge on a forge may leave it, is mended by the same command."
)]
pub(crate) struct Reconcile {
    /// Keep the sessions' files in .muninn/memory/sessions/archive/
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
    /// Print JSON: consolidated, duplicates, superseded, conflicts, open, pruned, segments, notes
    #[arg(long)]
    json: bool,
}

impl Reconcile {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        output::log_to_stderr("error");
        let (store, max_main_bytes) = super::store(common)?;
        let options = ReconcileOptions {
            archive: self.archive,
            dry_run: self.dry_run,
            here: self.here,
            max_main_bytes: self.prune.then_some(max_main_bytes),
        };
        let progress = ProgressLine::new();
        let judging = Judging {
            judge: &Tools::new(),
            embedder: StaticVectors::shipped().ok().map(|vectors| Arc::new(vectors) as _),
            progress: &Compared(&progress),
        };
        let done = reconcile(&store, options, &judging, &mut |_| {});
        progress.finish();
        let done = done.map_err(said)?;
        if self.json {
            output::json(&as_json(&done));
        } else {
            self.print(&done);
        }
        Ok(ExitCode::SUCCESS)
    }

    fn print(&self, done: &Reconciled) {
        for note in &done.notes {
            output::note(note);
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
}

/// How many of the new memories have been compared.
struct Compared<'a>(&'a ProgressLine);

impl Progress for Compared<'_> {
    fn advance(&self, done: usize, total: usize) {
        self.0.counted("comparing", done, total);
    }
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
        ReconcileError::Busy => told.hint("wait for it, and ask again"),
        ReconcileError::Directory(_) | ReconcileError::Io { .. } => told,
    }
}
