//! `muninn definition`: where a name is defined.

use std::process::ExitCode;

use clap::Args;
use muninn_context_engine::tools;

use super::symbols::line;
use super::{Common, Paint, Question, finish, output};
use crate::cli::CliError;

/// Find where a name is defined, the likeliest first
#[derive(Args)]
pub(crate) struct Definition {
    #[command(flatten)]
    question: Question,
}

impl Definition {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        let found = self.question.ask(&tools::Definition, common)?;
        if self.question.json {
            output::json(&found);
        } else {
            let shown = |of: &muninn_repo_tools::code::ScoredDefinition| {
                format!("{:.2} {}", of.confidence, line(&of.symbol, Paint::new()))
            };
            output::print(&found.definitions.iter().map(shown).collect::<String>());
        }
        Ok(finish(&found.cuts, found.definitions.is_empty()))
    }
}
