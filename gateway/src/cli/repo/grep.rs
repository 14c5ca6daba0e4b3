//! `muninn grep`: searches the text of the worktree.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use muninn_context_engine::tools::{self, GrepArguments};
use muninn_repo_tools::{GrepLimits, SkipCounts};

use super::{Common, Opened, Paint, PathFilter, examples, finish, output};
use crate::cli::CliError;

/// Search the repository's text with a regular expression
///
/// Ignored files, secrets, submodules, .git and .muninn are not searched. The exit code is 1 if nothing matches.
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn grep 'fn \\w+_limit'", "Search the whole worktree"),
    ("muninn grep -F 'a.b(c)' src tests", "Search two folders for plain text"),
    ("muninn grep -i todo --glob '*.rs' --count", "Count the matches in each Rust file"),
]))]
pub(crate) struct Grep {
    /// A regular expression
    pattern: String,
    /// Files and directories to search [default: the whole worktree]
    paths: Vec<String>,
    /// Search for plain text instead of a regular expression
    #[arg(short = 'F', long)]
    fixed_strings: bool,
    /// Ignore case
    #[arg(short, long)]
    ignore_case: bool,
    /// Ignore case unless the pattern has an upper-case letter
    #[arg(short = 'S', long)]
    smart_case: bool,
    /// Match whole words only
    #[arg(short, long)]
    word_regexp: bool,
    /// Show the lines that do not match
    #[arg(short = 'v', long)]
    invert_match: bool,
    /// Show N lines after each match
    #[arg(short = 'A', long, value_name = "N")]
    after_context: Option<usize>,
    /// Show N lines before each match
    #[arg(short = 'B', long, value_name = "N")]
    before_context: Option<usize>,
    /// Show N lines before and after each match
    #[arg(short = 'C', long, value_name = "N", default_value_t = 0)]
    context: usize,
    /// Show the number of matching lines of each file
    #[arg(short, long, conflicts_with = "files_with_matches")]
    count: bool,
    /// Show only the names of files with a match
    #[arg(short = 'l', long)]
    files_with_matches: bool,
    #[command(flatten)]
    filter: PathFilter,
    /// The most matching lines in total
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1_000)]
    max: usize,
    /// The most matching lines of each file
    #[arg(short = 'm', long, value_name = "N", default_value_t = 200)]
    max_count: usize,
    /// Stop after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    timeout: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Grep {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        let opened = Opened::open(common)?;
        let time = Duration::from_secs(self.timeout.min(86_400));
        let result = opened.call(tools::grep, &self.arguments(&opened)?, time)?;
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
                let count = if self.count { format!(":{}", file.lines) } else { String::new() };
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

    fn arguments(&self, opened: &Opened) -> Result<GrepArguments, CliError> {
        let (before, after) = self.sides();
        Ok(GrepArguments {
            pattern: self.pattern.clone(),
            path: opened.paths(&self.paths)?,
            glob: self.filter.globs(),
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

/// Reports files that were not searched: a pattern without matches may be in them.
fn note_skipped(skipped: &SkipCounts) {
    let words = skipped.describe();
    if !words.is_empty() {
        output::note(&format!("not searched: {words}"));
    }
}
