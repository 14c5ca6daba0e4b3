//! `muninn references` and `muninn callers`: find the uses of a name.

use std::process::ExitCode;

use clap::Args;
use muninn_code::Symbol;
use muninn_context_engine::tools;

use super::{Common, NameQuery, Paint, examples, finish, output};
use crate::cli::CliError;

/// Find the uses of a name, each with a confidence
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn references refill", "Confidence, place and line of each use"),
    ("muninn references refill --glob '!tests/**'", "Without tests"),
]))]
pub(crate) struct References {
    #[command(flatten)]
    query: NameQuery,
}

/// Find the definitions that call a name, the most likely first
#[derive(Args)]
#[command(after_help = examples(&[("muninn callers Bucket::refill", "Each caller, with the lines of its calls")]))]
pub(crate) struct Callers {
    #[command(flatten)]
    query: NameQuery,
}

impl References {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        let found = self.query.call(tools::references, common)?;
        if self.query.json {
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
        let found = self.query.call(tools::callers, common)?;
        if self.query.json {
            output::json(&found);
        } else {
            let paint = Paint::new();
            let mut text = String::new();
            for caller in &found.callers {
                let name = caller.symbol.as_ref().map_or_else(|| "(top level)".to_owned(), Symbol::qualified);
                let lines: Vec<String> = caller.calls.iter().map(ToString::to_string).collect();
                let (path, lines) = (paint.path(&caller.path.printed()), paint.number(lines.join(",")));
                text.push_str(&format!("{:.2} {path}:{lines}:{name}\n", caller.confidence));
            }
            output::print(&text);
        }
        Ok(finish(&found.cuts, found.callers.is_empty()))
    }
}
