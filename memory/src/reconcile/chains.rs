//! What two have to do with each other that a third one agrees with.
//!
//! One that says little may say the same as each of two that contradict each other, and neither of these may have been
//! found for the other. So of all that chains of pairs join, each is compared with each; what contradicts itself is then
//! held apart ([`crate::records`]), and a person is asked.

use std::collections::{BTreeMap, HashSet};

use super::claim::Told;
use super::decide::Places;
use crate::records::{Links, Record};

/// The pairs of what is joined by chains in which one of the claims is new, but for those in the same words. `decided` are
/// the records of pairs that were compared just now.
pub(super) fn pairs(all: &[Record], decided: &[Record], claims: &[Told<'_>], new: &[usize]) -> Vec<Places> {
    let mut links = Links::default();
    all.iter().chain(decided).for_each(|record| links.take(record));
    let chains = links.chains();
    let touched: HashSet<&str> = new.iter().map(|at| chains.kept(claims[*at].id())).collect();
    let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, claim) in claims.iter().enumerate() {
        let kept = chains.kept(claim.id());
        if touched.contains(kept) {
            groups.entry(kept).or_default().push(at);
        }
    }
    let within = |group: Vec<usize>| {
        let pairs = group.iter().enumerate().flat_map(|(number, one)| {
            let others = group[number + 1..].iter();
            others.map(|other| (*one, *other))
        });
        let differ = |(one, other): &Places| claims[*one].text != claims[*other].text;
        pairs.filter(differ).collect::<Vec<_>>()
    };
    groups.into_values().flat_map(within).collect()
}
