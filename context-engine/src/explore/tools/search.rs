//! `grep`, alone and many at once.

use std::time::Instant;

use muninn_repo_tools::{GrepLimits, GrepPattern, GrepQuery, GrepResult, grep_many};

use super::{Arguments, Caller, Output, PATIENCE, Spec, Toolbox, listed};

const MAX_MATCHES: usize = 200;
const MAX_MATCHES_PER_FILE: usize = 20;
const MAX_CONTEXT: u32 = 5;

pub(super) const GREP: Spec = Spec {
    name: "grep",
    description: "Search all files for a regular expression; `path:line:text` for each matching line.",
    parameters: &[
        (
            "pattern",
            "string",
            "the regular expression (Rust syntax), or a text with `literal`",
        ),
        ("path", "string", "the file or directory to look in"),
        ("glob", "string", "only files that fit, such as `*.rs`"),
        ("literal", "boolean", "take the pattern as plain text"),
        ("ignore_case", "boolean", "upper and lower case are the same"),
        ("context", "integer", "lines to show around each match, at most 5"),
        ("page", "integer", "which page of a long result"),
    ],
    required: 1,
    run: Some(grep),
};

fn grep(tools: &Toolbox<'_>, arguments: &Arguments, caller: &Caller<'_>) -> Result<Output, String> {
    let mut greps = Greps::default();
    greps.add(tools, arguments, caller)?;
    greps
        .run(tools, caller)
        .pop()
        .unwrap_or_else(|| Err("nothing was searched".to_owned()))
}

/// Several searches that read the worktree once.
#[derive(Default)]
pub(crate) struct Greps {
    queries: Vec<GrepQuery>,
}

impl Greps {
    /// One more.
    pub(crate) fn add(
        &mut self,
        tools: &Toolbox<'_>,
        arguments: &Arguments,
        caller: &Caller<'_>,
    ) -> Result<(), String> {
        let pattern = arguments.needed(&["pattern", "query", "regex", "search", "text"])?;
        let context = arguments
            .number(&["context", "C", "context_lines"])
            .unwrap_or(0)
            .min(MAX_CONTEXT) as usize;
        // What is no regular expression is meant as it stands: `foo(` is searched for every day.
        let literal = arguments.flag(&["literal", "fixed"]) || regex_syntax_is_broken(&pattern);
        self.queries.push(GrepQuery {
            case_sensitive: !arguments.flag(&["ignore_case", "case_insensitive", "i"]),
            context: (context, context),
            filter: tools.filter(arguments, caller)?,
            limits: GrepLimits {
                max_matches: MAX_MATCHES,
                max_matches_per_file: MAX_MATCHES_PER_FILE,
                max_file_bytes: tools.max_file_bytes.max(1 << 20),
                ..GrepLimits::default()
            },
            ..GrepQuery::new(match literal {
                true => GrepPattern::Literals(vec![pattern]),
                false => GrepPattern::Regex(pattern),
            })
        });
        Ok(())
    }

    /// The results in the order in which the searches were added.
    pub(crate) fn run(self, tools: &Toolbox<'_>, caller: &Caller<'_>) -> Vec<Result<Output, String>> {
        let until = caller.until.no_later_than(Instant::now() + PATIENCE);
        let paths = tools.paths(caller);
        let found = grep_many(tools.worktree, &self.queries, paths.as_deref(), &until);
        found
            .into_iter()
            .map(|result| result.map(|result| told(&result)).map_err(|error| error.to_string()))
            .collect()
    }
}

fn regex_syntax_is_broken(pattern: &str) -> bool {
    regex::Regex::new(pattern).is_err_and(|error| matches!(error, regex::Error::Syntax(_)))
}

fn told(result: &GrepResult) -> Output {
    let lines = result.matches.iter().map(|found| {
        let mark = if found.context { '-' } else { ':' };
        let cut = if found.cut { " [cut]" } else { "" };
        format!("{}{mark}{}{mark}{}{cut}", found.path, found.line, found.text)
    });
    let matching = result.matches.iter().filter(|found| !found.context);
    let mut paths: Vec<_> = matching.clone().map(|found| &found.path).collect();
    paths.dedup();
    let summary = format!("{} lines in {} files", matching.count(), paths.len());
    let nothing = format!("no line matches in {} files", result.searched);
    let mut output = listed(lines, &result.cuts, &nothing, summary);
    output.shown = result
        .matches
        .iter()
        .map(|found| (found.path.clone(), found.line, found.line))
        .collect();
    output
}
