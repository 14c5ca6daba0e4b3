//! Claims of records.

use std::collections::BTreeSet;

use muninn_team::records::{Body, Moment, Record, Statement, kinds};

use super::judge::Claim;

/// Longer texts are truncated where a conflict shows them, in bytes.
const LONGEST_SHOWN: usize = 1_000;

pub(super) struct RecordClaim<'a> {
    pub(super) record: &'a Record,
    pub(super) text: &'a str,
    pub(super) subject: Option<&'a str>,
    pub(super) author: Option<&'a str>,
    pub(super) statement: Statement,
    /// Source files; for a pattern its entities.
    files: Vec<&'a str>,
    /// Whether the record is a pattern.
    is_pattern: bool,
}

impl<'a> RecordClaim<'a> {
    /// The claim of a record; `None` for records without one: hits and summaries are added up, and decisions are about
    /// other records.
    pub(super) fn of(record: &'a Record) -> Option<Self> {
        let statement = Statement::of(record)?;
        let claimed = match &record.body {
            Body::Learning(kinds::Learning { text, subject, author, .. }) => Self {
                record,
                text,
                statement,
                subject: subject.as_deref(),
                author: author.as_deref(),
                files: record.origin.sources.iter().map(|source| source.path.as_str()).collect(),
                is_pattern: false,
            },
            Body::Pattern(kinds::Pattern { pattern, entities, author, .. }) if !pattern.is_empty() => {
                let entities: BTreeSet<&str> = entities.iter().map(String::as_str).collect();
                Self {
                    record,
                    text: pattern,
                    statement,
                    subject: None,
                    author: author.as_deref(),
                    files: entities.into_iter().collect(),
                    is_pattern: true,
                }
            }
            _ => return None,
        };
        Some(claimed)
    }

    /// Returns whether two claims have the same words. They differ at most in quotes, and need no judgement.
    pub(super) fn has_words_of(&self, other: &RecordClaim<'_>) -> bool {
        self.statement.words() == other.statement.words()
    }

    /// Returns whether the records are duplicates without a link: patterns with the same text about the same entities.
    pub(super) fn repeats(&self, other: &RecordClaim<'_>) -> bool {
        self.is_pattern && other.is_pattern && self.text == other.text && self.files == other.files
    }

    /// The sorted, distinct entities of a pattern; `None` for another claim.
    pub(super) fn entities(&self) -> Option<&[&'a str]> {
        self.is_pattern.then_some(&self.files)
    }

    /// Returns whether the claim is a pattern.
    pub(super) fn is_pattern(&self) -> bool {
        self.is_pattern
    }

    /// The text for a conflict. Long texts are truncated, because one line holds two of them.
    pub(super) fn shown(&self) -> String {
        let text = match self.entities() {
            Some(entities) if !entities.is_empty() => format!("{} ({})", self.text, entities.join(", ")),
            _ => self.text.to_owned(),
        };
        if text.len() > LONGEST_SHOWN {
            format!("{} [...]", text[..text.floor_char_boundary(LONGEST_SHOWN)].trim_end())
        } else {
            text
        }
    }

    /// The claim as the judge takes it.
    pub(super) fn claim(&self) -> Claim<'_> {
        Claim { text: self.text, subject: self.subject, files: &self.files }
    }

    pub(super) fn id(&self) -> &'a str {
        &self.record.id
    }

    /// The age of the claim, the oldest first. Of claims with equal times, the smaller id is older.
    pub(super) fn order(&self) -> (&'a Moment, &'a str) {
        (&self.record.ts, &self.record.id)
    }

    /// Returns whether this claim is older.
    pub(super) fn is_older(&self, other: &RecordClaim<'_>) -> bool {
        self.order() < other.order()
    }
}
