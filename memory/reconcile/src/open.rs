//! Open conflicts, which wait for a person.
//!
//! Contradictions are found pair by pair. People see and resolve them by subject: all records that are connected by open
//! pairs are the sides of one conflict. A conflict that two people decided differently is open again.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use muninn_base::ids::{self, IdError};
use muninn_team::records::{Body, Decision, Home, MAIN, Record, RecordStatus, WithdrawnRecords, kinds};
use serde::Serialize;
use serde_json::Number;

use super::ReconcileError;
use super::files::MemoryFiles;
use super::pairs::open_pairs;

/// Maximum number of sides of a conflict: nobody can compare more. Further records are the sides of other conflicts.
const MOST_SIDES: usize = 32;

/// Records of which a certain or possible contradiction is known.
#[derive(Debug, Clone)]
pub struct OpenConflict {
    pub id: String,
    /// The records of the contradicting pairs, with the reasons, sorted by id. The other record of a pair can be a side of
    /// another conflict, if that is too large to be joined.
    pub pairs: Vec<Record>,
    /// The contradicting records, or their representatives, the oldest first.
    pub sides: Vec<Record>,
    /// The evidence that the newest side replaces all others, if there is evidence for each of them.
    pub proposal: Option<String>,
    /// Different decisions of people who did not know of each other's, the oldest first. The latest holds meanwhile.
    pub split: Vec<Decision>,
}

/// The state of an open conflict, by who found it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ConflictState {
    /// People decided it differently.
    Split,
    /// A judge found the contradiction: a model, or an agent.
    Conflict,
    /// No judge was asked, or none was sure. The memories may contradict each other.
    Undecided,
}

impl OpenConflict {
    pub fn state(&self) -> ConflictState {
        match () {
            () if !self.split.is_empty() => ConflictState::Split,
            () if self.pairs.iter().any(is_judged) => ConflictState::Conflict,
            () => ConflictState::Undecided,
        }
    }

    /// How probable a contradiction is, from 0 to 1; `None` if a judge found one.
    pub fn certainty(&self) -> Option<f64> {
        let certainty = |pair: &Record| match &pair.body {
            Body::Conflict(kinds::Conflict { certainty, .. }) => certainty.as_ref().and_then(Number::as_f64),
            _ => None,
        };
        let highest = self.pairs.iter().filter_map(certainty).reduce(f64::max);
        highest.filter(|_| self.state() == ConflictState::Undecided)
    }

    /// Order of a list: first what judges and people found, then the most certain of the undecided pairs.
    fn order(&self, other: &Self) -> Ordering {
        let certainty = |one: &Self| one.certainty().unwrap_or_default();
        let by_state = self.state().cmp(&other.state());
        by_state.then(certainty(other).total_cmp(&certainty(self))).then_with(|| self.id.cmp(&other.id))
    }

    /// The conflict that any unambiguous part of its id, or of a pair's id, names.
    pub fn find<'o>(open: &'o [OpenConflict], id: &str) -> Result<&'o OpenConflict, IdError> {
        let ids = open.iter().flat_map(|conflict| {
            let pairs = conflict.pairs.iter().map(|pair| &pair.id).filter(|id| **id != conflict.id);
            pairs.chain([&conflict.id]).map(move |id| (id.as_str(), conflict))
        });
        ids::find("conflict", id, ids)
    }
}

/// The open conflicts: first what people and judges found, then undecided pairs, the most certain first.
pub fn open_conflicts(home: &Home) -> Result<Vec<OpenConflict>, ReconcileError> {
    let mut main = MemoryFiles::at(home).records(MAIN, &mut Vec::new())?;
    main.sort_by(|one, other| one.id.cmp(&other.id));
    Ok(open_among(&WithdrawnRecords::of(home)?.shown(&main)))
}

/// The open conflicts of main's records, which are sorted by id.
pub(super) fn open_among(main: &[&Record]) -> Vec<OpenConflict> {
    let status = RecordStatus::of(main.iter().copied());
    let mut open: Vec<OpenConflict> = unresolved(main, &status).chain(split(main, &status)).collect();
    open.sort_by(OpenConflict::order);
    open
}

/// The conflicts that people decided differently. The sides are all records about which they decided.
fn split(main: &[&Record], status: &RecordStatus) -> impl Iterator<Item = OpenConflict> {
    status.split_decisions().map(|(conflict, split)| {
        let is_side = |id: &String| split.iter().any(|one| one.keep.contains(id) || one.drop.contains(id));
        let is_shown = |record: &&&Record| is_side(&record.id) && !status.is_forgotten(&record.id);
        let mut sides: Vec<Record> = main.iter().filter(is_shown).map(|record| (*record).clone()).collect();
        sides.sort_by(|one, other| (&one.ts, &one.id).cmp(&(&other.ts, &other.id)));
        let pairs = main.iter().filter(|record| record.id == conflict).map(|record| (*record).clone()).collect();
        let split = split.into_iter().cloned().collect();
        OpenConflict { id: conflict.to_owned(), pairs, sides, proposal: None, split }
    })
}

