//! What has become of records, by what others say of them.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::decisions::Decisions;
use super::kinds::{self, Body};
use super::moment::Moment;
use super::record::Record;
use super::same::{Links, Representatives, ordered};

/// What records say of others, gathered from one file after the other, in whatever order.
#[derive(Debug, Clone, Default)]
pub(crate) struct RecordReferences {
    links: Links,
    decisions: Decisions,
    /// Ids of what is forgotten.
    forgotten: Vec<String>,
    superseded: HashMap<String, Superseded>,
}

/// Until when a record held, and what took its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Superseded {
    /// When it ceased to hold, RFC 3339; empty where nobody said.
    pub until: Moment,
    /// The id of the record that holds since; `None` where nobody said.
    pub by: Option<String>,
}

impl Superseded {
    fn order(&self) -> (&Moment, bool, Option<&str>) {
        (&self.until, self.by.is_none(), self.by.as_deref())
    }
}

/// Which records are recalled, and which for others. What is asked for may be in any file.
#[derive(Debug, Clone, Default)]
pub(crate) struct RecordStatus {
    same: Representatives,
    /// Forgotten, or dropped by a person: what stands for it and all that says the same.
    dropped: HashSet<String>,
    /// These alone: that somebody thinks better of it says nothing of others who found the same.
    superseded: HashMap<String, Superseded>,
    /// Pairs of which people kept both: what stands for either.
    both: HashSet<(String, String)>,
    links: Links,
}

impl RecordReferences {
    /// Takes a record in; one that says nothing of others changes nothing.
    pub(crate) fn take(&mut self, record: &Record) {
        self.links.take(record);
        self.decisions.take(record);
        match &record.body {
            Body::Tombstone(kinds::Tombstone { forget }) => self.forgotten.push(forget.clone()),
            Body::Supersedes(kinds::Supersedes { older, newer, since }) => self.supersede(
                older.clone(),
                Superseded {
                    until: since.clone().unwrap_or_else(|| record.ts.clone()),
                    by: newer.clone(),
                },
            ),
            _ => {}
        }
    }

    /// These are to be recalled no more.
    pub(crate) fn forget(&mut self, ids: impl IntoIterator<Item = String>) {
        self.forgotten.extend(ids);
    }

    /// Whether it is said of this record itself that it is forgotten.
    pub(crate) fn forgets(&self, id: &str) -> bool {
        self.forgotten.iter().any(|forgotten| forgotten == id)
    }

    /// Of several the earliest counts: it did not hold any more when the next came.
    fn supersede(&mut self, older: String, superseded: Superseded) {
        let known = self.superseded.entry(older).or_insert_with(|| superseded.clone());
        if superseded.order() < known.order() {
            *known = superseded;
        }
    }

    /// Takes in what another file says.
    pub(crate) fn extend(&mut self, other: Self) {
        self.links.extend(other.links);
        self.decisions.extend(other.decisions);
        self.forgotten.extend(other.forgotten);
        for (older, superseded) in other.superseded {
            self.supersede(older, superseded);
        }
    }

    /// What it comes to, now that all is known.
    pub(crate) fn status(self) -> RecordStatus {
        let same = self.links.followed(&self.decisions);
        let kept = |id: &String| same.kept(id).to_owned();
        let dropped = self.decisions.holding().flat_map(|decision| &decision.drop);
        let dropped = self.forgotten.iter().chain(dropped).map(kept).collect();
        let mut both = HashSet::new();
        for decision in self.decisions.holding() {
            for (at, one) in decision.keep.iter().enumerate() {
                let others = decision.keep.iter().skip(at + 1);
                both.extend(others.map(|other| ordered(same.kept(one), same.kept(other))));
            }
        }
        RecordStatus {
            dropped,
            both,
            same,
            superseded: self.superseded,
            links: self.links,
        }
    }
}

impl RecordStatus {
    /// Of all that these records say of each other.
    pub(crate) fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let mut references = RecordReferences::default();
        records.into_iter().for_each(|record| references.take(record));
        references.status()
    }

    /// The record that is recalled for this one: the smallest id of all that say the same.
    pub(crate) fn kept<'a>(&'a self, id: &'a str) -> &'a str {
        self.same.kept(id)
    }

    /// Whether a person wants neither it nor what says the same to be recalled.
    pub(crate) fn is_dropped(&self, id: &str) -> bool {
        self.dropped.contains(self.kept(id))
    }

    /// Until when it held, where another took its place.
    pub(crate) fn superseded(&self, id: &str) -> Option<&Superseded> {
        self.superseded.get(id)
    }

    /// Whether it is recalled no more; what says the same may be.
    pub(crate) fn is_gone(&self, id: &str) -> bool {
        self.is_dropped(id) || self.superseded.contains_key(id)
    }

    /// Whether it is settled what two records are to each other: that they say the same, or are both so.
    pub(crate) fn is_settled(&self, one: &str, other: &str) -> bool {
        let (kept, other_kept) = (self.kept(one), self.kept(other));
        kept == other_kept || self.links.are_distinct(one, other) || self.both.contains(&ordered(kept, other_kept))
    }
}
