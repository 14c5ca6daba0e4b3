//! What records claim, and which of them no longer do.

use std::collections::{BTreeSet, HashSet};

use super::judge::Claim;
use crate::records::{Body, Decisions, Record, Same, ordered};

/// What a record claims to be so, in words.
pub(super) struct Told<'a> {
    pub(super) record: &'a Record,
    pub(super) text: &'a str,
    pub(super) subject: Option<&'a str>,
    pub(super) author: Option<&'a str>,
    /// What it rests on; of a pattern, what it is about.
    files: Vec<&'a str>,
    /// Whether it says that its files, or whatever is named there, belong together.
    is_pattern: bool,
}

impl<'a> Told<'a> {
    /// `None` of a record that claims nothing: hits and summaries add up, and decisions are about others.
    pub(super) fn of(record: &'a Record) -> Option<Self> {
        let claimed = match &record.body {
            Body::Learning {
                text, subject, author, ..
            } => Self {
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
            Body::Pattern { pattern, entities, .. } if !pattern.is_empty() => {
                let entities: BTreeSet<&str> = entities.iter().map(String::as_str).collect();
                Self {
                    record,
                    text: pattern,
                    subject: None,
                    author: None,
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

    /// As a person reads it beside what contradicts it.
    pub(super) fn shown(&self) -> String {
        match self.entities() {
            Some(entities) if !entities.is_empty() => format!("{} ({})", self.text, entities.join(", ")),
            _ => self.text.to_owned(),
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
    pub(super) fn is_older(&self, other: &Told<'_>) -> bool {
        (&self.record.ts, &self.record.id) < (&other.record.ts, &other.record.id)
    }
}

/// What decisions in main say of the records there.
#[derive(Default)]
pub(super) struct Standing {
    same: Same,
    /// Forgotten, superseded, or dropped by a person: what is kept for it and all that says the same.
    gone: HashSet<String>,
    /// Pairs that a person kept both of, or of what says the same: those that are kept, the smaller id first.
    both: HashSet<(String, String)>,
}

impl Standing {
    pub(super) fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let mut standing = Self::default();
        let mut decisions = Decisions::default();
        let (mut lost, mut both) = (Vec::new(), Vec::new());
        for record in records {
            match &record.body {
                Body::Same { .. } | Body::Pattern { .. } => standing.same.take(record),
                Body::Supersedes { older: gone, .. } | Body::Tombstone { forget: gone } => {
                    lost.push(gone.clone());
                }
                _ => decisions.take(record),
            }
        }
        for decision in decisions.holding() {
            lost.extend(decision.drop.iter().cloned());
            for (at, one) in decision.keep.iter().enumerate() {
                both.extend(decision.keep.iter().skip(at + 1).map(|other| (one, other)));
            }
        }
        // Only now, when it is known what says the same.
        standing.gone = lost.iter().map(|id| standing.kept(id).to_owned()).collect();
        standing.both = both.into_iter().map(|(one, other)| standing.pair(one, other)).collect();
        standing
    }

    /// The record that is recalled for this one: the oldest id of all that say the same.
    pub(super) fn kept<'a>(&'a self, id: &'a str) -> &'a str {
        self.same.kept(id)
    }

    /// Whether it is recalled no more, nor what says the same.
    pub(super) fn is_gone(&self, id: &str) -> bool {
        self.gone.contains(self.kept(id))
    }

    /// Whether a person kept both of two records, or of what says the same.
    pub(super) fn keeps_both(&self, one: &str, other: &str) -> bool {
        self.both.contains(&self.pair(one, other))
    }

    fn pair(&self, one: &str, other: &str) -> (String, String) {
        ordered(self.kept(one), self.kept(other))
    }
}
