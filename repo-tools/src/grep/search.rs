//! Searching one file.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::PathBuf;

use grep_matcher::{LineTerminator, Matcher};
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch};

use super::{Detail, GrepLimits, GrepQuery, MAX_LINE_BYTES, Match};
use crate::cut::shorten;
use crate::path::RelPath;
use crate::read::same_file;
use crate::secret::is_secret;
use crate::until::Until;
use crate::walk::SkipCounts;
use crate::worktree::Worktree;

/// What of a long line stands before its match.
const LEAD_BYTES: usize = 100;

/// A line of this length may have made the searcher's buffer larger, in bytes.
const LONG_LINE_BYTES: usize = 4 << 10;

/// A searcher with its buffers, which a thread keeps from file to file.
pub(super) struct FileSearch<'q> {
    matcher: &'q RegexMatcher,
    query: &'q GrepQuery,
    until: &'q Until,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    Secret,
    TooLarge,
    NotRegular,
    Unreadable,
    /// The time was over before its end.
    Late,
}

impl Left {
    pub(super) fn count(&self, skipped: &mut SkipCounts) {
        match self {
            Self::Secret => skipped.secret += 1,
            Self::TooLarge => skipped.too_large += 1,
            Self::NotRegular => skipped.not_regular += 1,
            Self::Unreadable => skipped.unreadable += 1,
            Self::Late => {}
        }
    }
}

impl<'q> FileSearch<'q> {
    pub(super) fn new(matcher: &'q RegexMatcher, query: &'q GrepQuery, until: &'q Until) -> Self {
        Self {
            matcher,
            query,
            until,
            searcher: searcher(query),
        }
    }

    /// Searches a file that a walk has just found, or one that somebody named.
    pub(super) fn file(&mut self, worktree: &Worktree, path: &RelPath, walked: bool) -> Result<Found, Left> {
        let opened = Opened::open(worktree, path, walked)?;
        if opened.size() > self.query.limits.max_file_bytes {
            return Err(Left::TooLarge);
        }
        let found = self.text(&opened.file, path)?;
        if found.lines > 0 {
            opened.proved(worktree, path)?;
        }
        Ok(found)
    }

    /// Searches what a file holds.
    pub(super) fn text(&mut self, text: impl Read, path: &RelPath) -> Result<Found, Left> {
        let mut sink = Lines {
            matcher: self.matcher,
            path,
            detail: self.query.detail,
            limits: &self.query.limits,
            found: Found::default(),
        };
        let mut ending = Ending::new(text, self.until);
        let searched = self.searcher.search_reader(self.matcher, &mut ending, &mut sink);
        if ending.longest > LONG_LINE_BYTES {
            // How far a file with a NUL byte is searched hangs on the size of the buffer, which must not hang on which
            // files a thread has seen before.
            self.searcher = searcher(self.query);
        }
        if ending.over {
            return Err(Left::Late);
        }
        searched.map_err(|_| Left::Unreadable)?;
        let mut found = sink.found;
        if found.binary && self.query.detail == Detail::Counts {
            // What was counted up to the NUL byte says nothing about the file. ripgrep does the same.
            found.lines = 0;
        }
        Ok(found)
    }

    /// Whether any line of a text may match; `false` is certain.
    pub(super) fn may_match(&self, text: &[u8]) -> bool {
        let marked = [&b"\xef\xbb\xbf"[..], b"\xff\xfe", b"\xfe\xff"];
        // Without a line's end of its own a pattern is about one line at a time, an anchored one for instance.
        let by_line = self.matcher.line_terminator() == Some(LineTerminator::byte(b'\n'));
        if self.query.invert || !by_line || marked.iter().any(|mark| text.starts_with(mark)) {
            return true;
        }
        !matches!(self.matcher.find_candidate_line(text), Ok(None))
    }
}

fn searcher(query: &GrepQuery) -> Searcher {
    let mut builder = SearcherBuilder::new();
    // As ripgrep treats files that it finds by itself: text up to the first NUL byte, UTF-16 with its mark decoded, and
    // everything else searched as bytes.
    builder
        .line_number(query.detail == Detail::Lines)
        .binary_detection(BinaryDetection::quit(0))
        .invert_match(query.invert);
    if query.detail == Detail::Lines {
        builder.before_context(query.context.0).after_context(query.context.1);
    }
    builder.build()
}

/// An open file of the worktree.
pub(super) struct Opened {
    at: PathBuf,
    pub(super) file: File,
    metadata: Metadata,
}

impl Opened {
    /// Opens a file that a walk has just found, or one that somebody named.
    pub(super) fn open(worktree: &Worktree, path: &RelPath, walked: bool) -> Result<Self, Left> {
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
        let metadata = file.metadata().map_err(|_| Left::Unreadable)?;
        if !metadata.is_file() {
            return Err(Left::NotRegular);
        }
        Ok(Self { at, file, metadata })
    }

    /// Its size in bytes when it was opened.
    pub(super) fn size(&self) -> u64 {
        self.metadata.len()
    }

    /// That it is, now, the file of this name in the worktree, with no symlink on the way.
    pub(super) fn proved(&self, worktree: &Worktree, path: &RelPath) -> Result<(), Left> {
        let real = worktree.resolve(path).map_err(|_| Left::Unreadable)?;
        let now = self.at.symlink_metadata().map_err(|_| Left::Unreadable)?;
        if real == self.at && same_file(&self.metadata, &now) {
            Ok(())
        } else {
            Err(Left::Unreadable)
        }
    }
}

/// A reader that breaks off when the time is over. The searcher reads some ten kilobytes at a time.
pub(super) struct Ending<'u, R> {
    reader: R,
    until: &'u Until,
    /// It has broken off.
    pub(super) over: bool,
    /// Of the lines that were read, the longest that is not in one piece, in bytes.
    longest: usize,
    /// What was read of the last line.
    open: usize,
}

impl<'u, R> Ending<'u, R> {
    pub(super) fn new(reader: R, until: &'u Until) -> Self {
        Self {
            reader,
            until,
            over: false,
            longest: 0,
            open: 0,
        }
    }
}

impl<R: Read> Read for Ending<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.until.is_over() {
            self.over = true;
            return Err(io::ErrorKind::TimedOut.into());
        }
        let read = self.reader.read(buffer)?;
        let bytes = &buffer[..read];
        let first = memchr::memchr(b'\n', bytes);
        self.longest = self.longest.max(self.open + first.unwrap_or(read));
        self.open = match memchr::memrchr(b'\n', bytes) {
            Some(last) => read - last - 1,
            None => self.open + read,
        };
        Ok(read)
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
