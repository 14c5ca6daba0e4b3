//! Names of sections and entries: `project/area`, `project/area#1a2b3c4`.

use std::fmt;

use thiserror::Error;

use crate::wiki::{PagePath, PagePathError};

/// The fewest digits of an entry's name.
const FEWEST_DIGITS: usize = 7;
/// The most digits of a commit's id, which has 40 with SHA-1 and 64 with SHA-256.
const MOST_DIGITS: usize = 64;

/// A section, or an entry of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryRef {
    pub section: PagePath,
    /// The first digits of the entry's commit.
    pub commit: Option<String>,
}

/// Why a text names no section and no entry.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum JournalIdError {
    /// The path of the section is not valid.
    #[error("the section: {0}")]
    Path(#[from] PagePathError),
    /// The digits are not valid.
    #[error("`#{0}` names no entry: write {FEWEST_DIGITS} or more hexadecimal digits")]
    Digits(String),
}

impl EntryRef {
    /// Reads a name.
    pub fn parse(name: &str) -> Result<Self, JournalIdError> {
        let (section, digits) = match name.split_once('#') {
            Some((section, digits)) => (section, Some(digits)),
            None => (name, None),
        };
        let commit = digits.map(|digits| {
            let is_valid = (FEWEST_DIGITS..=MOST_DIGITS).contains(&digits.len())
                && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
            is_valid
                .then(|| digits.to_ascii_lowercase())
                .ok_or_else(|| JournalIdError::Digits(digits.escape_debug().to_string()))
        });
        Ok(Self { section: PagePath::new(section)?, commit: commit.transpose()? })
    }
}

impl fmt::Display for EntryRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.commit {
            Some(commit) => write!(f, "{}#{commit}", self.section),
            None => write!(f, "{}", self.section),
        }
    }
}
