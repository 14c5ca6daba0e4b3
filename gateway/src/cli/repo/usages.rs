//! `muninn references` and `muninn callers`: who uses a name.

use std::process::ExitCode;

use clap::Args;
use muninn_context_engine::tools;
use muninn_repo_tools::code::Symbol;

use super::{Common, Paint, Question, finish, output};
use crate::cli::CliError;

/// Find the uses of a name, each with how sure it is
#[derive(Args)]
pub(crate) struct References {
    #[command(flatten)]
    question: Question,
}

/// Find the definitions whose code calls a name, the likeliest first
#[derive(Args)]
pub(crate) struct Callers {
    #[command(flatten)]
    question: Question,
}

impl References {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        let found = self.question.ask(&tools::References, common)?;
        if self.question.json {
            output::json(&found);
        } else {
            let paint = Paint::new();
            let mut text = String::new();
            for usage in &found.references {
                let (path, line) = (paint.path(&usage.path.printed()), paint.number(usage.line));
                let shown = paint.text(&usage.text);
                text.push_str(&format!("{:.2} {path}:{line}:{shown}\n", usage.confidence));
            }
            output::print(&text);
        }
        Ok(finish(&found.cuts, found.references.is_empty()))
    }
}

impl Callers {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        let found = self.question.ask(&tools::Callers, common)?;
        if self.question.json {
            output::json(&found);
        } else {
            let paint = Paint::new();
            let mut text = String::new();
            for caller in &found.callers {
                let name = caller
                    .symbol
                    .as_ref()
                    .map_or_else(|| "(top level)".to_owned(), Symbol::qualified);
                let lines: Vec<String> = caller.calls.iter().map(ToString::to_string).collect();
                let (path, lines) = (paint.path(&caller.path.printed()), paint.number(lines.join(",")));
                text.push_str(&format!("{:.2} {path}:{lines}:{name}\n", caller.confidence));
            }
            output::print(&text);
        }
        Ok(finish(&found.cuts, found.callers.is_empty()))
    }
}
