//! `muninn reconcile`: what sessions learned becomes main memory.

use std::process::ExitCode;

use clap::Args;
use muninn_context_engine::Progress;
use muninn_memory::reconcile::{ModelReport, Reconciled};
use serde_json::json;

use crate::app::ReconcileRequest;
use crate::cli::output::{self, plural};
use crate::cli::progress::ProgressLine;
use crate::cli::{CliError, Common};

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
        let workspace = super::workspace(common)?;
        let request = ReconcileRequest {
            archive: self.archive,
            dry_run: self.dry_run,
            here: self.here,
            prune: self.prune,
            ask_model: !self.no_llm,
        };
        let progress = ProgressLine::new();
        let (comparing, asking) = (Counted(&progress, "comparing"), Counted(&progress, "asking about"));
        let done = workspace.reconcile(&common.configuration(None)?, request, &comparing, &asking);
        progress.finish();
        let done = done?;
        if self.json {
            output::json(&as_json(&done));
        } else {
            self.print(&done);
        }
        Ok(ExitCode::SUCCESS)
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

    fn asked(&self, asked: &ModelReport) -> String {
        let model = &asked.model;
        if self.dry_run {
            return format!("{model} would be asked about {}", plural(asked.open, "open pair"));
        }
        match &asked.problem {
            None => format!("{model}: {asked}"),
            Some(problem) => format!("{model}: {asked}; the others are as rules leave them: {problem}"),
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
