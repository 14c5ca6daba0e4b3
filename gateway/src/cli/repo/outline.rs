//! `muninn outline`: what a file holds.

use std::process::ExitCode;

use clap::Args;
use muninn_repo_tools::code::outline;
use muninn_repo_tools::syntax::ParseLimits;

use super::{Common, Paint, Place, output};
use crate::causes::with_causes;
use crate::cli::{CliError, Exit};

/// Show the definitions of a file, with their lines
#[derive(Args)]
pub(crate) struct Outline {
    /// The file
    file: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Outline {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        let place = Place::open(common)?;
        let outline = outline(&place.worktree, &place.path(&self.file)?, &ParseLimits::default())
            .map_err(|error| CliError::new(Exit::NotFound, with_causes(&error)))?;
        if self.json {
            output::json(&outline);
            return Ok(ExitCode::SUCCESS);
        }
        let paint = Paint::new();
        let mut text = String::new();
        for entry in &outline.entries {
            let lines = format!("{}-{}", entry.symbol.lines.first, entry.symbol.lines.last);
            let indent = "  ".repeat(entry.depth);
            let signature = paint.text(&entry.symbol.signature);
            text.push_str(&format!(
                "{}\t{indent}{signature}\n",
                paint.number(format!("{lines:>11}"))
            ));
        }
        output::print(&text);
        if outline.broken {
            output::note("the file has syntax errors; something may be missing");
        }
        if outline.cut {
            output::note("the file is too long; something is missing");
        }
        Ok(ExitCode::SUCCESS)
    }
}
