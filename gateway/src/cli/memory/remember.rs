//! `muninn remember`: something that a person knows.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde_json::json;
use thiserror::Error;

use super::{CliError, Common};
use crate::app::{Fact, FactKind};
use crate::cli::output;

/// Write down something that the team should know
#[derive(Args)]
pub(crate) struct Remember {
    /// What is so
    text: String,
    /// What kind of thing it is
    #[arg(long = "type", value_enum, default_value_t = Kind::Learning)]
    kind: Kind,
    /// A file that it is about; may be given several times
    #[arg(long = "file", value_name = "PATH")]
    files: Vec<String>,
    /// The task that it was learned in [default: the Metis task that is active]
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// How sure it is, from 0 to 1
    #[arg(long, value_name = "NUMBER", default_value_t = 0.9, value_parser = share)]
    confidence: f64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    /// Something that is so
    Learning,
    /// Things that belong together
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
enum ShareError {
    #[error("not a number")]
    NoNumber,
    #[error("not between 0 and 1")]
    OutOfRange,
}

fn share(text: &str) -> Result<f64, ShareError> {
    let number: f64 = text.parse().map_err(|_| ShareError::NoNumber)?;
    (0.0..=1.0)
        .contains(&number)
        .then_some(number)
        .ok_or(ShareError::OutOfRange)
}

impl Remember {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        output::log_to_stderr("error");
        let kept = common.workspace()?.writable_memory()?.remember(&Fact {
            text: self.text,
            kind: self.kind.into(),
            files: self.files,
            task: self.task,
            confidence: self.confidence,
        })?;
        if kept.redacted {
            output::note("what looks like a secret was cut out");
        }
        match self.json {
            true => output::json(&json!({"id": kept.id})),
            false => output::line(&format!("remembered as {}", kept.id)),
        }
        Ok(ExitCode::SUCCESS)
    }
}
