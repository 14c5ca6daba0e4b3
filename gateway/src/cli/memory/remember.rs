//! `muninn remember`: writes a fact into memory.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use muninn_core::{Fact, FactKind, Kept};
use serde_json::json;
use thiserror::Error;

use super::{CliError, Common, examples};
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
    /// Print JSON
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
        output::log_to_stderr("error");
        let workspace = common.workspace()?;
        let memory = workspace.writable_memory()?;
        if let Some(of) = &self.of {
            let kept = memory.add_questions(of, &self.answers, None)?;
            return Ok(told(&kept, self.json, "questions added to"));
        }
        let kept = memory.remember(&Fact {
            text: self.text.unwrap_or_default(),
            answers: self.answers,
            kind: self.kind.into(),
            cites: self.cites,
            reason: self.reason,
            task: self.task,
            confidence: self.confidence,
            session: None,
        })?;
        Ok(told(&kept, self.json, "remembered as"))
    }
}

fn told(kept: &Kept, is_json: bool, done: &str) -> ExitCode {
    if kept.redacted {
        output::note("text that looks like a secret was removed");
    }
    if is_json {
        output::json(&json!({"id": kept.id}));
    } else {
        output::line(&format!("{done} {}", kept.id));
    }
    ExitCode::SUCCESS
}
