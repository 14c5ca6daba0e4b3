//! `muninn recall`: searches memory.

use std::process::ExitCode;

use clap::Args;
use muninn_base::{PathError, RelPath};
use muninn_context_engine::Fit;
use muninn_core::{RecallQuery, RecalledMemory, Workspace};
use muninn_ledger::rounded;
use muninn_team::records::{Moment, Superseded};
use serde_json::{Value, json};
use thiserror::Error;

use super::{CliError, Common, Exit, examples};
use crate::cli::log;
use crate::cli::model::MODEL_OFFER;
use crate::cli::output;

/// The most lines that are shown of a memory. JSON has all of them.
const MAX_LINES: usize = 6;
/// The most cited places that are shown of a memory.
const MAX_CITED: usize = 3;

/// Search records and knowledge pages; without a question, list the newest
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn recall \"retry queue jitter\"", "Search by words and meaning"),
    ("muninn recall 01J7QK2", "The record whose id contains 01J7QK2"),
    ("muninn recall --file src/billing --since 2026-01-31", "What was learned about a folder since January 31"),
    ("muninn recall --type failure --limit 3", "The three newest failures"),
]))]
pub(crate) struct Recall {
    /// The words to search for, or a record's id or any unambiguous part of it that has six characters or more
    question: Option<String>,
    /// Only memories of this task: its id, or any unambiguous part of it
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// Only records of this type, such as learning or context_hit; may be repeated
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
    /// Only memories written on this day or later: 2026-01-31
    #[arg(long, value_name = "DATE", value_parser = date)]
    since: Option<Moment>,
    /// Only memories about this file or folder; may be repeated
    #[arg(long = "file", value_name = "PATH", value_parser = path)]
    files: Vec<RelPath>,
    /// Only memories written on this branch
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// Only superseded memories, with the time until which they were valid
    #[arg(long)]
    superseded: bool,
    /// Only memories of which all cited places are gone; they are in no prompt
    #[arg(long)]
    stale: bool,
    /// Only facts that answer no stored question yet; `muninn remember --of ID` adds some
    #[arg(long)]
    unasked: bool,
    /// The most memories to show
    #[arg(long, value_name = "COUNT", default_value_t = 10)]
    limit: usize,
    /// Print JSON: memories with id, kind, type, title, text, date, author, confidence, session, branch, task, files, conflict, until, superseded_by, decided_by, decided_because, answers, cites, stale, fits, uses, score
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Error)]
#[error("not a date such as 2026-01-31")]
struct DateError;

fn date(text: &str) -> Result<Moment, DateError> {
    let is_date = text.len() >= 10
        && text.bytes().take(10).enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    is_date.then(|| text.into()).ok_or(DateError)
}

fn path(text: &str) -> Result<RelPath, PathError> {
    RelPath::new(text.trim_end_matches('/'))
}

impl Recall {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        log::to_stderr("warn");
        let workspace = common.workspace()?;
        let part = self.question.clone().unwrap_or_default().to_lowercase();
        let found = workspace.recall(&RecallQuery {
            question: self.question,
            task: self.task,
            types: self.types,
            since: self.since,
            files: self.files,
            branch: self.branch,
            superseded: self.superseded,
            stale: self.stale,
            unasked: self.unasked,
            limit: self.limit,
        })?;
        if self.json {
            let all: Vec<Value> = found.iter().map(RecalledMemory::as_json).collect();
            output::json(&json!({"memories": all}));
        } else {
            let (fitting, others): (Vec<_>, Vec<_>) = found.iter().partition(|recalled| recalled.fit == Fit::Likely);
            fitting.iter().for_each(|recalled| output::line(&text(recalled)));
            if !others.is_empty() {
                let is_possible = others.iter().any(|recalled| recalled.fit == Fit::Possible);
                output::line(match (fitting.is_empty(), is_possible) {
                    (false, _) => "less likely:",
                    (true, true) => "possible:",
                    (true, false) => "nothing fits; nearest:",
                });
            }
            others.iter().for_each(|recalled| output::line(&text(recalled)));
            if let [named] = &found[..]
                && !part.is_empty()
                && named.memory.source.to_lowercase().contains(&part)
            {
                decisions(&workspace, &named.memory.source)?;
            }
        }
        if !found.iter().any(|recalled| recalled.fit == Fit::Likely) && workspace.embedder().is_missing() {
            output::note(MODEL_OFFER);
        }
        if found.iter().any(RecalledMemory::matches) {
            return Ok(ExitCode::SUCCESS);
        }
        output::note("no memory matches");
        Ok(ExitCode::from(Exit::Failure as u8))
    }
}

/// Shows the decisions about a record.
fn decisions(workspace: &Workspace, id: &str) -> Result<(), CliError> {
    let events = workspace.history(id)?;
    let decisions = events.iter().filter(|event| matches!(event.event.as_str(), "decision" | "supersedes"));
    for event in decisions {
        let date: String = event.date.chars().take(10).collect();
        let by = event.author.as_deref().unwrap_or("somebody");
        output::line(&output::sanitize_line(&format!("decided on {date} by {by}: {}", event.text)));
    }
    Ok(())
}

/// A heading with the memory's source, then its text.
fn text(recalled: &RecalledMemory) -> String {
    let memory = &recalled.memory;
    let mut about: Vec<String> = match &memory.superseded {
        None => memory.date.iter().map(|date| date.chars().take(10).collect()).collect(),
        Some(superseded) => validity(memory.date.as_deref(), superseded),
    };
    about.extend(memory.author.as_ref().map(|author| format!("written by {author}")));
    about.extend(memory.confidence.map(|confidence| format!("confidence {}", rounded(confidence))));
    about.extend(memory.branch.as_ref().map(|branch| format!("on {branch}")));
    about.extend(memory.uses.is_retired().then(|| "no longer in prompts, because it was not used".to_owned()));
    let contested = memory.contested.as_ref();
    about.extend(contested.map(|contested| {
        let relation = if contested.is_undecided { "may contradict" } else { "contradicted by" };
        format!("{relation} {}", contested.other)
    }));
    let cited = recalled.cites.iter().take(MAX_CITED);
    about.extend(cited.map(|(citation, state)| format!("cites {} ({state})", citation.place())));
    let about = if about.is_empty() { String::new() } else { format!(" ({})", about.join(", ")) };
    let mut text = output::sanitize(&format!("{}: {}{about}\n", memory.source, memory.title));
    let mut lines = memory.text.lines().filter(|line| !line.trim().is_empty());
    for line in lines.by_ref().take(MAX_LINES) {
        text.push_str(&format!("    {}\n", output::sanitize(line)));
    }
    match lines.count() {
        0 => {}
        more => text.push_str(&format!("    ... {}\n", output::plural(more, "more line"))),
    }
    text
}

/// The time in which a superseded memory was valid, and the record that supersedes it.
fn validity(from: Option<&str>, superseded: &Superseded) -> Vec<String> {
    let from = from.map(|date| format!("from {date} ")).unwrap_or_default();
    let until = format!("valid {from}until {}", superseded.until);
    let by = superseded.by.iter().map(|by| format!("superseded by {by}"));
    let decided = superseded.author.iter().map(|author| format!("decided by {author}"));
    let reason = superseded.reason.iter().map(|reason| format!("because: {reason}"));
    std::iter::once(until).chain(by).chain(decided).chain(reason).collect()
}
