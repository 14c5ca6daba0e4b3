//! Pairs that are connected only through a third claim.
//!
//! A vague claim can be a duplicate of two claims that contradict each other, while neither of these was a candidate
//! for the other. Therefore all claims connected by links are compared pairwise. Contradictions are then separated
//! ([`muninn_team::records`]), and a person decides.

use std::collections::{BTreeMap, HashSet};

use muninn_team::records::{Links, Record};

use super::claim::RecordClaim;
use super::pair_indices::PairIndices;

/// Maximum number of different texts in a group. Larger groups are not compared: no real team writes so many versions of
/// one statement.
const MOST_TEXTS: usize = 512;

/// The pairs within connected groups in which one claim is new, except pairs of the same statement. `records`
/// include those of pairs that were just compared.
pub(super) fn pairs<'r>(
    records: impl Iterator<Item = &'r Record>,
    claims: &[RecordClaim<'_>],
    new: &[usize],
) -> Vec<PairIndices> {
    let mut links = Links::default();
    records.for_each(|record| links.take(record));
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

/// The pairs of a group, except pairs of the same statement; none if the group is too large.
fn within(group: &[usize], claims: &[RecordClaim<'_>]) -> Vec<PairIndices> {
    let mut texts: BTreeMap<[u8; 16], Vec<usize>> = BTreeMap::new();
    for at in group {
        texts.entry(claims[*at].statement.words()).or_default().push(*at);
    }
    if texts.len() > MOST_TEXTS {
        return Vec::new();
    }
    let texts: Vec<Vec<usize>> = texts.into_values().collect();
    let others = |number: usize| texts[number + 1..].iter().flatten().copied();
    let of_text = |(number, text): (usize, &Vec<usize>)| -> Vec<PairIndices> {
        let of_one = |one: &usize| others(number).map(|other| (other.min(*one), other.max(*one))).collect::<Vec<_>>();
        text.iter().flat_map(of_one).collect()
    };
    texts.iter().enumerate().flat_map(of_text).collect()
}
