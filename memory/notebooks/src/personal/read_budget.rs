use std::path::Path;

use muninn_base::private_file;
use serde::Serialize;

use super::error::PersonalError;

/// A line that is not what its file has. It is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BadLine {
    /// The file, below the directory.
    pub file: String,
    /// The number of the line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: String,
}

/// How many texts, such as lines, may still be read, and bytes of them. The default is that of one look at lines.
pub(super) struct ReadBudget {
    pub(super) texts: usize,
    pub(super) bytes: usize,
}

impl ReadBudget {
    /// Takes a text out of the budget; `false` if it is used up.
    pub(super) fn take(&mut self, text: &[u8]) -> bool {
        let (texts, bytes) = (self.texts.checked_sub(1), self.bytes.checked_sub(text.len()));
        let (Some(texts), Some(bytes)) = (texts, bytes) else {
            return false;
        };
        *self = ReadBudget { texts, bytes };
        true
    }
}

/// The text of a file; bytes that are no UTF-8 are replaced.
pub(super) fn text(path: &Path) -> Result<String, PersonalError> {
    let bytes = private_file::read_start(path, MOST_FILE).map_err(PersonalError::io(path))?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// The most bytes of a file that are read.
pub(crate) const MOST_FILE: u64 = 64 << 20;

/// The lines of a folder that are not what its files have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct BadLines {
    /// The first ones.
    pub lines: Vec<BadLine>,
    /// The number of all of them.
    pub count: usize,
    /// The file in which the look ended, because there are too many lines.
    pub ended_in: Option<String>,
}