/// The conflicts that nobody has decided.
fn unresolved(main: &[&Record], status: &RecordStatus) -> impl Iterator<Item = OpenConflict> {
    let pairs = open_pairs(main);
    // A side is shown by the duplicate that recall returns, which is the newest.
    let mut by_kept: BTreeMap<&str, &Record> = BTreeMap::new();
    for record in main.iter().copied().filter(|record| !status.is_gone(&record.id)) {
        let newest = by_kept.entry(status.kept(&record.id)).or_insert(record);
        if (&newest.ts, &newest.id) < (&record.ts, &record.id) {
            *newest = record;
        }
    }
    let mut open = Vec::new();
    for (group, pairs) in grouped(pairs, status) {
        let mut sides: BTreeMap<&str, &Record> = BTreeMap::new();
        let ids = pairs.iter().filter_map(Record::sides);
        for id in ids.flat_map(|(left, right)| [left, right]) {
            let kept = status.kept(id);
            if let Some(record) = by_kept.get(kept).copied().filter(|_| group.contains(kept)) {
                sides.insert(kept, record);
            }
        }
        let mut sides: Vec<Record> = sides.into_values().cloned().collect();
        sides.sort_by(|one, other| (&one.ts, &one.id).cmp(&(&other.ts, &other.id)));
        if sides.len() > 1 {
            let id = pairs.first().map(|pair| pair.id.clone()).unwrap_or_default();
            open.push(OpenConflict { id, proposal: proposal(&pairs, &sides, status), pairs, sides, split: Vec::new() });
        }
    }
    open.into_iter()
}

fn proposal(pairs: &[Record], sides: &[Record], status: &RecordStatus) -> Option<String> {
    let (newest, others) = sides.split_last()?;
    let is_side = |id: &str, side: &Record| status.kept(id) == status.kept(&side.id);
    let evidence = |side: &Record| {
        pairs.iter().find_map(|pair| match &pair.body {
            Body::Conflict(kinds::Conflict { left, right, proposal, .. })
                if is_side(left, side) && is_side(right, newest) =>
            {
                proposal.clone()
            }
            _ => None,
        })
    };
    let all: Option<Vec<String>> = others.iter().map(evidence).collect();
    all?.into_iter().next()
}

/// The sides and the pairs of each conflict: pairs that share a side are of one conflict, which has at most
/// [`MOST_SIDES`] sides. A pair between two conflicts that are too large to be one is listed with the first, and remains
/// open if a person keeps both of its records. Undecided pairs without a circle are listed alone: their records need not have
/// one subject.
fn grouped(pairs: Vec<Record>, status: &RecordStatus) -> Vec<(BTreeSet<String>, Vec<Record>)> {
    let mut group_of: BTreeMap<String, usize> = BTreeMap::new();
    let mut groups: Vec<(BTreeSet<String>, Vec<Record>)> = Vec::new();
    for pair in pairs {
        let Some((left, right)) = pair.sides() else { continue };
        let sides = [left, right].map(|id| status.kept(id).to_owned());
        let known = sides.each_ref().map(|side| group_of.get(side).copied());
        let size = |at: usize| groups[at].0.len();
        let target = match known {
            [Some(one), Some(other)] => {
                if one != other && size(one) + size(other) <= MOST_SIDES {
                    let (sides, pairs) = std::mem::take(&mut groups[other]);
                    sides.iter().for_each(|side| _ = group_of.insert(side.clone(), one));
                    groups[one].0.extend(sides);
                    groups[one].1.extend(pairs);
                }
                one
            }
            [Some(one), None] | [None, Some(one)] if size(one) < MOST_SIDES => one,
            _ => {
                groups.push(Default::default());
                groups.len() - 1
            }
        };
        if known.contains(&None) {
            for side in sides {
                group_of.entry(side.clone()).or_insert(target);
                groups[target].0.insert(side);
            }
        }
        groups[target].1.push(pair);
    }
    let sorted = groups.into_iter().map(|(sides, mut pairs)| {
        pairs.sort_by(|one, other| one.id.cmp(&other.id));
        (sides, pairs)
    });
    let alone = |(sides, pairs): (BTreeSet<String>, Vec<Record>)| {
        if pairs.len() >= sides.len() || pairs.iter().any(is_judged) {
            return vec![(sides, pairs)];
        }
        let of_pair = |pair: Record| {
            let (left, right) = pair.sides()?;
            Some(([left, right].map(|id| status.kept(id).to_owned()).into(), vec![pair]))
        };
        pairs.into_iter().filter_map(of_pair).collect()
    };
    sorted.filter(|(_, pairs)| !pairs.is_empty()).flat_map(alone).collect()
}

/// Returns whether a judge said that the sides of a pair contradict each other.
fn is_judged(pair: &Record) -> bool {
    matches!(&pair.body, Body::Conflict(conflict) if conflict.is_judged())
}

#[cfg(test)]
mod tests {
    use muninn_team::records::RULES;

    use super::*;

    #[test]
    fn undecided_pairs_without_a_circle_are_listed_alone() {
        let learning = |id: &str| {
            let line =
                format!(r#"{{"id":"{id}","ts":"2026-01-01T00:00:0{id}Z","type":"learning","text":"claim {id}"}}"#);
            Record::parse(&line).unwrap()
        };
        let conflict = |left: &str, right: &str, by: &str| {
            let certainty = (by == RULES).then(|| 1.into());
            let (one, other) = (left.to_owned(), right.to_owned());
            let body = kinds::Conflict { left: one, right: other, by: by.to_owned(), certainty, ..Default::default() };
            Record::derived(Body::Conflict(body), &[left, right], &"2026-01-01T00:00:09Z".into())
        };
        for (by, pairs, expected) in [
            (RULES, &["12", "23"][..], &["12", "23"][..]),
            (RULES, &["12", "23", "13"], &["123"]),
            ("a model", &["12", "23"], &["123"]),
        ] {
            let mut main: Vec<Record> = ["1", "2", "3"].map(learning).into();
            main.extend(pairs.iter().map(|pair| conflict(&pair[..1], &pair[1..], by)));
            let open = open_among(&main.iter().collect::<Vec<_>>());
            let sides = |open: &OpenConflict| open.sides.iter().map(|side| side.id.as_str()).collect::<String>();
            let mut found: Vec<String> = open.iter().map(sides).collect();
            found.sort();
            assert_eq!(found, expected);
        }
    }
}
