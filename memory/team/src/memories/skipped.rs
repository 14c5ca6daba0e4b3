//! Notes about skipped lines: one note for each of the first lines, and the number of all skipped lines.

use crate::records::RecordFile;
use crate::records::lines::SkippedLine;

/// Number of lines that get a note of their own.
const MAX_LISTED: usize = 3;

/// Notes about the skipped lines of one file.
#[derive(Default)]
pub(super) struct SkippedLines {
    first: Vec<String>,
    count: usize,
}

impl SkippedLines {
    /// Adds a line. `before` lines of the file were not read.
    pub(super) fn add(&mut self, file: &RecordFile, before: usize, aside: &SkippedLine) {
        self.count += 1;
        if self.count <= MAX_LISTED {
            let line = before + aside.line;
            self.first.push(format!("{file}:{line}: {}; the line is ignored", aside.reason));
        }
    }

    /// One note for each of the first lines, and one with their number if there are more.
    pub(super) fn notes(mut self, file: &RecordFile) -> Vec<String> {
        if self.count > MAX_LISTED {
            self.first.push(format!("{file}: {} lines are ignored in total", self.count));
        }
        self.first
    }
}
