//! Reading a range of lines of a file.

use muninn_base::RelPath;
use serde::Serialize;

use crate::cut::{Cut, Cuts, shorten};
use crate::read::{ReadError, read_text};
use crate::worktree::Worktree;

/// Maximum size of a file, in bytes.
const MAX_FILE_BYTES: u64 = 32 << 20;

/// A range of lines to read, with limits.
#[derive(Debug, Clone, Copy)]
pub struct LineRange {
    /// The first line, counted from 1.
    pub first: u32,
    /// The last line; `u32::MAX` for the file's end.
    pub last: u32,
    /// Maximum number of lines.
    pub max_lines: usize,
    /// Maximum length of a line, in bytes; longer lines are truncated.
    pub max_line_bytes: usize,
    /// Maximum size of all lines together, in bytes.
    pub max_bytes: usize,
}

impl Default for LineRange {
    /// The whole file, up to 2,000 lines and 256 KiB.
    fn default() -> Self {
        Self { first: 1, last: u32::MAX, max_lines: 2_000, max_line_bytes: 2_000, max_bytes: 1 << 18 }
    }
}

/// The result of [`read_lines`].
#[derive(Debug, Clone, Serialize)]
pub struct Excerpt {
    /// The file.
    pub path: RelPath,
    /// The blob id of the whole file, in hexadecimal.
    pub blob: String,
    /// The lines, without their endings.
    pub lines: Vec<Line>,
    /// The number of lines of the file.
    pub total_lines: usize,
    /// The limits that left out a part of the range. [`Cut::Lines`]: the range has more lines.
    pub cuts: Cuts,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Line {
    /// The line number, counted from 1.
    pub line: u32,
    pub text: String,
    /// The number of bytes missing at the end of `text`.
    pub cut_bytes: usize,
}

/// Reads lines of a text file. A range beyond the end of the file is empty.
pub fn read_lines(worktree: &Worktree, path: &RelPath, range: &LineRange) -> Result<Excerpt, ReadError> {
    let file = read_text(worktree, path, MAX_FILE_BYTES)?;
    let mut excerpt = Excerpt {
        path: path.clone(),
        blob: file.blob.to_string(),
        lines: Vec::new(),
        total_lines: file.text.lines().count(),
        cuts: Cuts::default(),
    };
    let wanted = file.text.lines().zip(1u32..);
    let wanted = wanted.filter(|(_, number)| (range.first..=range.last).contains(number));
    let mut bytes = 0;
    for (text, line) in wanted {
        let (kept, cut) = shorten(text, range.max_line_bytes);
        if excerpt.lines.len() >= range.max_lines {
            excerpt.cuts.add(Cut::Lines);
            break;
        }
        bytes += kept.len() + 1;
        if bytes > range.max_bytes {
            excerpt.cuts.add(Cut::Bytes);
            break;
        }
        if cut {
            excerpt.cuts.add(Cut::Bytes);
        }
        excerpt.lines.push(Line { line, text: kept.to_owned(), cut_bytes: text.len() - kept.len() });
    }
    Ok(excerpt)
}

/// Splits `a.rs:10-20` into the path, and the first and the last line; `a.rs:7` is one line, and `a.rs:7-` goes to the
/// file's end. Text after a colon that is no line number is part of the path.
pub fn split_lines(written: &str) -> (&str, Option<(u32, u32)>) {
    let lines = |text: &str| -> Option<(u32, u32)> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let last = if last.is_empty() { u32::MAX } else { last.trim().parse().ok()? };
        Some((first.trim().parse().ok()?, last))
    };
    let split = written.rsplit_once(':').and_then(|(path, text)| Some((path, lines(text)?)));
    split.map_or((written, None), |(path, lines)| (path, Some(lines)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn a_range_of_lines_is_read_and_limits_are_reported() {
        let repo = Fixture::with(&[("a.txt", "\u{feff}one\r\ntwo\r\nthr\u{e9}e\r\nfour"), ("empty", "")]);
        let read = |range| read_lines(&repo.worktree(), &RelPath::new("a.txt").unwrap(), &range).unwrap();
        let texts = |excerpt: &Excerpt| -> Vec<(u32, String)> {
            excerpt.lines.iter().map(|line| (line.line, line.text.clone())).collect()
        };
        let whole = read(LineRange::default());
        assert_eq!((whole.total_lines, whole.lines.len(), whole.cuts.is_empty()), (4, 4, true));
        assert_eq!(texts(&whole)[0], (1, "one".to_owned()));
        let middle = read(LineRange { first: 2, last: 3, ..LineRange::default() });
        assert_eq!(texts(&middle), [(2, "two".to_owned()), (3, "thr\u{e9}e".to_owned())]);
        assert!(middle.cuts.is_empty());
        let few = read(LineRange { max_lines: 1, ..LineRange::default() });
        assert!(few.lines.len() == 1 && few.cuts.has(Cut::Lines));
        let narrow = read(LineRange { first: 3, max_line_bytes: 4, ..LineRange::default() });
        assert_eq!((narrow.lines[0].text.as_str(), narrow.lines[0].cut_bytes), ("thr", 3));
        let small = read(LineRange { max_bytes: 9, ..LineRange::default() });
        assert!(small.lines.len() == 2 && small.cuts.has(Cut::Bytes));
        assert!(read(LineRange { first: 9, ..LineRange::default() }).lines.is_empty());
        let empty = read_lines(&repo.worktree(), &RelPath::new("empty").unwrap(), &LineRange::default()).unwrap();
        assert_eq!((empty.total_lines, empty.lines.len()), (0, 0));
    }

    #[test]
    fn line_numbers_follow_a_colon() {
        for (written, expected) in [
            ("a.rs", ("a.rs", None)),
            ("a.rs:7", ("a.rs", Some((7, 7)))),
            ("a.rs:7-9", ("a.rs", Some((7, 9)))),
            ("a.rs:7-", ("a.rs", Some((7, u32::MAX)))),
            ("a.rs:", ("a.rs:", None)),
            ("odd:name", ("odd:name", None)),
            ("odd:name:3", ("odd:name", Some((3, 3)))),
        ] {
            assert_eq!(split_lines(written), expected, "{written}");
        }
    }
}
