//! Searching the worktree's text, within bounds, as ripgrep does and with its crates.
//!
//! Files are listed first and searched on several threads afterwards, with results in the order of their paths: what a
//! bound leaves out is then the same each time. Files are opened as the walk named them, which follows no symlink; only
//! before something of a file is told is it proved again that it lies in the worktree.

mod many;
mod search;

#[cfg(test)]
mod differential;
#[cfg(test)]
mod many_tests;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;
use std::time::Duration;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use serde::Serialize;

use crate::cut::{Cut, Cuts};
use crate::files::{FileFilter, FilterError, files};
use crate::ordered::{in_order, threads};
use crate::path::RelPath;
use crate::until::Until;
use crate::walk::{FileEntry, SkipCounts, WalkLimits};
use crate::worktree::Worktree;

pub use many::grep_many;
use search::Left;

/// Longer lines are cut in a [`Match`]: what is searched for in a minified file is not worth its megabyte.
const MAX_LINE_BYTES: usize = 400;

/// What to search for and how far.
#[derive(Debug, Clone)]
pub struct GrepQuery {
    /// What a line has to contain.
    pub pattern: GrepPattern,
    /// Upper and lower case differ.
    pub case_sensitive: bool,
    /// Where case matters, it does so only if the pattern has a capital.
    pub smart_case: bool,
    /// The match has to be a word, or words.
    pub word: bool,
    /// Take the lines that do not match.
    pub invert: bool,
    /// Lines to show before and after each match.
    pub context: (usize, usize),
    /// How much to tell.
    pub detail: Detail,
    /// Which files to search.
    pub filter: FileFilter,
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

/// How much a [`GrepResult`] tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detail {
    /// The lines.
    #[default]
    Lines,
    /// How many lines match in each file.
    Counts,
    /// Which files have one.
    Files,
}

/// The bounds of a search; whichever is reached first ends it.
#[derive(Debug, Clone)]
pub struct GrepLimits {
    /// Files that are opened.
    pub max_files: usize,
    /// Matching lines, over all files; files, where only these are asked for.
    pub max_matches: usize,
    /// Matching lines in one file, so that one log does not use up all of `max_matches`.
    pub max_matches_per_file: usize,
    /// Larger files are skipped, in bytes.
    pub max_file_bytes: u64,
    /// The text of all lines together, in bytes.
    pub max_bytes: usize,
    /// When to give up.
    pub until: Until,
}

impl Default for GrepLimits {
    /// For a person or a model that waits: a thousand lines within ten seconds.
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
    /// A search for lines, with everything else at its default.
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

/// What was found by then.
#[derive(Debug, Default, Serialize)]
pub struct GrepResult {
    /// The matching lines, and those around them where asked for, by path and line. Empty unless lines were asked for.
    pub matches: Vec<Match>,
    /// How many lines matched in each file that has one, by path.
    pub counts: Vec<FileCount>,
    /// How many files were searched.
    pub searched: usize,
    /// Files that were left out, by reason.
    pub skipped: SkipCounts,
    /// Whether a bound ended the search, so that there may be more.
    pub cut: bool,
    /// Which bounds did.
    pub cuts: Cuts,
}

/// One line of a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Match {
    /// The file.
    pub path: RelPath,
    /// The line, counted from 1.
    pub line: u32,
    /// Its text without the line ending. Of a long line, the part that has the match.
    pub text: String,
    /// Whether some of the line is left out.
    pub cut: bool,
    /// It does not match, and stands beside one that does.
    pub context: bool,
}

/// The matches of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileCount {
    /// The file.
    pub path: RelPath,
    /// Its matching lines; 1 where only files were asked for.
    pub lines: usize,
    /// The search ended at a NUL byte, as ripgrep ends it.
    pub binary: bool,
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
    /// A malformed glob.
    #[error(transparent)]
    Filter(#[from] FilterError),
}

