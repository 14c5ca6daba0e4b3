//! Searching the worktree's text, within bounds.

use std::time::Instant;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::sinks::Lossy;
use grep_searcher::{Searcher, SearcherBuilder};

use crate::path::RelPath;
use crate::read::read_text;
use crate::walk::{FileEntry, WalkLimits, walk_until};
use crate::worktree::Worktree;

/// Longer lines are cut in a [`Match`]: what is searched for in a minified file is not worth its megabyte.
const MAX_LINE_BYTES: usize = 400;

/// What to search for and how far.
#[derive(Debug, Clone)]
pub struct GrepQuery {
    /// What a line has to contain.
    pub pattern: GrepPattern,
    /// Upper and lower case differ.
    pub case_sensitive: bool,
    /// The bounds.
    pub limits: GrepLimits,
}

/// A pattern of a [`GrepQuery`].
#[derive(Debug, Clone)]
pub enum GrepPattern {
    /// Any of these texts.
    Literals(Vec<String>),
    /// A regular expression of the `regex` crate's syntax, which cannot backtrack without end.
    Regex(String),
}

/// The bounds of a search; whichever is reached first ends it.
#[derive(Debug, Clone, Copy)]
pub struct GrepLimits {
    /// Files that are opened.
    pub max_files: usize,
    /// Matching lines, over all files.
    pub max_matches: usize,
    /// Matching lines in one file, so that one log does not use up all of `max_matches`.
    pub max_matches_per_file: usize,
    /// Larger files are skipped, in bytes.
    pub max_file_bytes: u64,
    /// When to give up.
    pub deadline: Instant,
}

/// What was found by then.
#[derive(Debug, Default)]
pub struct GrepResult {
    /// The matching lines, by path and line.
    pub matches: Vec<Match>,
    /// How many files were searched.
    pub searched: usize,
    /// Whether a bound ended the search, so that there may be more.
    pub cut: bool,
}

/// One matching line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// The file.
    pub path: RelPath,
    /// The line, counted from 1.
    pub line: u32,
    /// Its text without the line ending, cut at a sensible length.
    pub text: String,
}

/// Why a search could not begin.
#[derive(Debug, thiserror::Error)]
pub enum GrepError {
    /// The pattern is empty, malformed, or too large when compiled.
    #[error("cannot search for {pattern:?}")]
    Pattern {
        /// The pattern as it was compiled.
        pattern: String,
        /// What the regular expression library said.
        source: Option<Box<grep_regex::Error>>,
    },
}

/// Searches the files that [`crate::walk`] lists, or only `within` where it is given.
///
/// # Errors
/// [`GrepError::Pattern`]. Files that cannot be read are passed over.
pub fn grep(worktree: &Worktree, query: &GrepQuery, within: Option<&[FileEntry]>) -> Result<GrepResult, GrepError> {
    let matcher = compile(query)?;
    let limits = &query.limits;
    let mut result = GrepResult::default();
    let walked;
    let files = match within {
        Some(files) => files,
        None => {
            let bounds = WalkLimits {
                max_file_bytes: limits.max_file_bytes,
                ..WalkLimits::default()
            };
            walked = walk_until(worktree, &bounds, Some(limits.deadline));
            result.cut = walked.cut;
            &walked.files
        }
    };
    let mut searcher = SearcherBuilder::new().line_number(true).build();
    for file in files {
        let full = result.matches.len() >= limits.max_matches || result.searched >= limits.max_files;
        if full || Instant::now() >= limits.deadline {
            result.cut = true;
            break;
        }
        let Ok(text) = read_text(worktree, &file.path, limits.max_file_bytes) else {
            continue;
        };
        result.searched += 1;
        search(&mut searcher, &matcher, &file.path, &text.text, limits, &mut result);
    }
    Ok(result)
}

fn compile(query: &GrepQuery) -> Result<RegexMatcher, GrepError> {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .case_insensitive(!query.case_sensitive)
        .line_terminator(Some(b'\n'));
    let (pattern, built) = match &query.pattern {
        GrepPattern::Literals(literals) => (literals.join("|"), builder.build_literals(literals)),
        GrepPattern::Regex(regex) => (regex.clone(), builder.build(regex)),
    };
    if pattern.is_empty() {
        return Err(GrepError::Pattern { pattern, source: None });
    }
    built.map_err(|error| GrepError::Pattern {
        pattern,
        source: Some(Box::new(error)),
    })
}

