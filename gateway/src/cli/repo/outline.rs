//! `muninn outline`: lists the definitions of a file.

use std::process::ExitCode;

use clap::Args;
use muninn_context_engine::tools::{self, OutlineArguments};

use super::{Common, Opened, Paint, TIMEOUT, examples, output};
use crate::cli::CliError;

/// List the definitions of a file, with their lines
#[derive(Args)]
#[command(after_help = examples(&[("muninn outline src/lib.rs", "Lines and signature of each definition")]))]
pub(crate) struct Outline {
    /// The file
    file: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Outline {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        let opened = Opened::open(common)?;
        let arguments = OutlineArguments { path: opened.path(&self.file)?.into() };
        let outline = opened.call(tools::outline, &arguments, TIMEOUT)?;
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
            text.push_str(&format!("{}\t{indent}{signature}\n", paint.number(format!("{lines:>11}"))));
        }
        output::print(&text);
        if outline.broken {
            output::note("the file has syntax errors; definitions may be missing");
        }
        if outline.cut {
            output::note("the file is too long; definitions are missing");
        }
        Ok(ExitCode::SUCCESS)
    }
}
