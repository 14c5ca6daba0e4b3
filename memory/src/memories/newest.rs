//! Where to begin in a file of records that is too large to be held.
//!
//! What is newer stands further behind, and what is forgotten is said so behind it. So of a file that outgrew its bounds
//! the end is read, and the file itself stays whole.

use std::io::{self, BufRead, Seek};

/// How much of a file is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) bytes: u64,
    pub(super) lines: usize,
}

/// Passes over the lines at a file's beginning that are too many, and returns how many these are. Holds no line.
///
/// # Errors
/// Those of reading.
pub(super) fn pass_over(file: &mut (impl BufRead + Seek), bounds: Bounds) -> io::Result<usize> {
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
        // The last line may have no end, and another process may have written meanwhile.
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

    /// How many lines are passed over, and what is left.
    fn passed(text: &str, bytes: u64, lines: usize) -> (usize, String) {
        let mut file = Cursor::new(text);
        let passed = pass_over(&mut file, Bounds { bytes, lines }).unwrap();
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
            assert_eq!(
                passed(text, bytes, lines),
                (count, rest.to_owned()),
                "{text:?} {bytes} {lines}"
            );
        }
    }
}
