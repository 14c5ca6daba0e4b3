//! The tool `grep`, for one or several calls at once.

use muninn_repo_tools::{Detail, GrepError, GrepLimits, GrepPattern, GrepQuery, GrepResult, grep_many};
use schemars::JsonSchema;
use serde::Deserialize;

use super::arguments::{GLOB_ALIASES, PATH_ALIASES};
use super::output::{neutral_head, neutral_lines};
use super::{Effect, Globs, Output, Paths, Tool, ToolContext, ToolDescription, ToolError};

const MAX_MATCHES: usize = 200;
const MAX_MATCHES_PER_FILE: usize = 20;
const MAX_CONTEXT: usize = 5;

/// The arguments of [`grep`].
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub struct GrepArguments {
    /// the regular expression (Rust syntax), or a text with `literal`
    pub pattern: String,
    /// the file or directory to look in
    #[serde(default)]
    pub path: Paths,
    /// only files that fit, such as `*.rs`
    #[serde(default)]
    pub glob: Globs,
    /// take the pattern as plain text
    // Without a value, a pattern is plain text if it is no valid regular expression: `foo(` is a frequent one.
    pub literal: Option<bool>,
    /// upper and lower case are the same
    #[serde(default)]
    pub ignore_case: bool,
    /// upper and lower case are the same, unless the pattern has a capital
    #[serde(default)]
    pub smart_case: bool,
    /// whole words only
    #[serde(default)]
    pub word: bool,
    /// the lines that do not match
    #[serde(default)]
    pub invert: bool,
    /// lines to show around each match, at most 5
    pub context: Option<usize>,
    /// lines to show before each match
    pub before: Option<usize>,
    /// lines to show after each match
    pub after: Option<usize>,
    /// only how many lines match in each file
    #[serde(default)]
    pub count: bool,
    /// only which files have a match
    #[serde(default)]
    pub files_with_matches: bool,
    /// matching lines in all; 200 if absent
    pub max: Option<usize>,
    /// matching lines in one file; 20 if absent
    pub max_per_file: Option<usize>,
    /// larger files are skipped, in bytes
    pub max_file_bytes: Option<u64>,
}

pub(super) fn grep_tool() -> Tool {
    ToolDescription::new("grep", Effect::Reads, "search text regex code")
        .about("Search all files for a regular expression; `path:line:text` for each matching line.")
        .parameter("pattern", &["query", "regex", "search", "text"])
        .parameter("path", PATH_ALIASES)
        .parameter("glob", GLOB_ALIASES)
        .parameter("literal", &["fixed"])
        .parameter("ignore_case", &["case_insensitive", "i"])
        .parameter("context", &["C", "context_lines"])
        .paged()
        .prose()
        .answered_together(grep_all, output)
}

/// Searches the worktree's text.
pub fn grep(context: &ToolContext<'_>, arguments: &GrepArguments) -> Result<GrepResult, ToolError> {
    let found = search(context, &[arguments.query(context)?]).pop();
    Ok(found.unwrap_or_else(|| Ok(GrepResult::default()))?)
}

/// Reads each file once for all calls.
fn grep_all(context: &ToolContext<'_>, calls: &[GrepArguments]) -> Vec<Result<GrepResult, ToolError>> {
    let (mut queries, mut errors) = (Vec::new(), Vec::new());
    for call in calls {
        errors.push(call.query(context).map(|query| queries.push(query)).err());
    }
    let mut found = search(context, &queries).into_iter();
    let answer = |error: Option<ToolError>| match error {
        Some(error) => Err(error),
        None => Ok(found.next().unwrap_or_else(|| Ok(GrepResult::default()))?),
    };
    errors.into_iter().map(answer).collect()
}

fn output(_: &GrepArguments, found: &GrepResult) -> Output {
    let of_files = found.matches.chunk_by(|one, next| one.path == next.path);
    let texts = of_files.flat_map(|lines| neutral_lines(&lines[0].path, lines.iter().map(|line| &*line.text)));
    let lines = found.matches.iter().zip(texts).map(|(line, text)| {
        let mark = if line.context { '-' } else { ':' };
        let cut = if line.cut { " [cut]" } else { "" };
        let head = neutral_head(&format!("{}{mark}{}{mark}", line.path, line.line));
        format!("{head}{text}{cut}")
    });
    let matching = found.matches.iter().filter(|line| !line.context);
    let mut paths: Vec<_> = matching.clone().map(|line| &line.path).collect();
    paths.dedup();
    let summary = format!("{} lines in {} files", matching.count(), paths.len());
    let nothing = format!("no line matches in {} files", found.searched);
    // Without lines, the counts of the files are the result.
    let counts = found.counts.iter().filter(|_| found.matches.is_empty());
    let counts = counts.map(|file| neutral_head(&format!("{}:{}", file.path, file.lines)));
    let lines = lines.chain(counts);
    let shown = found.matches.iter().map(|line| (line.path.clone(), line.line, line.line));
    Output::listed(lines, &found.cuts, &nothing, summary).with_shown(shown)
}

impl GrepArguments {
    fn query(&self, context: &ToolContext<'_>) -> Result<GrepQuery, ToolError> {
        let around = self.context.unwrap_or(0).min(MAX_CONTEXT);
        let pattern = self.pattern.clone();
        let literal = self.literal.unwrap_or_else(|| is_invalid_regex(&pattern));
        Ok(GrepQuery {
            case_sensitive: !self.ignore_case,
            smart_case: self.smart_case,
            word: self.word,
            invert: self.invert,
            context: (self.before.unwrap_or(around), self.after.unwrap_or(around)),
            detail: match (self.count, self.files_with_matches) {
                (true, _) => Detail::Counts,
                (_, true) => Detail::Files,
                _ => Detail::Lines,
            },
            filter: context.filter(&self.path.0, &self.glob)?,
            limits: GrepLimits {
                max_matches: self.max.unwrap_or(MAX_MATCHES),
                max_matches_per_file: self.max_per_file.unwrap_or(MAX_MATCHES_PER_FILE),
                max_file_bytes: self.max_file_bytes.unwrap_or(context.max_file_bytes.max(1 << 20)),
                ..GrepLimits::default()
            },
            ..GrepQuery::new(if literal { GrepPattern::Literals(vec![pattern]) } else { GrepPattern::Regex(pattern) })
        })
    }
}

fn is_invalid_regex(pattern: &str) -> bool {
    regex::Regex::new(pattern).is_err_and(|error| matches!(error, regex::Error::Syntax(_)))
}

fn search(context: &ToolContext<'_>, queries: &[GrepQuery]) -> Vec<Result<GrepResult, GrepError>> {
    grep_many(context.worktree, queries, context.paths().as_deref(), &context.until)
}
