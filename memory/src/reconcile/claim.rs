//! What records claim.

use std::collections::BTreeSet;

use super::judge::Claim;
use crate::records::{Body, Record, kinds};

/// Longer texts are cut where a conflict shows them, in bytes.
const LONGEST_SHOWN: usize = 1_000;

/// What a record claims to be so, in words.
pub(super) struct RecordClaim<'a> {
    pub(super) record: &'a Record,
    pub(super) text: &'a str,
    pub(super) subject: Option<&'a str>,
    pub(super) author: Option<&'a str>,
    /// What it rests on; of a pattern, what it is about.
    files: Vec<&'a str>,
    /// Whether it says that its files, or whatever is named there, belong together.
    is_pattern: bool,
}

impl<'a> RecordClaim<'a> {
    /// `None` of a record that claims nothing: hits and summaries add up, and decisions are about others.
    pub(super) fn of(record: &'a Record) -> Option<Self> {
        let claimed = match &record.body {
            Body::Learning(kinds::Learning {
                text, subject, author, ..
            }) => Self {
                record,
                text,
                subject: subject.as_deref(),
                author: author.as_deref(),
                files: record
                    .origin
                    .sources
                    .iter()
                    .map(|source| source.path.as_str())
                    .collect(),
                is_pattern: false,
            },
            Body::Pattern(kinds::Pattern {
                pattern,
                entities,
                author,
                ..
            }) if !pattern.is_empty() => {
                let entities: BTreeSet<&str> = entities.iter().map(String::as_str).collect();
                Self {
                    record,
                    text: pattern,
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

    /// What a pattern is about, sorted and each once; `None` of another claim.
    pub(super) fn entities(&self) -> Option<&[&'a str]> {
        self.is_pattern.then_some(&self.files)
    }

    /// As a person reads it beside what contradicts it: the beginning of a long one, for two of them are in one line.
    pub(super) fn shown(&self) -> String {
        let text = match self.entities() {
            Some(entities) if !entities.is_empty() => format!("{} ({})", self.text, entities.join(", ")),
            _ => self.text.to_owned(),
        };
        match text.len() > LONGEST_SHOWN {
            true => format!("{} [...]", text[..text.floor_char_boundary(LONGEST_SHOWN)].trim_end()),
            false => text,
        }
    }

    /// As it is judged.
    pub(super) fn claim(&self) -> Claim<'_> {
        Claim {
            text: self.text,
            subject: self.subject,
            files: &self.files,
        }
    }

    pub(super) fn id(&self) -> &'a str {
        &self.record.id
    }

    /// Whether this was said before the other. Of what was said at one moment, the smaller id comes first.
    pub(super) fn is_older(&self, other: &RecordClaim<'_>) -> bool {
        (&self.record.ts, &self.record.id) < (&other.record.ts, &other.record.id)
    }
}