fn search(
    searcher: &mut Searcher,
    matcher: &RegexMatcher,
    path: &RelPath,
    text: &str,
    limits: &GrepLimits,
    result: &mut GrepResult,
) {
    let mut here = 0;
    let sink = Lossy(|line, found| {
        if here >= limits.max_matches_per_file || result.matches.len() >= limits.max_matches {
            result.cut = true;
            return Ok(false);
        }
        here += 1;
        let line = u32::try_from(line).unwrap_or(u32::MAX);
        result.matches.push(Match {
            path: path.clone(),
            line,
            text: shorten(found),
        });
        Ok(true)
    });
    // A slice in memory cannot fail to be read, and the sink above never fails.
    let _ = searcher.search_slice(matcher, text.as_bytes(), sink);
}

fn shorten(line: &str) -> String {
    let line = line.trim_end_matches(['\r', '\n']);
    line[..line.floor_char_boundary(MAX_LINE_BYTES)].to_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::fixture::Fixture;

    fn limits() -> GrepLimits {
        GrepLimits {
            max_files: 100,
            max_matches: 100,
            max_matches_per_file: 50,
            max_file_bytes: 1 << 20,
            deadline: Instant::now() + Duration::from_secs(60),
        }
    }

    fn literals(words: &[&str], limits: GrepLimits) -> GrepQuery {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        GrepQuery {
            pattern: GrepPattern::Literals(words),
            case_sensitive: false,
            limits,
        }
    }

    #[test]
    fn finds_lines_and_counts_them_right() {
        let repo = Fixture::with(&[
            ("a.rs", "\u{feff}fn one() {}\r\nfn Two() {}\r\n"),
            ("b.rs", "// (two)\n"),
            (".env", "two\n"),
        ]);
        let found = grep(&repo.worktree(), &literals(&["two", "x+y"], limits()), None).unwrap();
        let lines: Vec<_> = found
            .matches
            .iter()
            .map(|m| (m.path.as_str(), m.line, m.text.as_str()))
            .collect();
        assert_eq!(lines, [("a.rs", 2, "fn Two() {}"), ("b.rs", 1, "// (two)")]);
        assert!(!found.cut);
        let pattern = GrepPattern::Regex(r"fn \w+\(".to_owned());
        let regex = GrepQuery {
            pattern,
            case_sensitive: true,
            limits: limits(),
        };
        assert_eq!(grep(&repo.worktree(), &regex, None).unwrap().matches.len(), 2);
    }

    #[test]
    fn every_bound_holds_and_is_told() {
        let many = "hit\n".repeat(60);
        let repo = Fixture::with(&[("a.txt", &many), ("b.txt", &many), ("c.txt", &"hit ".repeat(1000))]);
        let run = |limits| grep(&repo.worktree(), &literals(&["hit"], limits), None).unwrap();
        let per_file = run(limits());
        assert_eq!((per_file.matches.len(), per_file.cut), (100, true));
        assert!(
            run(GrepLimits {
                max_matches: 7,
                ..limits()
            })
            .matches
            .len()
                == 7
        );
        assert_eq!(
            run(GrepLimits {
                max_files: 1,
                ..limits()
            })
            .searched,
            1
        );
        let late = run(GrepLimits {
            deadline: Instant::now(),
            ..limits()
        });
        assert!(late.cut && late.matches.is_empty());
        let wide = run(GrepLimits {
            max_matches_per_file: 1,
            ..limits()
        });
        assert_eq!(wide.matches[2].text.len(), MAX_LINE_BYTES);
    }

    #[test]
    fn refuses_patterns_that_mean_nothing() {
        let repo = Fixture::with(&[]);
        assert!(grep(&repo.worktree(), &literals(&[], limits()), None).is_err());
        let query = GrepQuery {
            pattern: GrepPattern::Regex("(".into()),
            case_sensitive: true,
            limits: limits(),
        };
        assert!(matches!(
            grep(&repo.worktree(), &query, None),
            Err(GrepError::Pattern { .. })
        ));
    }
}
