//! One thing that is remembered.

use muninn_repo_tools::RelPath;
use serde::{Deserialize, Serialize};

use super::contested::ConflictSide;
use crate::records::{Moment, Superseded};

/// What kind of memory it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MemoryKind {
    /// A section of a knowledge file.
    Knowledge,
    /// A record of `memory/`.
    Record,
}

/// A file that a memory is about, as it was then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CitedFile {
    /// The file.
    pub path: RelPath,
    /// Its blob id in hexadecimal digits.
    pub blob: String,
}

/// One thing that is remembered, already redacted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// What kind it is.
    pub kind: MemoryKind,
    /// `path:first-last` of a section, or the record's id.
    pub source: String,
    /// The file that it comes from, as it is shown.
    pub path: String,
    /// The heading, or the record's type and subject.
    pub title: String,
    /// What is remembered.
    pub text: String,
    /// Where a section begins, counted from 1; 0 for a record.
    pub first_line: u32,
    /// When a record was written, as it says itself.
    pub date: Option<Moment>,
    /// How sure it is, from 0 to 1.
    pub confidence: Option<f32>,
    /// Who wrote a record, where that is known.
    pub author: Option<String>,
    /// Globs of the files that a section is about, as its front matter has them; see [`Memories::applies_to`].
    ///
    /// [`Memories::applies_to`]: crate::Memories::applies_to
    #[serde(default)]
    pub applies_to: Vec<String>,
    /// A record's type, such as `learning`.
    pub record_type: Option<String>,
    /// The session that a record is from.
    pub session: Option<String>,
    /// The branch on which it was written.
    pub branch: Option<String>,
    /// The task that it was learned at.
    pub task: Option<String>,
    /// What contradicts it, as long as nobody has settled that.
    pub contested: Option<ConflictSide>,
    /// Until when it held, where another one has taken its place.
    pub superseded: Option<Superseded>,
    /// What it rests on; it is stale once one of these is another.
    pub cites: Vec<CitedFile>,
}
