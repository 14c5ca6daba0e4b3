//! Searching one file.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::PathBuf;

use grep_matcher::{LineTerminator, Matcher};
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch};
use muninn_base::{Links, RelPath, Until, open_regular};

use super::{Detail, GrepLimits, GrepQuery, MAX_LINE_BYTES, Match};
use crate::cut::shorten;
use crate::read::same_file;
use crate::secret::is_secret;
use crate::walk::SkipCounts;
use crate::worktree::Worktree;

/// Number of bytes shown before the match in a long line.
const LEAD_BYTES: usize = 100;

/// Minimum length of a line after which the searcher's buffer counts as grown, in bytes.
const LONG_LINE_BYTES: usize = 4 << 10;

/// A searcher with its buffers, reused by a thread from file to file.
pub(super) struct FileSearch<'q> {
    matcher: &'q RegexMatcher,
    query: &'q GrepQuery,
    until: &'q Until,
    searcher: Searcher,
}

#[derive(Default)]
pub(crate) struct FileMatches {
    pub(super) matches: Vec<Match>,
    /// The number of matching lines. It is counted even if `matches` is not requested.
    pub(super) lines: usize,
    /// Whether the file has more than `max_matches_per_file` matches.
    pub(super) more: bool,
    /// Whether the search ended at a NUL byte.
    pub(super) binary: bool,
}

/// Why a file was not searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SkipReason {
    Secret,
    TooLarge,
    NotRegular,
    Unreadable,
    /// The deadline passed before the end of the file.
    Deadline,
}

impl SkipReason {
    pub(super) fn count(&self, skipped: &mut SkipCounts) {
        match self {
            Self::Secret => skipped.secret += 1,
            Self::TooLarge => skipped.too_large += 1,
            Self::NotRegular => skipped.not_regular += 1,
            Self::Unreadable => skipped.unreadable += 1,
            Self::Deadline => {}
        }
    }
}

impl<'q> FileSearch<'q> {
    pub(super) fn new(matcher: &'q RegexMatcher, query: &'q GrepQuery, until: &'q Until) -> Self {
        Self { matcher, query, until, searcher: searcher(query) }
    }

    /// Searches a file. `walked` means that a walk has just found the file.
    pub(super) fn file(
        &mut self,
        worktree: &Worktree,
        path: &RelPath,
        walked: bool,
    ) -> Result<FileMatches, SkipReason> {
        let opened = OpenFile::open(worktree, path, walked)?;
        if opened.size() > self.query.limits.max_file_bytes {
            return Err(SkipReason::TooLarge);
        }
        let found = self.text(&opened.file, path)?;
        if found.lines > 0 {
            opened.verify(worktree, path)?;
        }
        Ok(found)
    }

    /// Searches the content of a file.
    pub(super) fn text(&mut self, text: impl Read, path: &RelPath) -> Result<FileMatches, SkipReason> {
        let mut sink = MatchSink {
            matcher: self.matcher,
            path,
            detail: self.query.detail,
            limits: &self.query.limits,
            found: FileMatches::default(),
        };
        let mut reader = DeadlineReader::new(text, self.until);
        let searched = self.searcher.search_reader(self.matcher, &mut reader, &mut sink);
        if reader.longest > LONG_LINE_BYTES {
            // The size of the buffer determines how far a file with a NUL byte is searched. That size must not depend
            // on the files that this thread searched before.
            self.searcher = searcher(self.query);
        }
        if reader.is_over {
            return Err(SkipReason::Deadline);
        }
        searched.map_err(|_| SkipReason::Unreadable)?;
        let mut found = sink.found;
        if found.binary && self.query.detail == Detail::Counts {
            // A count up to the NUL byte is meaningless. ripgrep drops this count, too.
            found.lines = 0;
        }
        Ok(found)
    }

