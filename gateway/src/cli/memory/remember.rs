//! `muninn remember`: writes a fact into memory.

use std::io::{BufRead, IsTerminal, Write};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use muninn_core::{Fact, FactKind, Kept, Link, RelatedMemory, WritableMemory};
use serde_json::json;
use thiserror::Error;

use super::{CliError, Common, examples};
use crate::cli::log;
use crate::cli::output;

/// Remember a fact that the team should know
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn remember \"Invoices are in cents\"", "A learning"),
    ("muninn remember --cite src/billing.rs:40-52 \"Rounding is half up\"", "A learning about lines of a file"),
    ("muninn remember --of 01J7QK2 --answers \"How is VAT rounded?\"", "A question that an older record answers"),
    ("muninn remember --type failure \"Upgrading to libfoo 3 breaks the parser\"", "Something that does not work"),
]))]
pub(crate) struct Remember {
    /// The fact, in a few sentences
    #[arg(required_unless_present = "of")]
    text: Option<String>,
    /// Add the questions of --answers to this record instead of a new one: its id, or any unambiguous part of it
    #[arg(long, value_name = "ID", requires = "answers", conflicts_with_all = ["text", "cites", "reason", "task", "kind", "confidence"])]
    of: Option<String>,
    /// A question that it answers, in other words than its own; up to five times
    #[arg(long, value_name = "QUESTION")]
    answers: Vec<String>,
    /// The type of the record
    #[arg(long = "type", value_enum, default_value_t = Kind::Learning)]
    kind: Kind,
    /// A place that the fact is about: a file, or lines as src/billing.rs:10-20; may be repeated
    #[arg(long = "cite", visible_alias = "file", value_name = "PLACE")]
    cites: Vec<String>,
    /// Why it is so
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// The task in which it was learned [default: the active Metis task]
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// The confidence, from 0 to 1
    #[arg(long, value_name = "NUMBER", default_value_t = 0.9, value_parser = confidence)]
    confidence: f64,
    /// It holds instead of this older record: its id, or any unambiguous part of it
    #[arg(long, value_name = "ID", conflicts_with_all = ["same_as", "of"])]
    replaces: Option<String>,
    /// It says the same as this older record
    #[arg(long, value_name = "ID", conflicts_with = "of")]
    same_as: Option<String>,
    /// Print JSON: id, related
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    /// A fact
    Learning,
    /// Files or names that belong together
    Pattern,
    /// Something that does not work
    Failure,
}

impl From<Kind> for FactKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Learning => FactKind::Learning,
            Kind::Pattern => FactKind::Pattern,
            Kind::Failure => FactKind::Failure,
        }
    }
}

#[derive(Debug, Error)]
enum ConfidenceError {
    #[error("not a number")]
    NotANumber,
    #[error("not between 0 and 1")]
    OutOfRange,
}

fn confidence(text: &str) -> Result<f64, ConfidenceError> {
    let number: f64 = text.parse().map_err(|_| ConfidenceError::NotANumber)?;
    (0.0..=1.0).contains(&number).then_some(number).ok_or(ConfidenceError::OutOfRange)
}

impl Remember {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        log::to_stderr("error");
        let workspace = common.workspace()?;
        let memory = workspace.writable_memory()?;
        if let Some(of) = &self.of {
            let kept = memory.add_questions(of, &self.answers, None)?;
            return Ok(told(&kept, &[], self.json, "questions added to"));
        }
        let text = self.text.unwrap_or_default();
        let link = self.replaces.map(|other| (Link::Replaces, other));
        let link = link.or_else(|| self.same_as.map(|other| (Link::SameAs, other)));
        // A wrong id is told before anything is written.
        if let Some((_, other)) = &link {
            memory.id_of(other)?;
        }
        let kept = memory.remember(&Fact {
            text: text.clone(),
            answers: self.answers,
            kind: self.kind.into(),
            cites: self.cites,
            reason: self.reason,
            task: self.task,
            confidence: self.confidence,
            session: None,
        })?;
        if let Some((link, other)) = link {
            memory.link(&kept.id, (link, &other), None)?;
            return Ok(told(&kept, &[], self.json, "remembered as"));
        }
        let related = workspace.related(&text, &kept.id);
        let code = told(&kept, &related, self.json, "remembered as");
        if !related.is_empty() && !self.json {
            ask(&memory, &kept.id, &related)?;
        }
        Ok(code)
    }
}

fn told(kept: &Kept, related: &[RelatedMemory], is_json: bool, done: &str) -> ExitCode {
    if kept.redacted {
        output::note("text that looks like a secret was removed");
    }
    if is_json {
        output::json(&json!({"id": kept.id, "related": related}));
    } else {
        output::line(&format!("{done} {}", kept.id));
    }
    ExitCode::SUCCESS
}

/// Shows the related memories. On a terminal, asks once whether one of them no longer holds; both hold by default.
fn ask(memory: &WritableMemory<'_>, id: &str, related: &[RelatedMemory]) -> Result<(), CliError> {
    output::note("it may be about the same as:");
    for (number, other) in (1..).zip(related) {
        let day: String = other.date.iter().flat_map(|date| date.chars().take(10)).collect();
        let author = other.author.as_deref().map(|author| format!(" by {author}")).unwrap_or_default();
        let text = other.text.lines().next().unwrap_or_default();
        output::note(&output::sanitize_line(&format!("{number}. {} ({day}{author}): {text}", other.id)));
    }
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        output::note(&format!("if it replaces or repeats one: muninn link {id} --replaces ID, or --same-as ID"));
        return Ok(());
    }
    write!(anstream::stderr(), "replaces 1, same as 1 (r1, s1; or another number) [keep both]: ").ok();
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    let (link, number) = match line.trim().split_at_checked(1) {
        Some(("r", number)) => (Link::Replaces, number),
        Some(("s", number)) => (Link::SameAs, number),
        _ => return Ok(()),
    };
    let chosen = number.trim().parse::<usize>().ok().and_then(|number| related.get(number.checked_sub(1)?));
    let Some(other) = chosen else {
        output::note("both are kept");
        return Ok(());
    };
    memory.link(id, (link, &other.id), None)?;
    output::note(if link == Link::Replaces { "it replaces the older one" } else { "they are the same" });
    Ok(())
}
