//! Decisions of people on conflicts.

use std::collections::BTreeMap;

use super::kinds::{self, Body};
use super::moment::Moment;
use super::record::Record;
use super::superseded::Superseded;

/// The decision on each conflict. If several people decided one conflict, the latest decision holds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Decisions(BTreeMap<String, Decision>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Decision {
    ts: Moment,
    id: String,
    /// Ids of the records that are kept.
    pub(crate) keep: Vec<String>,
    /// Ids of the records that are dropped.
    pub(crate) drop: Vec<String>,
    author: Option<String>,
    note: Option<String>,
}

impl Decision {
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// The end of validity of the records that are dropped.
    pub(super) fn ended(&self) -> Superseded {
        Superseded {
            until: self.ts.clone(),
            by: self.keep.first().cloned(),
            author: self.author.clone(),
            reason: self.note.clone(),
        }
    }
}

impl Decisions {
    /// Adds a record. Only decisions have an effect.
    pub(crate) fn take(&mut self, record: &Record) {
        let Body::Decision(kinds::Decision { conflict, keep, drop, author, note }) = &record.body else {
            return;
        };
        let decision = Decision {
            ts: record.ts.clone(),
            id: record.id.clone(),
            keep: keep.clone(),
            drop: drop.clone(),
            author: author.clone(),
            note: note.clone(),
        };
        self.join(conflict.clone(), decision);
    }

    /// Adds the decisions of another file.
    pub(crate) fn extend(&mut self, other: Self) {
        other.0.into_iter().for_each(|(conflict, decision)| self.join(conflict, decision));
    }

    fn join(&mut self, conflict: String, decision: Decision) {
        let holds = self.0.entry(conflict).or_insert_with(|| decision.clone());
        if *holds < decision {
            *holds = decision;
        }
    }

    pub(crate) fn holding(&self) -> impl Iterator<Item = &Decision> {
        self.0.values()
    }
}
