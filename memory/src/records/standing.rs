//! What has become of records, by what others say of them.

use std::collections::HashSet;

use super::body::Body;
use super::decisions::Decisions;
use super::record::Record;
use super::same::{Links, Same, ordered};

/// What records say of others, gathered from one file after the other, in whatever order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Statements {
    links: Links,
    decisions: Decisions,
    /// Ids of what is superseded or forgotten.
    lost: Vec<String>,
}

/// Which records are recalled, and which for others. What is asked for may be in any file.
#[derive(Debug, Clone, Default)]
pub(crate) struct Standing {
    same: Same,
    /// Forgotten, superseded, or dropped by a person: what stands for it and all that says the same.
    gone: HashSet<String>,
    /// Pairs of which people kept both: what stands for either.
    both: HashSet<(String, String)>,
    links: Links,
}

impl Statements {
    /// Takes a record in; one that says nothing of others changes nothing.
    pub(crate) fn take(&mut self, record: &Record) {
        self.links.take(record);
        self.decisions.take(record);
        match &record.body {
            Body::Supersedes { older: lost, .. } | Body::Tombstone { forget: lost } => self.lost.push(lost.clone()),
            _ => {}
        }
    }

    /// These are to be recalled no more.
    pub(crate) fn lose(&mut self, ids: impl IntoIterator<Item = String>) {
        self.lost.extend(ids);
    }

    /// Takes in what another file says.
    pub(crate) fn extend(&mut self, other: Self) {
        self.links.extend(other.links);
        self.decisions.extend(other.decisions);
        self.lost.extend(other.lost);
    }

    /// What it comes to, now that all is known.
    pub(crate) fn standing(self) -> Standing {
        let same = self.links.followed(&self.decisions);
        let kept = |id: &String| same.kept(id).to_owned();
        let dropped = self.decisions.holding().flat_map(|decision| &decision.drop);
        let gone = self.lost.iter().chain(dropped).map(kept).collect();
        let mut both = HashSet::new();
        for decision in self.decisions.holding() {
            for (at, one) in decision.keep.iter().enumerate() {
                let others = decision.keep.iter().skip(at + 1);
                both.extend(others.map(|other| ordered(same.kept(one), same.kept(other))));
            }
        }
        Standing {
            gone,
            both,
            same,
            links: self.links,
        }
    }
}

impl Standing {
    /// Of all that these records say of each other.
    pub(crate) fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let mut statements = Statements::default();
        records.into_iter().for_each(|record| statements.take(record));
        statements.standing()
    }

    /// The record that is recalled for this one: the smallest id of all that say the same.
    pub(crate) fn kept<'a>(&'a self, id: &'a str) -> &'a str {
        self.same.kept(id)
    }

    /// Whether it is recalled no more, nor what says the same.
    pub(crate) fn is_gone(&self, id: &str) -> bool {
        self.gone.contains(self.kept(id))
    }

    /// Whether somebody found that both of two records are so.
    pub(crate) fn are_distinct(&self, one: &str, other: &str) -> bool {
        self.links.are_distinct(one, other)
    }

    /// Whether it is settled what two records are to each other: that they say the same, or are both so.
    pub(crate) fn is_settled(&self, one: &str, other: &str) -> bool {
        let (kept, other_kept) = (self.kept(one), self.kept(other));
        kept == other_kept || self.are_distinct(one, other) || self.both.contains(&ordered(kept, other_kept))
    }
}
