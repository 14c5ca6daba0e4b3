//! `muninn grep`: searches the worktree's text.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use muninn_context_engine::tools::{self, GrepArguments};
use muninn_repo_tools::{GrepLimits, SkipCounts};

use super::{Choice, Common, Paint, Place, finish, output};
use crate::cli::CliError;

/// Search the repository's text, as ripgrep does; exits with 1 where nothing is found
#[derive(Args)]
#[command(after_help = "Ignored files, secrets, submodules and the inside of .git and .muninn are not searched.")]
pub(crate) struct Grep {
    /// A regular expression
    pattern: String,
    /// Files and directories to search [default: the whole worktree]
    paths: Vec<String>,
    /// Take the pattern as plain text
    #[arg(short = 'F', long)]
    fixed_strings: bool,
    /// Upper and lower case are the same
    #[arg(short, long)]
    ignore_case: bool,
    /// The same, unless the pattern has a capital
    #[arg(short = 'S', long)]
    smart_case: bool,
    /// Whole words only
    #[arg(short, long)]
    word_regexp: bool,
    /// Lines that do not match
    #[arg(short = 'v', long)]
    invert_match: bool,
    /// Lines to show after each match
    #[arg(short = 'A', long, value_name = "N")]
    after_context: Option<usize>,
    /// Lines to show before each match
    #[arg(short = 'B', long, value_name = "N")]
    before_context: Option<usize>,
    /// Lines to show on both sides
    #[arg(short = 'C', long, value_name = "N", default_value_t = 0)]
    context: usize,
    /// How many lines match in each file
    #[arg(short, long, conflicts_with = "files_with_matches")]
    count: bool,
    /// Which files have a match
    #[arg(short = 'l', long)]
    files_with_matches: bool,
    #[command(flatten)]
    choice: Choice,
    /// So many matching lines at most, in all
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1_000)]
    max: usize,
    /// So many in one file
    #[arg(short = 'm', long, value_name = "N", default_value_t = 200)]
    max_count: usize,
    /// Give up after so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    timeout: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Grep {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        let place = Place::open(common)?;
        let time = Duration::from_secs(self.timeout.min(86_400));
        let result = place.ask(&tools::Grep, &self.arguments(&place)?, time)?;
        if self.json {
            output::json(&result);
            note_skipped(&result.skipped);
            return Ok(finish(&result.cuts, result.counts.is_empty()));
        }
        let paint = Paint::new();
        let mut text = String::new();
        let mut last: Option<(&str, u32)> = None;
        for found in &result.matches {
            let gap = last.is_some_and(|(path, line)| path != found.path.as_str() || line + 1 != found.line);
            if gap && self.sides() != (0, 0) {
                text.push_str("--\n");
            }
            last = Some((found.path.as_str(), found.line));
            let mark = if found.context { '-' } else { ':' };
            let (path, line) = (paint.path(&found.path.printed()), paint.number(found.line));
            let cut = if found.cut { " [... cut]" } else { "" };
            text.push_str(&format!("{path}{mark}{line}{mark}{}{cut}\n", paint.text(&found.text)));
        }
        if result.matches.is_empty() {
            for file in &result.counts {
                let path = paint.path(&file.path.printed());
                let count = if self.count {
                    format!(":{}", file.lines)
                } else {
                    String::new()
                };
                text.push_str(&format!("{path}{count}\n"));
            }
        }
        output::print(&text);
        note_skipped(&result.skipped);
        Ok(finish(&result.cuts, result.counts.is_empty()))
    }

    fn sides(&self) -> (usize, usize) {
        let or_both = |side: Option<usize>| side.unwrap_or(self.context);
        (or_both(self.before_context), or_both(self.after_context))
    }

    fn arguments(&self, place: &Place) -> Result<GrepArguments, CliError> {
        let (before, after) = self.sides();
        Ok(GrepArguments {
            pattern: self.pattern.clone(),
            path: place.paths(&self.paths)?,
            glob: self.choice.globs(),
            literal: Some(self.fixed_strings),
            ignore_case: self.ignore_case,
            smart_case: self.smart_case,
            word: self.word_regexp,
            invert: self.invert_match,
            context: None,
            before: Some(before),
            after: Some(after),
            count: self.count,
            files_with_matches: self.files_with_matches,
            max: Some(self.max),
            max_per_file: Some(self.max_count),
            max_file_bytes: Some(GrepLimits::default().max_file_bytes),
        })
    }
}

/// What was not searched though somebody may have meant it: a pattern that is found nowhere may be there.
fn note_skipped(skipped: &SkipCounts) {
    let words = skipped.describe();
    if !words.is_empty() {
        output::note(&format!("not searched: {words}"));
    }
}