    /// Returns whether any line of a text can match. `false` means that no line matches.
    pub(super) fn may_match(&self, text: &[u8]) -> bool {
        let byte_order_marks = [&b"\xef\xbb\xbf"[..], b"\xff\xfe", b"\xfe\xff"];
        // A matcher without a line terminator, for instance of an anchored pattern, must be given one line at a time.
        let by_line = self.matcher.line_terminator() == Some(LineTerminator::byte(b'\n'));
        if self.query.invert || !by_line || byte_order_marks.iter().any(|mark| text.starts_with(mark)) {
            return true;
        }
        !matches!(self.matcher.find_candidate_line(text), Ok(None))
    }
}

fn searcher(query: &GrepQuery) -> Searcher {
    let mut builder = SearcherBuilder::new();
    // These are ripgrep's rules for files that it lists itself: a text ends at the first NUL byte, UTF-16 with a byte
    // order mark is decoded, and every other file is searched as bytes.
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
pub(super) struct OpenFile {
    at: PathBuf,
    pub(super) file: File,
    metadata: Metadata,
}

impl OpenFile {
    /// Opens a file. `walked` means that a walk has just found the file, so it is a regular file and not a secret.
    pub(super) fn open(worktree: &Worktree, path: &RelPath, walked: bool) -> Result<Self, SkipReason> {
        let at = worktree.root().join(path.as_str());
        if !walked && is_secret(path) {
            return Err(SkipReason::Secret);
        }
        let (file, metadata) = open_regular(&at, Links::Refuse).map_err(|error| match error.kind() {
            std::io::ErrorKind::InvalidInput => SkipReason::NotRegular,
            _ => SkipReason::Unreadable,
        })?;
        Ok(Self { at, file, metadata })
    }

    /// The size in bytes when the file was opened.
    pub(super) fn size(&self) -> u64 {
        self.metadata.len()
    }

    /// Verifies that the path still leads to the open file, inside the worktree and without a symlink.
    pub(super) fn verify(&self, worktree: &Worktree, path: &RelPath) -> Result<(), SkipReason> {
        let real = worktree.resolve(path).map_err(|_| SkipReason::Unreadable)?;
        let now = self.at.symlink_metadata().map_err(|_| SkipReason::Unreadable)?;
        if real == self.at && same_file(&self.metadata, &now) { Ok(()) } else { Err(SkipReason::Unreadable) }
    }
}

/// A reader that fails after the deadline. The searcher reads some ten kilobytes at a time.
pub(super) struct DeadlineReader<'u, R> {
    reader: R,
    until: &'u Until,
    /// Whether a read failed because of the deadline.
    pub(super) is_over: bool,
    /// The longest line that spans several reads, in bytes.
    longest: usize,
    /// The bytes read so far of the last line.
    open: usize,
}

impl<'u, R> DeadlineReader<'u, R> {
    pub(super) fn new(reader: R, until: &'u Until) -> Self {
        Self { reader, until, is_over: false, longest: 0, open: 0 }
    }
}

impl<R: Read> Read for DeadlineReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.until.is_over() {
            self.is_over = true;
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

struct MatchSink<'a> {
    matcher: &'a RegexMatcher,
    path: &'a RelPath,
    detail: Detail,
    limits: &'a GrepLimits,
    found: FileMatches,
}

impl MatchSink<'_> {
    fn keep(&mut self, bytes: &[u8], number: Option<u64>, context: bool) {
        let line = String::from_utf8_lossy(bytes);
        let line = line.trim_end_matches(['\r', '\n']);
        let from = if line.len() > MAX_LINE_BYTES && !context {
            let found = self.matcher.find(bytes).ok().flatten();
            let start = found.map_or(0, |found| found.start());
            // A replacement character is longer than the bytes that it replaces, so the shown part can start too early.
            let ahead = if start + LEAD_BYTES > MAX_LINE_BYTES { start - LEAD_BYTES.min(start) } else { 0 };
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

impl Sink for MatchSink<'_> {
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
