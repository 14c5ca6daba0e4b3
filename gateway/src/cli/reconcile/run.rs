//! `muninn reconcile`: merges the records of sessions into main memory.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::Args;
use muninn_base::Progress;
use muninn_config::Config;
use muninn_core::{ReconcileRequest, Workspace};
use muninn_reconcile::{ModelReport, Reconciled};
use muninn_team::records::SESSIONS;
use serde_json::json;

use super::folds;
use crate::cli::log;
use crate::cli::memory::print_event;
use crate::cli::output::{self, plural};
use crate::cli::progress::ProgressLine;
use crate::cli::{CliError, Common, examples, is_confirmed};

/// Merge what sessions learned into main memory
///
/// Equal statements fold: the newest is recalled, and each fold is listed with its id. Pairs that may contradict each other are
/// listed for you, an agent or a model to decide. Nothing is committed: review `git diff .muninn`, then commit it. A main.jsonl
/// in which a merge left conflict markers is repaired.
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn reconcile --dry-run", "Show what would change"),
    ("muninn reconcile", "Reconcile on the default branch"),
    ("muninn reconcile --log", "List what people, agents and models decided"),
    ("muninn reconcile --squash-sessions", "Combine this branch's files of sessions into one, for a pull request"),
]))]
pub(crate) struct Reconcile {
    /// Keep copies of the sessions' files in .muninn/memory/sessions/archive/
    #[arg(long)]
    archive: bool,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Reconcile on this branch although it is not the default branch
    #[arg(long)]
    here: bool,
    /// Move the least valuable records to .muninn/memory/archive/ until main has at most `[memory] max_main_bytes`
    #[arg(long)]
    prune: bool,
    /// Reconcile nothing; combine the files of sessions that were written on this branch into one
    #[arg(long, conflicts_with_all = ["archive", "dry_run", "here", "prune"])]
    squash_sessions: bool,
    /// Reconcile nothing; list the folds of earlier versions, which also folded different texts
    #[arg(long, conflicts_with_all = ["archive", "dry_run", "here", "prune", "squash_sessions"])]
    review_folds: bool,
    /// Reconcile nothing; list what people, agents and models decided about pairs, the newest first
    #[arg(long, conflicts_with_all = ["archive", "dry_run", "here", "prune", "squash_sessions", "review_folds"])]
    log: bool,
    /// Do not ask the model of `[memory.reconciler]`
    #[arg(long)]
    no_llm: bool,
    /// Print JSON: consolidated, duplicates, conflicts, undecided, open, withdrawn, pruned, folds, asked, segments, notes. With --log: decisions with date, event, id, author, branch, text, sides
    #[arg(long)]
    json: bool,
}

impl Reconcile {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        log::to_stderr("error");
        let workspace = super::workspace(common)?;
        if self.squash_sessions {
            return self.squash(&workspace);
        }
        if self.review_folds {
            return folds::review(&workspace, self.json);
        }
        if self.log {
            return log(&workspace, self.json);
        }
        let request = ReconcileRequest {
            archive: self.archive,
            dry_run: self.dry_run,
            here: self.here,
            prune: self.prune,
            ask_model: !self.no_llm,
        };
        let mut config = common.configuration(None)?;
        let done = reconcile(&workspace, &config, request)?;
        if self.json {
            output::json(&as_json(&done));
            return Ok(ExitCode::SUCCESS);
        }
        self.print(&done);
        let is_unasked = self.no_llm || self.dry_run || !std::io::stdin().is_terminal();
        let offer = if is_unasked { None } else { workspace.reconciler_offer(&config)? };
        if let Some(offer) = offer
            && is_confirmed(&format!(
                "{}, about {} tokens, with {}?",
                plural(offer.cost.pairs, "undecided pair"),
                offer.cost.tokens,
                output::sanitize_line(&offer.id)
            ))?
        {
            config.reconciler = Some(offer.reconciler);
            self.print(&reconcile(&workspace, &config, request)?);
        }
        Ok(ExitCode::SUCCESS)
    }

    fn squash(&self, workspace: &Workspace) -> Result<ExitCode, CliError> {
        let squashed = workspace.squash_sessions()?;
        match (&squashed, self.json) {
            (_, true) => output::json(&json!({
                "combined": squashed.as_ref().map_or(0, |(count, _)| *count),
                "segment": squashed.as_ref().map(|(_, name)| name),
            })),
            (Some((count, name)), false) => output::line(&format!("{count} files combined into {SESSIONS}/{name}")),
            (None, false) => output::line("there are no files to combine"),
        }
        Ok(ExitCode::SUCCESS)
    }

    fn print(&self, done: &Reconciled) {
        if let Some(asked) = done.asked.as_ref().filter(|asked| asked.open > 0) {
            output::note(&self.asked(asked));
        }
        for note in &done.notes {
            output::note(&output::sanitize_line(note));
        }
        let summary = done.summary;
        let mut parts = vec![
            format!("{} consolidated", memories(summary.consolidated)),
            format!("{} removed", plural(summary.duplicates, "duplicate")),
        ];
        if summary.conflicts > 0 {
            parts.push(plural(summary.conflicts, "conflict"));
        }
        parts.push(plural(summary.undecided, "undecided pair"));
        if self.prune {
            parts.push(format!("{} archived", memories(done.pruned)));
        }
        folds::note(&done.folds);
        if done.withdrawn > 0 {
            output::note(&format!(
                "{} withdrawn: the commits that brought them were reverted; they stay in main and return with the commits",
                memories(done.withdrawn)
            ));
        }
        let would = if self.dry_run { "would be: " } else { "" };
        output::line(&format!("{would}{}", parts.join(", ")));
        if summary.open > 0 {
            output::note(&format!("{} open; `muninn conflicts` shows all", summary.open));
        }
    }

    fn asked(&self, asked: &ModelReport) -> String {
        let model = &asked.model;
        if self.dry_run {
            return format!("{model} would be asked about {}", plural(asked.open, "open pair"));
        }
        match &asked.problem {
            None => format!("{model}: {asked}"),
            Some(problem) => format!("{model}: {asked}; rules decided the other pairs, because {problem}"),
        }
    }
}

fn reconcile(workspace: &Workspace, config: &Config, request: ReconcileRequest) -> Result<Reconciled, CliError> {
    let progress = ProgressLine::new();
    let (comparing, asking) = (CountProgress(&progress, "comparing"), CountProgress(&progress, "asking about"));
    let done = workspace.reconcile(config, request, &comparing, &asking);
    progress.finish();
    Ok(done?)
}

/// Lists the decisions about memories, each with their texts.
fn log(workspace: &Workspace, as_json: bool) -> Result<ExitCode, CliError> {
    let decisions = workspace.decisions()?;
    if as_json {
        output::json(&json!({"decisions": decisions}));
        return Ok(ExitCode::SUCCESS);
    }
    for decision in &decisions {
        print_event(&decision.event);
        for side in &decision.sides {
            output::line(&format!("    {}", output::sanitize_line(&format!("{} {}", side.id, side.text))));
        }
    }
    if !decisions.is_empty() {
        output::note("`muninn link ID --apart OTHER` undoes a decision");
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows a count on the progress line, with a verb.
struct CountProgress<'a>(&'a ProgressLine, &'static str);

impl Progress for CountProgress<'_> {
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
        "conflicts": summary.conflicts,
        "undecided": summary.undecided,
        "open": summary.open,
        "withdrawn": done.withdrawn,
        "pruned": done.pruned,
        "folds": done.folds,
        "asked": done.asked,
        "segments": done.segments,
        "notes": done.notes,
    })
}
