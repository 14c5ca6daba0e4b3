//! What two have to do with each other that a third one agrees with.
//!
//! One that says little may say the same as each of two that contradict each other, and neither of these may have been
//! found for the other. So of all that chains of pairs join, each is compared with each; what contradicts itself is then
//! held apart ([`crate::records`]), and a person is asked.

use std::collections::{BTreeMap, HashSet};

use super::claim::RecordClaim;
use super::decide::PairIndices;
use crate::records::{Links, Record};

/// What more different texts are joined in is not compared within: no honest team says one thing in so many ways.
const MOST_TEXTS: usize = 512;

/// The pairs of what is joined by chains in which one of the claims is new, but for those in the same words. `decided` are
/// the records of pairs that were compared just now.
pub(super) fn pairs(all: &[Record], decided: &[Record], claims: &[RecordClaim<'_>], new: &[usize]) -> Vec<PairIndices> {
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
    groups.into_values().flat_map(|group| within(&group, claims)).collect()
}

/// The pairs of a group, but for those in the same words; none of one that is too large.
fn within(group: &[usize], claims: &[RecordClaim<'_>]) -> Vec<PairIndices> {
    let mut texts: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for at in group {
        texts.entry(claims[*at].text).or_default().push(*at);
    }
    if texts.len() > MOST_TEXTS {
        return Vec::new();
    }
    let texts: Vec<Vec<usize>> = texts.into_values().collect();
    let others = |number: usize| texts[number + 1..].iter().flatten().copied();
    let of_text = |(number, text): (usize, &Vec<usize>)| -> Vec<PairIndices> {
        let of_one = |one: &usize| {
            others(number)
                .map(|other| (other.min(*one), other.max(*one)))
                .collect::<Vec<_>>()
        };
        text.iter().flat_map(of_one).collect()
    };
    texts.iter().enumerate().flat_map(of_text).collect()
}
