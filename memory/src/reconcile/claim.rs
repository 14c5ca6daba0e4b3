//! What records claim.

use super::judge::Claim;
use crate::records::{Body, Record};

/// What a record claims to be so, in words.
pub(super) struct Told<'a> {
    pub(super) record: &'a Record,
    pub(super) text: &'a str,
    pub(super) subject: Option<&'a str>,
    pub(super) author: Option<&'a str>,
    files: Vec<&'a str>,
}

impl<'a> Told<'a> {
    /// `None` of a record that claims nothing: hits, patterns and summaries add up, and decisions are about others.
    pub(super) fn of(record: &'a Record) -> Option<Self> {
        let Body::Learning {
            text, subject, author, ..
        } = &record.body
        else {
            return None;
        };
        Some(Self {
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
        })
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
    pub(super) fn is_older(&self, other: &Told<'_>) -> bool {
        (&self.record.ts, &self.record.id) < (&other.record.ts, &other.record.id)
    }
}
