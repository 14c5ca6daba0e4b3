//! One memory: a section of knowledge or a record.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::conflict_side::ConflictSide;
use crate::citations::Citation;
use crate::records::{Moment, NoteUse, Superseded};

/// Begins the line with the reason of a statement.
pub(super) const REASON: &str = "reason: ";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MemoryKind {
    /// A section of a knowledge file.
    Knowledge,
    /// A record of `memory/`.
    Record,
    /// An entry or an overview of the git journal.
    Journal,
}

/// A memory, already redacted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    pub kind: MemoryKind,
    /// `path:first-last` of a section, the record's id, or `journal:section#commit`.
    pub source: String,
    /// The file that it comes from, for display.
    pub path: String,
    /// The heading, or the record's type and subject.
    pub title: String,
    pub text: String,
    /// The texts of records that it replaces, represents or contradicts, one per line. They are searched and not shown.
    pub related: String,
    /// Questions that it answers. They are searched and not shown.
    pub answers: Vec<String>,
    /// The first line of a section of knowledge, counted from 1; 0 for others.
    pub first_line: u32,
    /// Time of writing of a record.
    pub date: Option<Moment>,
    /// Confidence, from 0 to 1.
    pub confidence: Option<f32>,
    /// The author of a record, if known.
    pub author: Option<String>,
    /// Globs of the files that a section is about, from its front matter; see `Memories::applies_to`.
    ///
    /// `Memories::applies_to`: crate::Memories::applies_to
    #[serde(default)]
    pub applies_to: Vec<String>,
    /// A record's type, such as `learning`.
    pub record_type: Option<String>,
    /// The session of a record.
    pub session: Option<String>,
    /// The branch of a record.
    pub branch: Option<String>,
    /// The task of a record.
    pub task: Option<String>,
    /// The open conflict that it is part of.
    pub contested: Option<ConflictSide>,
    /// The end of validity of a superseded record.
    pub superseded: Option<Superseded>,
    /// What became of it in prompts.
    pub uses: NoteUse,
    /// The cited places.
    pub cites: Vec<Citation>,
}

impl Memory {
    /// Returns the text and the related texts, which have one vector.
    pub fn embedded_text(&self) -> Cow<'_, str> {
        match &*self.related {
            "" => Cow::Borrowed(&self.text),
            related => Cow::Owned(format!("{}\n{related}", self.text)),
        }
    }

    /// Returns its text without the reason.
    pub fn statement(&self) -> &str {
        let statement = self.text.split_once(REASON).and_then(|(before, _)| before.strip_suffix('\n'));
        statement.unwrap_or(&self.text)
    }

    /// Returns whether it is a record of a statement, and not one of what happened.
    pub fn is_statement(&self) -> bool {
        self.kind == MemoryKind::Record
            && matches!(self.record_type.as_deref(), Some("learning" | "failure" | "pattern"))
    }

    /// Returns all texts whose words are searched.
    pub fn searched_text(&self) -> Cow<'_, str> {
        match &*self.answers {
            [] => self.embedded_text(),
            answers => Cow::Owned(format!("{}\n{}", self.embedded_text(), answers.join("\n"))),
        }
    }
}
