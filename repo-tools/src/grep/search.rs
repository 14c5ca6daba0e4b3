//! Searching one file.

use std::fs::File;
use std::io;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch};

use super::{Detail, GrepLimits, GrepQuery, MAX_LINE_BYTES, Match};
use crate::cut::shorten;
use crate::path::RelPath;
use crate::read::same_file;
use crate::secret::is_secret;
use crate::walk::SkipCounts;
use crate::worktree::Worktree;

/// What of a long line stands before its match.
const LEAD_BYTES: usize = 100;

/// A searcher with its buffers, which a thread keeps from file to file.
pub(super) struct FileSearch<'q> {
    matcher: &'q RegexMatcher,
    query: &'q GrepQuery,
    searcher: Searcher,
}

/// The matches of a file.
#[derive(Default)]
pub(super) struct Found {
    pub(super) matches: Vec<Match>,
    /// How many lines match, also where none are kept.
    pub(super) lines: usize,
    /// There are more than one file may have.
    pub(super) more: bool,
    /// It ended at a NUL byte.
    pub(super) binary: bool,
}

/// Why a file was not searched.
pub(super) enum Left {
    Secret,
    TooLarge,
    NotRegular,
    Unreadable,
}

impl Left {
    pub(super) fn count(&self, skipped: &mut SkipCounts) {
        match self {
            Self::Secret => skipped.secret += 1,
            Self::TooLarge => skipped.too_large += 1,
            Self::NotRegular => skipped.not_regular += 1,
            Self::Unreadable => skipped.unreadable += 1,
        }
    }
}

impl<'q> FileSearch<'q> {
    pub(super) fn new(matcher: &'q RegexMatcher, query: &'q GrepQuery) -> Self {
        let mut builder = SearcherBuilder::new();
        // As ripgrep treats files that it finds by itself: text up to the first NUL byte, UTF-16 with its mark decoded,
        // and everything else searched as bytes.
        builder
            .line_number(query.detail == Detail::Lines)
            .binary_detection(BinaryDetection::quit(0))
            .invert_match(query.invert);
        if query.detail == Detail::Lines {
            builder.before_context(query.context.0).after_context(query.context.1);
        }
        Self {
            matcher,
            query,
            searcher: builder.build(),
        }
    }

    /// Searches a file that a walk has just found, or one that somebody named.
    pub(super) fn file(&mut self, worktree: &Worktree, path: &RelPath, walked: bool) -> Result<Found, Left> {
        let at = worktree.root().join(path.as_str());
        if !walked {
            if is_secret(path) {
                return Err(Left::Secret);
            }
            // A pipe would be waited for.
            if !at.symlink_metadata().map_err(|_| Left::Unreadable)?.is_file() {
                return Err(Left::NotRegular);
            }
        }
        let file = File::open(&at).map_err(|_| Left::Unreadable)?;
        let opened = file.metadata().map_err(|_| Left::Unreadable)?;
        if !opened.is_file() {
            return Err(Left::NotRegular);
        }
        if opened.len() > self.query.limits.max_file_bytes {
            return Err(Left::TooLarge);
        }
        let mut sink = Lines {
            matcher: self.matcher,
            path,
            detail: self.query.detail,
            limits: &self.query.limits,
            found: Found::default(),
        };
        self.searcher
            .search_file(self.matcher, &file, &mut sink)
            .map_err(|_| Left::Unreadable)?;
        let mut found = sink.found;
        if found.binary && self.query.detail == Detail::Counts {
            // What was counted up to the NUL byte says nothing about the file. ripgrep does the same.
            found.lines = 0;
        }
        if found.lines > 0 {
            let real = worktree.resolve(path).map_err(|_| Left::Unreadable)?;
            let now = at.symlink_metadata().map_err(|_| Left::Unreadable)?;
            if real != at || !same_file(&opened, &now) {
                return Err(Left::Unreadable);
            }
        }
        Ok(found)
    }
}

struct Lines<'a> {
    matcher: &'a RegexMatcher,
    path: &'a RelPath,
    detail: Detail,
    limits: &'a GrepLimits,
    found: Found,
}

impl Lines<'_> {
    fn keep(&mut self, bytes: &[u8], number: Option<u64>, context: bool) {
        let line = String::from_utf8_lossy(bytes);
        let line = line.trim_end_matches(['\r', '\n']);
        let from = if line.len() > MAX_LINE_BYTES && !context {
            let found = self.matcher.find(bytes).ok().flatten();
            let start = found.map_or(0, |found| found.start());
            // Replaced bytes are longer than what they replace, so this errs towards the start.
            let ahead = if start + LEAD_BYTES > MAX_LINE_BYTES {
                start - LEAD_BYTES.min(start)
            } else {
                0
            };
            line.floor_char_boundary(ahead.min(line.len().saturating_sub(MAX_LINE_BYTES)))
        } else {
            0
        };
        let (text, end) = shorten(&line[from..], MAX_LINE_BYTES);
        self.found.matches.push(Match {
            path: self.path.clone(),
            line: u32::try_from(number.unwrap_or(0)).unwrap_or(u32::MAX),
            text: text.to_owned(),
            cut: end || from > 0,
            context,
        });
    }
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        match self.detail {
            Detail::Files => {
                self.found.lines = 1;
                return Ok(false);
            }
            Detail::Counts => self.found.lines += 1,
            Detail::Lines if self.found.lines >= self.limits.max_matches_per_file => {
                self.found.more = true;
                return Ok(false);
            }
            Detail::Lines => {
                self.found.lines += 1;
                self.keep(found.bytes(), found.line_number(), false);
            }
        }
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> Result<bool, io::Error> {
        self.keep(found.bytes(), found.line_number(), true);
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, io::Error> {
        self.found.binary = true;
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> Result<(), io::Error> {
        self.found.binary |= finish.binary_byte_offset().is_some();
        Ok(())
    }
}
