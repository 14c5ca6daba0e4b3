//! Decisions of people on conflicts.

use std::collections::{BTreeMap, BTreeSet};

use super::kinds::{self, Body};
use super::moment::Moment;
use super::record::Record;
use super::superseded::Superseded;

/// The decisions on each conflict. The latest holds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Decisions(BTreeMap<String, BTreeSet<Decision>>);

/// A decision on a conflict.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Decision {
    pub ts: Moment,
    pub id: String,
    /// Ids of the records that are kept.
    pub keep: Vec<String>,
    /// Ids of the records that are dropped.
    pub drop: Vec<String>,
    pub author: Option<String>,
    pub note: Option<String>,
    /// Ids of the earlier decisions that its author knew; `None` in records of earlier versions.
    over: Option<Vec<String>>,
}

impl Decision {
    /// The end of validity of the records that are dropped.
    pub(super) fn ended(&self) -> Superseded {
        Superseded {
            until: self.ts.clone(),
            by: self.keep.first().cloned(),
            author: self.author.clone(),
            reason: self.note.clone(),
        }
    }

    /// Returns whether its author knew an earlier decision. Versions that did not record it are believed.
    fn is_over(&self, earlier: &Decision) -> bool {
        self > earlier && self.over.as_ref().is_none_or(|over| over.contains(&earlier.id))
    }

    fn has_outcome_of(&self, other: &Decision) -> bool {
        let set = |ids: &[String]| ids.iter().cloned().collect::<BTreeSet<_>>();
        set(&self.keep) == set(&other.keep) && set(&self.drop) == set(&other.drop)
    }
}

impl Decisions {
    /// Adds a record. Only decisions have an effect.
    pub(crate) fn take(&mut self, record: &Record) {
        let Body::Decision(kinds::Decision { conflict, keep, drop, author, note, over }) = &record.body else {
            return;
        };
        self.0.entry(conflict.clone()).or_default().insert(Decision {
            ts: record.ts.clone(),
            id: record.id.clone(),
            keep: keep.clone(),
            drop: drop.clone(),
            author: author.clone(),
            note: note.clone(),
            over: over.clone(),
        });
    }

    /// Adds the decisions of another file.
    pub(crate) fn extend(&mut self, other: Self) {
        for (conflict, decisions) in other.0 {
            self.0.entry(conflict).or_default().extend(decisions);
        }
    }

    /// The latest decision on each conflict.
    pub(crate) fn holding(&self) -> impl Iterator<Item = &Decision> {
        self.0.values().filter_map(BTreeSet::last)
    }

    /// All decisions on a conflict, the oldest first.
    pub(super) fn on(&self, conflict: &str) -> impl Iterator<Item = &Decision> {
        self.0.get(conflict).into_iter().flatten()
    }

    /// The conflicts that several people decided differently without knowing of each other, with these decisions, the oldest
    /// first.
    pub(super) fn split(&self) -> impl Iterator<Item = (&str, Vec<&Decision>)> {
        self.0.iter().filter_map(|(conflict, decisions)| {
            let is_last = |one: &&Decision| !decisions.iter().any(|later| later.is_over(one));
            let last: Vec<&Decision> = decisions.iter().filter(is_last).collect();
            let is_split = last.windows(2).any(|pair| !pair[0].has_outcome_of(pair[1]));
            is_split.then_some((conflict.as_str(), last))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decisions(lines: &[&str]) -> Decisions {
        let mut decisions = Decisions::default();
        lines.iter().for_each(|line| decisions.take(&Record::parse(line).unwrap()));
        decisions
    }

    fn line(id: &str, keep: &str, rest: &str) -> String {
        format!(
            r#"{{"id":"{id}","ts":"2026-03-0{id}T10:00:00Z","type":"decision","conflict":"C","keep":["{keep}"],"drop":["z"]{rest}}}"#
        )
    }

    #[test]
    fn decisions_without_knowledge_of_each_other_are_split() {
        let first = line("1", "a", r#","over":[]"#);
        for (second, expected) in [
            (line("2", "b", r#","over":[]"#), vec!["1", "2"]),
            (line("2", "a", r#","over":[]"#), vec![]),
            (line("2", "b", r#","over":["1"]"#), vec![]),
            // Of an earlier version.
            (line("2", "b", ""), vec![]),
        ] {
            let found = decisions(&[&first, &second]);
            let split: Vec<&str> = found.split().flat_map(|(_, last)| last).map(|one| one.id.as_str()).collect();
            assert_eq!(split, expected, "{second}");
            assert_eq!(found.holding().map(|one| one.id.as_str()).collect::<Vec<_>>(), ["2"]);
        }
    }

    #[test]
    fn later_decision_that_knows_both_ends_a_split() {
        let [first, second] = [line("1", "a", r#","over":[]"#), line("2", "b", r#","over":[]"#)];
        let both = line("3", "a", r#","over":["1","2"]"#);
        assert_eq!(decisions(&[&first, &second, &both]).split().count(), 0);
        let one = line("3", "a", r#","over":["1"]"#);
        assert_eq!(decisions(&[&first, &second, &one]).split().count(), 1);
    }
}
