//! What records claim, and which of them no longer do.

use std::collections::HashSet;

use super::judge::Claim;
use crate::records::{Alike, Body, Decisions, Record, Same, ordered};

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

/// What decisions in main say of the records there.
#[derive(Default)]
pub(super) struct Standing {
    /// Among what is not superseded.
    alike: Alike,
    /// Among all, for what a person says of one holds for all that say the same.
    all_alike: Alike,
    /// Forgotten or dropped by a person, and with it all that says the same: by what is kept for it.
    dropped: HashSet<String>,
    /// These alone: that somebody thinks better of it says nothing of others who found the same.
    superseded: HashSet<String>,
    /// Pairs that a person kept both of.
    both: HashSet<(String, String)>,
}

impl Standing {
    pub(super) fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let mut standing = Self::default();
        let (mut same, mut decisions) = (Same::default(), Decisions::default());
        let mut lost = Vec::new();
        for record in records {
            match &record.body {
                Body::Same { kept, folded, .. } => same.join(kept, folded),
                Body::Apart { one, other, .. } => same.part(one, other),
                Body::Supersedes { older, .. } => drop(standing.superseded.insert(older.clone())),
                Body::Tombstone { forget } => lost.push(forget.clone()),
                _ => decisions.take(record),
            }
        }
        standing.alike = same.settled_without(&standing.superseded);
        standing.all_alike = same.settled();
        for decision in decisions.holding() {
            lost.extend(decision.drop.iter().cloned());
            for (at, one) in decision.keep.iter().enumerate() {
                let others = decision.keep.iter().skip(at + 1);
                standing.both.extend(others.map(|other| ordered(one, other)));
            }
        }
        // Only now, when it is known what says the same.
        let of_all = |id: &String| standing.all_alike.kept(id).to_owned();
        standing.dropped = lost.iter().map(of_all).collect();
        standing
    }

    /// The record that stands for all that say the same as this one: the one of the smallest id, there or not.
    pub(super) fn kept<'a>(&'a self, id: &'a str) -> &'a str {
        self.alike.kept(id)
    }

    /// Whether a person wants neither it nor what says the same to be recalled.
    pub(super) fn is_dropped(&self, id: &str) -> bool {
        self.dropped.contains(self.all_alike.kept(id))
    }

    /// Whether it is recalled no more.
    pub(super) fn is_gone(&self, id: &str) -> bool {
        self.is_dropped(id) || self.superseded.contains(id)
    }

    /// Whether a person kept both of two records, or of what says the same.
    pub(super) fn keeps_both(&self, one: &str, other: &str) -> bool {
        let of_all = |one: &str, other: &str| ordered(self.all_alike.kept(one), self.all_alike.kept(other));
        let pair = of_all(one, other);
        self.both.iter().any(|(one, other)| of_all(one, other) == pair)
    }
}
