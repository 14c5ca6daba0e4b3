//! `muninn read`: prints lines of a file.

use std::process::ExitCode;

use clap::Args;
use muninn_context_engine::tools::{self, ReadArguments};
use muninn_repo_tools::{LineRange, split_lines};

use super::{Common, Opened, Paint, TIMEOUT, examples, finish, output};
use crate::cli::CliError;

/// Print a file, or some of its lines, with line numbers
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn read src/lib.rs", "The whole file"),
    ("muninn read src/lib.rs:10-20", "Lines 10 to 20"),
]))]
pub(crate) struct Read {
    /// The file, and which lines: src/a.rs, src/a.rs:10, src/a.rs:10-20, src/a.rs:10-
    file: String,
    /// The most lines to print
    #[arg(short = 'n', long, value_name = "N", default_value_t = 2_000)]
    max: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Read {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        let opened = Opened::open(common)?;
        let (file, lines) = split_lines(&self.file);
        let (first, last) = lines.unzip();
        let arguments = ReadArguments {
            path: opened.path(file)?.into(),
            first,
            last,
            limit: None,
            max_lines: Some(self.max),
            max_line_bytes: Some(LineRange::default().max_line_bytes),
        };
        let excerpt = opened.call(tools::read, &arguments, TIMEOUT)?;
        if self.json {
            output::json(&excerpt);
            return Ok(finish(&excerpt.cuts, false));
        }
        let paint = Paint::new();
        let line = |line: &muninn_repo_tools::Line| {
            let cut = if line.cut_bytes > 0 { format!(" [... {} bytes cut]", line.cut_bytes) } else { String::new() };
            format!("{:>6}\t{}{cut}\n", paint.number(line.line), paint.text(&line.text))
        };
        output::print(&excerpt.lines.iter().map(line).collect::<String>());
        Ok(finish(&excerpt.cuts, false))
    }
}
