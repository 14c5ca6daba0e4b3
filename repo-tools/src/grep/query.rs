use std::time::Duration;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use muninn_base::{RelPath, Until};
use serde::Serialize;

use crate::cut::Cuts;
use crate::files::{FileFilter, FilterError};
use crate::walk::{SkipCounts, WalkLimits};

/// Maximum length of a [`Match`]'s text, in bytes. A line of a minified file can have a megabyte.
pub(crate) const MAX_LINE_BYTES: usize = 400;

/// A text search: pattern, files and limits.
#[derive(Debug, Clone)]
pub struct GrepQuery {
    /// The pattern that a line must match.
    pub pattern: GrepPattern,
    /// Whether upper and lower case differ.
    pub case_sensitive: bool,
    /// Whether a case-sensitive search ignores case if the pattern has no capital.
    pub smart_case: bool,
    /// Whether a match must begin and end at word boundaries.
    pub word: bool,
    /// Whether to return the lines that do not match.
    pub invert: bool,
    /// The number of lines to show before and after each match.
    pub context: (usize, usize),
    /// The detail of the result.
    pub detail: Detail,
    /// The files to search.
    pub filter: FileFilter,
    pub limits: GrepLimits,
}

/// The pattern of a [`GrepQuery`].
#[derive(Debug, Clone)]
pub enum GrepPattern {
    /// Any of these texts.
    Literals(Vec<String>),
    /// A regular expression in the syntax of the `regex` crate, which has no unbounded backtracking.
    Regex(String),
}

/// The detail of a [`GrepResult`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detail {
    /// The matching lines.
    #[default]
    Lines,
    /// The number of matching lines in each file.
    Counts,
    /// The files with a match.
    Files,
}

/// The limits of a search. The first limit that is reached ends it.
#[derive(Debug, Clone)]
pub struct GrepLimits {
    /// Maximum number of files to open.
    pub max_files: usize,
    /// Maximum number of matching lines in all files; of matching files with [`Detail::Files`].
    pub max_matches: usize,
    /// Maximum number of matching lines in one file, so that one log does not use up `max_matches`.
    pub max_matches_per_file: usize,
    /// Maximum size of a file, in bytes; larger files are skipped.
    pub max_file_bytes: u64,
    /// Maximum size of the text of all lines together, in bytes.
    pub max_bytes: usize,
    /// The deadline.
    pub until: Until,
}

impl Default for GrepLimits {
    /// Limits for an interactive search: a thousand lines within ten seconds.
    fn default() -> Self {
        Self {
            max_files: WalkLimits::default().max_files,
            max_matches: 1_000,
            max_matches_per_file: 200,
            max_file_bytes: 16 << 20,
            max_bytes: 1 << 20,
            until: Until::within(Duration::from_secs(10)),
        }
    }
}

impl GrepQuery {
    /// Creates a case-sensitive search for lines, with default limits.
    pub fn new(pattern: GrepPattern) -> Self {
        Self {
            pattern,
            case_sensitive: true,
            smart_case: false,
            word: false,
            invert: false,
            context: (0, 0),
            detail: Detail::Lines,
            filter: FileFilter::default(),
            limits: GrepLimits::default(),
        }
    }
}

/// The result of a search.
#[derive(Debug, Default, Serialize)]
pub struct GrepResult {
    /// The matching lines and their context lines, by path and line. Empty unless [`Detail::Lines`] was requested.
    pub matches: Vec<Match>,
    /// The number of matching lines in each file with a match, by path.
    pub counts: Vec<FileCount>,
    /// The number of files that were searched.
    pub searched: usize,
    /// The files that were skipped, by reason.
    pub skipped: SkipCounts,
    /// Whether a limit ended the search, so that there can be more matches.
    pub cut: bool,
    /// The limits that were reached.
    pub cuts: Cuts,
}

/// One line of a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Match {
    /// The file.
    pub path: RelPath,
    /// The line, counted from 1.
    pub line: u32,
    /// The text without the line ending; the part around the match if the line is long.
    pub text: String,
    /// Whether a part of the line is missing in `text`.
    pub cut: bool,
    /// Whether the line is context and does not match itself.
    pub context: bool,
}

/// The number of matches in one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileCount {
    pub path: RelPath,
    /// The number of matching lines; 1 with [`Detail::Files`].
    pub lines: usize,
    /// Whether the search of the file ended at a NUL byte, as in ripgrep.
    pub binary: bool,
}

/// Why a search was refused.
#[derive(Debug, thiserror::Error)]
pub enum GrepError {
    /// The pattern is empty, malformed, or too large when compiled.
    #[error("cannot search for {pattern:?}")]
    Pattern {
        /// The pattern as it was compiled.
        pattern: String,
        /// The error of the regular expression library.
        source: Option<Box<grep_regex::Error>>,
    },
    /// A glob is malformed.
    #[error(transparent)]
    Filter(#[from] FilterError),
}

pub(crate) fn compile(query: &GrepQuery) -> Result<RegexMatcher, GrepError> {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .case_insensitive(!query.case_sensitive)
        .case_smart(query.case_sensitive && query.smart_case)
        .word(query.word)
        .fixed_strings(matches!(query.pattern, GrepPattern::Literals(_)))
        .line_terminator(Some(b'\n'));
    let (pattern, built) = match &query.pattern {
        GrepPattern::Literals(literals) => (literals.join("|"), builder.build_literals(literals)),
        GrepPattern::Regex(regex) => (regex.clone(), builder.build(regex)),
    };
    if pattern.is_empty() {
        return Err(GrepError::Pattern { pattern, source: None });
    }
    built.map_err(|error| GrepError::Pattern { pattern, source: Some(Box::new(error)) })
}

/// The matches of all files so far, which count against the limits.
#[derive(Debug, Default)]
pub(crate) struct MatchTotals {
    pub(crate) lines: usize,
    pub(crate) bytes: usize,
}
