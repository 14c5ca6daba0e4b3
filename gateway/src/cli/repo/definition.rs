//! `muninn definition`: finds the definitions of a name.

use std::process::ExitCode;

use clap::Args;
use muninn_context_engine::tools;

use super::symbols::line;
use super::{Common, NameQuery, Paint, examples, finish, output};
use crate::cli::CliError;

/// Find the definitions of a name, the most likely first
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn definition refill", "Definitions of any `refill`"),
    ("muninn definition Bucket::refill --from src/http.rs", "As src/http.rs sees the name"),
]))]
pub(crate) struct Definition {
    #[command(flatten)]
    query: NameQuery,
}

impl Definition {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        let found = self.query.call(tools::definition, common)?;
        if self.query.json {
            output::json(&found);
        } else {
            let shown =
                |of: &muninn_code::ScoredDefinition| format!("{:.2} {}", of.confidence, line(&of.symbol, Paint::new()));
            output::print(&found.definitions.iter().map(shown).collect::<String>());
        }
        Ok(finish(&found.cuts, found.definitions.is_empty()))
    }
}
