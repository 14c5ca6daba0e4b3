//! What a person is told of lines that are no records: a few of them, and how many there are.

use crate::records::RecordFile;
use crate::records::lines::SkippedLine;

/// So many are told of one by one.
const MAX_LISTED: usize = 3;

/// The lines that were set aside, in words.
#[derive(Default)]
pub(super) struct SkippedLines {
    first: Vec<String>,
    count: usize,
}

impl SkippedLines {
    /// Tells of a line with so many before those that were read.
    pub(super) fn add(&mut self, file: &RecordFile, before: usize, aside: &SkippedLine) {
        self.count += 1;
        if self.count <= MAX_LISTED {
            let line = before + aside.line;
            self.first.push(format!("{file}:{line}: {}, set aside", aside.reason));
        }
    }

    /// One note for each of the first, and one for all if there are more.
    pub(super) fn notes(mut self, file: &RecordFile) -> Vec<String> {
        if self.count > MAX_LISTED {
            self.first.push(format!("{file}: {} in all are set aside", self.count));
        }
        self.first
    }
}
