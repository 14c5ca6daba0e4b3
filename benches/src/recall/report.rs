//! The figures of the recall benchmark.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::localization::report::Percentiles;

/// The depths at which recall is taken.
pub const DEPTHS: [usize; 4] = [5, 10, 25, 50];

/// The report, on the last line of stdout.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Questions.
    pub n: usize,
    /// Over all of them.
    pub overall: Figures,
    /// By LoCoMo's number of a category.
    pub by_category: BTreeMap<String, Figures>,
    /// Seconds from the turns until all of them can be recalled.
    pub ingest_s: f64,
    /// A question, in milliseconds.
    pub query_ms: Percentiles,
}

/// Means over questions, in percent with one decimal.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Figures {
    /// The share of a question's evidence among the first five.
    pub r5: f64,
    /// Among the first ten.
    pub r10: f64,
    /// Among the first 25.
    pub r25: f64,
    /// Among the first 50.
    pub r50: f64,
    /// Discounted cumulative gain of the first ten, as a share of what is possible.
    pub ndcg10: f64,
}

/// The scores of one question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scores {
    /// At each of [`DEPTHS`].
    pub recall: [f64; DEPTHS.len()],
    /// See [`Figures::ndcg10`].
    pub ndcg10: f64,
}

impl Scores {
    /// Of what was found, best first, and what should have been. `evidence` is not empty and has nothing twice.
    pub fn of(found: &[usize], evidence: &[usize]) -> Self {
        let hits: Vec<bool> = found.iter().map(|one| evidence.contains(one)).collect();
        let share = |depth: usize| {
            let count = hits.iter().take(depth).filter(|hit| **hit).count();
            count as f64 / evidence.len() as f64
        };
        let gain = |rank: usize| 1.0 / (rank as f64 + 2.0).log2();
        let gained: f64 = (0..10).filter(|rank| hits.get(*rank) == Some(&true)).map(gain).sum();
        let possible: f64 = (0..evidence.len().min(10)).map(gain).sum();
        Self { recall: DEPTHS.map(share), ndcg10: gained / possible }
    }
}

impl Figures {
    /// The means.
    pub fn of<'a>(scores: impl Iterator<Item = &'a Scores> + Clone) -> Self {
        let mean = |value: &dyn Fn(&Scores) -> f64| {
            let (sum, count) = scores.clone().fold((0.0, 0usize), |(sum, count), one| (sum + value(one), count + 1));
            (sum / count.max(1) as f64 * 1000.0).round() / 10.0
        };
        let [r5, r10, r25, r50] = std::array::from_fn(|at| mean(&|one: &Scores| one.recall[at]));
        Self { r5, r10, r25, r50, ndcg10: mean(&|one| one.ndcg10) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_means_of_shares() {
        let half = Scores::of(&[7, 1, 8, 9, 10, 11, 2], &[1, 2]);
        assert_eq!(half.recall, [0.5, 1.0, 1.0, 1.0]);
        let (second, seventh) = (1.0 / 3f64.log2(), 1.0 / 8f64.log2());
        let possible = 1.0 + 1.0 / 3f64.log2();
        assert!((half.ndcg10 - (second + seventh) / possible).abs() < 1e-12);
        let none = Scores::of(&[], &[3]);
        assert_eq!((none.recall, none.ndcg10), ([0.0; 4], 0.0));
        let figures = Figures::of([half, none, none].iter());
        assert_eq!((figures.r5, figures.r10, figures.ndcg10), (16.7, 33.3, 19.7));
    }
}
