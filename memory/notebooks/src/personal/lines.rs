//! The lines of a file from elsewhere that are taken.

use super::journal_lines::JournalEntry;
use super::paths::JOURNAL;
use super::signals::Signal;

/// The most lines that are taken of all files together. A search keeps each line of the journal in memory.
pub const MOST_IMPORTED_LINES: usize = 100_000;

/// The lines that are taken of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ImportableLines {
    /// Their text, with line ends.
    pub taken: Vec<u8>,
    /// Their number.
    pub count: usize,
    /// The number of lines that are neither entries nor signals.
    pub bad: usize,
    /// Whether further lines were not looked at.
    pub is_over: bool,
}

/// Reads the lines of a file of a day; `path` is that below the directory. At most `most` lines are taken, and at most twice
/// as many are looked at.
pub fn importable_lines(path: &str, bytes: &[u8], most: usize) -> ImportableLines {
    let is_journal = path.split('/').next() == Some(JOURNAL);
    let mut lines = ImportableLines::default();
    for line in bytes.split(|byte| *byte == b'\n') {
        if line.trim_ascii().is_empty() {
            continue;
        }
        if lines.count >= most || lines.count + lines.bad >= 2 * most {
            lines.is_over = true;
            break;
        }
        let is_good = if is_journal {
            serde_json::from_slice::<JournalEntry>(line).is_ok()
        } else {
            serde_json::from_slice::<Signal>(line).is_ok()
        };
        if !is_good {
            lines.bad += 1;
            continue;
        }
        lines.count += 1;
        lines.taken.extend_from_slice(line);
        lines.taken.push(b'\n');
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: &str = r#"{"timestamp":"2026-01-01T00:00:00.000Z","topic":"t","content":"c"}"#;
    const SIGNAL: &str = r#"{"timestamp":"2026-01-01T00:00:00.000Z","type":"search"}"#;

    #[test]
    fn only_lines_that_parse_are_taken() {
        for (path, line, is_taken) in [
            ("journal/2026-01-01.jsonl", ENTRY, true),
            ("signals/2026-01-01.jsonl", SIGNAL, true),
            ("journal/2026-01-01.jsonl", SIGNAL, false),
            ("signals/2026-01-01.jsonl", ENTRY, false),
            ("journal/2026-01-01.jsonl", "{}", false),
            ("signals/2026-01-01.jsonl", "{}", false),
            ("journal/2026-01-01.jsonl", "[]", false),
            ("journal/2026-01-01.jsonl", "null", false),
            ("journal/2026-01-01.jsonl", "1", false),
            ("journal/2026-01-01.jsonl", "no json", false),
            ("journal/2026-01-01.jsonl", "{\"timestamp\":1,\"topic\":\"t\",\"content\":\"c\"}", false),
            ("journal/2026-01-01.jsonl", &format!("{ENTRY}{ENTRY}"), false),
        ] {
            let lines = importable_lines(path, format!("\n{line}\n\n").as_bytes(), 10);
            assert_eq!((lines.count, lines.bad), (usize::from(is_taken), usize::from(!is_taken)), "{line}");
            assert_eq!(lines.taken.is_empty(), !is_taken, "{line}");
        }
        let invalid = importable_lines("journal/2026-01-01.jsonl", b"{\"topic\":\"\xff\"}\n", 10);
        assert_eq!((invalid.count, invalid.bad), (0, 1));
    }

    #[test]
    fn lines_beyond_the_count_are_not_looked_at() {
        let many = importable_lines("journal/2026-01-01.jsonl", format!("{ENTRY}\n").repeat(9).as_bytes(), 4);
        assert_eq!((many.count, many.bad, many.is_over), (4, 0, true));
        let bad = importable_lines("journal/2026-01-01.jsonl", "{}\n".repeat(1_000).as_bytes(), 4);
        assert_eq!((bad.count, bad.bad, bad.is_over), (0, 8, true));
        let exact = importable_lines("journal/2026-01-01.jsonl", format!("{ENTRY}\n").repeat(4).as_bytes(), 4);
        assert_eq!((exact.count, exact.is_over), (4, false));
    }
}
