//! What a person is told of lines that are no records: a few of them, and how many there are.

use crate::records::RecordFile;
use crate::records::lines::SetAside;

/// So many are told of one by one.
const TOLD: usize = 3;

/// The lines that were set aside, in words.
#[derive(Default)]
pub(super) struct Told {
    first: Vec<String>,
    count: usize,
}

impl Told {
    /// Tells of a line with so many before those that were read.
    pub(super) fn tell(&mut self, file: &RecordFile, before: usize, aside: &SetAside) {
        self.count += 1;
        if self.count <= TOLD {
            let line = before + aside.line;
            self.first.push(format!("{file}:{line}: {}, set aside", aside.reason));
        }
    }

    /// One note for each of the first, and one for all if there are more.
    pub(super) fn notes(mut self, file: &RecordFile) -> Vec<String> {
        if self.count > TOLD {
            self.first.push(format!("{file}: {} in all are set aside", self.count));
        }
        self.first
    }
}
