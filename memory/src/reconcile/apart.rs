//! What keeps two apart that a third one agrees with.
//!
//! One that says little may say the same as each of two that contradict each other. Were all three taken for one, the
//! contradiction would be gone and nobody asked. So of all that chains of such pairs join, those that contradict each other
//! are told apart, in main, as the pairs themselves are; and no chain joins what is apart.

use std::collections::{BTreeMap, BTreeSet};

use super::Judge;
use super::claim::Told;
use super::judge::Relation;
use super::plan::RULES;
use crate::records::{Body, Record, Same, ordered};

/// The records that say so, of chains in which one of the claims is new. `records` have the pairs.
pub(super) fn apart<'a>(
    records: impl Iterator<Item = &'a Record>,
    claims: &[Told<'_>],
    is_new: &dyn Fn(&Told<'_>) -> bool,
    judge: &dyn Judge,
) -> Vec<Record> {
    let mut same = Same::default();
    for record in records {
        if let Body::Same { kept, folded, .. } = &record.body {
            same.join(kept, folded);
        }
    }
    let chains = same.settled();
    let new = claims.iter().filter(|claim| is_new(claim));
    let touched: BTreeSet<&str> = new.map(|claim| chains.kept(claim.id())).collect();
    let mut groups: BTreeMap<&str, Vec<&Told<'_>>> = BTreeMap::new();
    for claim in claims {
        let kept = chains.kept(claim.id());
        if touched.contains(kept) {
            groups.entry(kept).or_default().push(claim);
        }
    }
    groups.values().flat_map(|group| within(group, judge)).collect()
}

fn within(group: &[&Told<'_>], judge: &dyn Judge) -> Vec<Record> {
    let mut records = Vec::new();
    for (at, one) in group.iter().enumerate() {
        for other in &group[at + 1..] {
            let (older, newer) = if one.is_older(other) {
                (one, other)
            } else {
                (other, one)
            };
            let judgement = judge.judge(&older.claim(), &newer.claim());
            if matches!(judgement.relation, Relation::Contradicts | Relation::Doubt) {
                let (one, other) = ordered(older.id(), newer.id());
                let body = Body::Apart {
                    one,
                    other,
                    by: RULES.to_owned(),
                    reason: judgement.reason,
                };
                records.push(Record::derived(body, &[older.id(), newer.id()], &newer.record.ts));
            }
        }
    }
    records
}
