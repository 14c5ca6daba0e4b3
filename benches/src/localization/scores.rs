//! The scores of one answer.

use std::ops::RangeInclusive;

/// Files that are looked at for strict and any-gold accuracy.
pub const DEPTHS: [usize; 4] = [1, 3, 5, 10];
/// Token budgets for which spans are packed.
pub const BUDGETS: [u32; 2] = [4096, 8192];
/// The number of scores.
pub const COUNT: usize = 2 * DEPTHS.len() + 1 + BUDGETS.len();
/// Their names, as the intervals are printed.
pub const NAMES: [&str; COUNT] = [
    "strict@1", "strict@3", "strict@5", "strict@10", "any@1", "any@3", "any@5", "any@10", "ndcg10", "span_recall@4096",
    "span_recall@8192",
];

/// The measures of one answer in the order of [`NAMES`], each from 0 to 1; `None` where there is nothing to measure.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Scores(pub [Option<f64>; COUNT]);

impl Scores {
    /// The measures of a ranking in which the gold files stand at these ranks, counted from 1, with the share of the
    /// gold spans that is packed within each of [`BUDGETS`].
    pub fn new(ranks: &[Option<usize>], spans: [Option<f64>; BUDGETS.len()]) -> Self {
        let within = |depth: usize| move |rank: &Option<usize>| rank.is_some_and(|rank| rank <= depth);
        let truth = |holds: bool| Some(f64::from(u8::from(holds)));
        let mut scores = [None; COUNT];
        for (at, depth) in DEPTHS.into_iter().enumerate() {
            scores[at] = truth(ranks.iter().all(within(depth)));
            scores[at + DEPTHS.len()] = truth(ranks.iter().any(within(depth)));
        }
        scores[2 * DEPTHS.len()] = Some(ndcg(ranks, 10));
        scores[2 * DEPTHS.len() + 1..].copy_from_slice(&spans);
        Self(scores)
    }
}

/// Normalised discounted cumulative gain, where all gold files are worth the same.
fn ndcg(ranks: &[Option<usize>], depth: usize) -> f64 {
    let gain = |rank: usize| 1.0 / (rank as f64 + 1.0).log2();
    let found = ranks.iter().flatten().filter(|rank| **rank <= depth);
    let ideal: f64 = (1..=ranks.len().min(depth)).map(gain).sum();
    if ideal == 0.0 {
        return 0.0;
    }
    found.map(|rank| gain(*rank)).sum::<f64>() / ideal
}

/// Whether a definition is packed: at least half of its lines are.
pub fn is_packed(definition: &RangeInclusive<usize>, packed: &[RangeInclusive<usize>]) -> bool {
    let lines = definition.clone().count();
    let seen = definition.clone().filter(|line| packed.iter().any(|span| span.contains(line)));
    lines > 0 && seen.count() * 2 >= lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strict_needs_all_gold_files_and_any_needs_one() {
        let scores = Scores::new(&[Some(1), Some(4)], [None, Some(0.5)]).0;
        assert_eq!(scores[..4], [Some(0.0), Some(0.0), Some(1.0), Some(1.0)]);
        assert_eq!(scores[4..8], [Some(1.0); 4]);
        assert_eq!(scores[9..], [None, Some(0.5)]);
        let missed = Scores::new(&[Some(2), None], [None; 2]).0;
        assert_eq!(missed[..4], [Some(0.0); 4]);
        assert_eq!(missed[4..6], [Some(0.0), Some(1.0)]);
    }

    #[test]
    fn gain_decreases_with_the_rank() {
        assert_eq!(ndcg(&[Some(1)], 10), 1.0);
        assert_eq!(ndcg(&[Some(2), Some(1)], 10), 1.0);
        assert!((ndcg(&[Some(3)], 10) - 0.5).abs() < 1e-9);
        assert_eq!(ndcg(&[Some(11), None], 10), 0.0);
        assert_eq!(ndcg(&[], 10), 0.0);
    }

    #[test]
    fn half_of_a_definition_is_enough() {
        assert!(is_packed(&(10..=13), &[1..=10, 13..=20]));
        assert!(!is_packed(&(10..=13), &[1..=10]));
    }
}
