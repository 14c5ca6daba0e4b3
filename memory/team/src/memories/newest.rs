//! The start offset in a file of records that is too large.
//!
//! Newer records and tombstones are closer to the end of a file. Therefore only the end of a large file is read. The
//! file itself is unchanged.

use std::io::{self, BufRead, Seek};

/// The part of a file that is read.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    pub bytes: u64,
    pub(super) lines: usize,
}

/// Skips the first lines of a file that exceeds its bounds, and returns their number. Holds no line in memory.
pub(super) fn skip_lines(file: &mut (impl BufRead + Seek), bounds: Bounds) -> io::Result<usize> {
    let (mut bytes, mut lines) = (0u64, 0usize);
    loop {
        let read = file.fill_buf()?;
        if read.is_empty() {
            break;
        }
        lines += memchr::memchr_iter(b'\n', read).count();
        let length = read.len();
        bytes += length as u64;
        file.consume(length);
    }
    file.rewind()?;
    let mut passed = 0;
    while bytes > bounds.bytes || lines > bounds.lines {
        let length = file.skip_until(b'\n')?;
        if length == 0 {
            break;
        }
        // The last line can lack a newline, and another process can have written meanwhile.
        bytes = bytes.saturating_sub(length as u64);
        lines = lines.saturating_sub(1);
        passed += 1;
    }
    Ok(passed)
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Read};

    use super::*;

    /// Number of skipped lines, and the rest.
    fn passed(text: &str, bytes: u64, lines: usize) -> (usize, String) {
        let mut file = Cursor::new(text);
        let passed = skip_lines(&mut file, Bounds { bytes, lines }).unwrap();
        let mut rest = String::new();
        file.read_to_string(&mut rest).unwrap();
        (passed, rest)
    }

    #[test]
    fn whole_lines_at_the_end_are_kept() {
        let table = [
            ("a\nbb\nccc\n", 100, 100, 0, "a\nbb\nccc\n"),
            ("a\nbb\nccc\n", 7, 100, 1, "bb\nccc\n"),
            ("a\nbb\nccc\n", 6, 100, 2, "ccc\n"),
            ("a\nbb\nccc\n", 100, 2, 1, "bb\nccc\n"),
            ("a\nbb\nccc", 5, 100, 2, "ccc"),
            ("one line without an end", 5, 100, 1, ""),
            ("", 0, 0, 0, ""),
        ];
        for (text, bytes, lines, count, rest) in table {
            assert_eq!(passed(text, bytes, lines), (count, rest.to_owned()), "{text:?} {bytes} {lines}");
        }
    }
}