/// Searches the files that [`crate::walk`] lists, or only `within` where it is given.
///
/// # Errors
/// [`GrepError`]. Files that cannot be read are passed over and counted.
pub fn grep(worktree: &Worktree, query: &GrepQuery, within: Option<&[FileEntry]>) -> Result<GrepResult, GrepError> {
    match within {
        Some(entries) => {
            let chosen = query.filter.compile(worktree.root())?;
            let paths = entries.iter().map(|entry| &entry.path);
            let wanted: Vec<RelPath> = paths
                .filter(|path| chosen.wants(&path.to_path_buf(), false))
                .cloned()
                .collect();
            grep_paths(worktree, query, &wanted)
        }
        None => {
            let matcher = compile(query)?;
            let limits = &query.limits;
            let listed = files(worktree, &query.filter, WalkLimits::default().max_files, &limits.until)?;
            let mut result = run(worktree, &matcher, query, &listed.paths, true);
            result.skipped.merge(&listed.skipped);
            if listed.late {
                result.stop(Cut::Time);
            }
            Ok(result)
        }
    }
}

/// Searches exactly these files, in their order.
///
/// # Errors
/// As [`grep`].
pub fn grep_paths(worktree: &Worktree, query: &GrepQuery, paths: &[RelPath]) -> Result<GrepResult, GrepError> {
    Ok(run(worktree, &compile(query)?, query, paths, false))
}

fn compile(query: &GrepQuery) -> Result<RegexMatcher, GrepError> {
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
    built.map_err(|error| GrepError::Pattern {
        pattern,
        source: Some(Box::new(error)),
    })
}

/// `walked`: a walk has just found these files.
fn run(worktree: &Worktree, matcher: &RegexMatcher, query: &GrepQuery, paths: &[RelPath], walked: bool) -> GrepResult {
    let limits = &query.limits;
    let mut result = GrepResult::default();
    let mut sums = Sums::default();
    let within = &paths[..paths.len().min(limits.max_files)];
    in_order(
        within,
        threads(within.len()),
        || search::FileSearch::new(matcher, query, &limits.until),
        |search, path| match limits.until.is_over() {
            true => Err(Left::Late),
            false => search.file(worktree, path, walked),
        },
        |path, found| {
            let found = match found {
                Ok(found) => found,
                Err(Left::Late) => {
                    result.stop(Cut::Time);
                    return ControlFlow::Break(());
                }
                Err(left) => {
                    left.count(&mut result.skipped);
                    return ControlFlow::Continue(());
                }
            };
            if result.add(path, found, query, &mut sums) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        },
    );
    if within.len() < paths.len() {
        result.stop(Cut::Files);
    }
    result
}

/// What counts against the bounds over all files.
#[derive(Debug, Default)]
struct Sums {
    lines: usize,
    bytes: usize,
}

impl GrepResult {
    fn stop(&mut self, cut: Cut) {
        self.cut = true;
        self.cuts.add(cut);
    }

    /// Adds a file that was searched; whether that was the end. One match more than allowed is looked for, so that
    /// exactly as many as asked for are not called cut.
    fn add(&mut self, path: &RelPath, found: search::Found, query: &GrepQuery, sums: &mut Sums) -> bool {
        self.searched += 1;
        if found.lines == 0 {
            return false;
        }
        if found.more {
            self.stop(Cut::MatchesPerFile);
        }
        self.take(path, found, query, sums)
    }

    /// Adds a file's matches as far as the bounds allow; whether that was the end.
    fn take(&mut self, path: &RelPath, found: search::Found, query: &GrepQuery, sums: &mut Sums) -> bool {
        let limits = &query.limits;
        let Sums { lines, bytes } = sums;
        if *lines >= limits.max_matches {
            self.stop(Cut::Matches);
            return true;
        }
        let mut count = FileCount {
            path: path.clone(),
            lines: found.lines,
            binary: found.binary,
        };
        if query.detail != Detail::Lines {
            *lines += if query.detail == Detail::Files { 1 } else { found.lines };
            self.counts.push(count);
            return false;
        }
        count.lines = 0;
        let mut full = None;
        for line in found.matches {
            if !line.context && *lines >= limits.max_matches {
                full = Some(Cut::Matches);
                break;
            }
            *bytes += line.text.len();
            if *bytes > limits.max_bytes {
                full = Some(Cut::Bytes);
                break;
            }
            let matched = usize::from(!line.context);
            (*lines, count.lines) = (*lines + matched, count.lines + matched);
            self.matches.push(line);
        }
        self.counts.push(count);
        if let Some(cut) = full {
            self.stop(cut);
        }
        full.is_some()
    }
}
