//! The scores of answers, and their means and intervals in percent.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::harness::stats::{Percentiles, interval, mean, percent};

/// Files that are looked at for strict and any-gold accuracy.
const DEPTHS: [usize; 4] = [1, 3, 5, 10];
/// Token budgets for which spans are packed.
pub(super) const BUDGETS: [u32; 2] = [4096, 8192];
const COUNT: usize = 2 * DEPTHS.len() + 1 + BUDGETS.len();
const NAMES: [&str; COUNT] = [
    "strict@1", "strict@3", "strict@5", "strict@10", "any@1", "any@3", "any@5", "any@10", "ndcg10", "span_recall@4096",
    "span_recall@8192",
];

/// The measures of one answer in the order of [`NAMES`], each from 0 to 1; `None` if there is nothing to measure.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Scores([Option<f64>; COUNT]);

impl Scores {
    /// The measures of a ranking in which the gold files have these ranks, counted from 1, with the share of the gold spans
    /// that is packed within each of [`BUDGETS`].
    pub(super) fn new(ranks: &[Option<usize>], spans: [Option<f64>; BUDGETS.len()]) -> Self {
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

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Report {
    #[serde(flatten)]
    all: Accuracy,
    query_ms: Percentiles,
    index_s: f64,
    by_repo: BTreeMap<String, Accuracy>,
    skipped: usize,
}

#[derive(Debug, Clone, Serialize)]
struct Accuracy {
    n: usize,
    strict: BTreeMap<usize, Option<f64>>,
    any: BTreeMap<usize, Option<f64>>,
    ndcg10: Option<f64>,
    span_recall: BTreeMap<u32, Option<f64>>,
}

/// The effect of switching a list off, with 95% confidence intervals, in percentage points.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Ablation {
    /// The list; `None` for the run with all of them.
    without: Option<&'static str>,
    mean: BTreeMap<&'static str, Option<f64>>,
    /// The run less the one with all lists.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    difference: BTreeMap<&'static str, Option<f64>>,
    /// Of the difference, paired by instance; of the mean if there is none.
    ci95: BTreeMap<&'static str, Option<[f64; 2]>>,
}

impl Report {
    pub(super) fn of(by_repo: BTreeMap<String, Vec<Scores>>, query_ms: Vec<f64>, index_s: f64, skipped: usize) -> Self {
        let all: Vec<Scores> = by_repo.values().flatten().copied().collect();
        Self {
            all: Accuracy::of(&all),
            query_ms: Percentiles::of(query_ms),
            index_s,
            by_repo: by_repo.into_iter().map(|(repo, scores)| (repo, Accuracy::of(&scores))).collect(),
            skipped,
        }
    }
}

impl Accuracy {
    fn of(scores: &[Scores]) -> Self {
        let value = |at: usize| mean(column(scores, at)).map(percent);
        Self {
            n: scores.len(),
            strict: (0..).zip(DEPTHS).map(|(at, depth)| (depth, value(at))).collect(),
            any: (DEPTHS.len()..).zip(DEPTHS).map(|(at, depth)| (depth, value(at))).collect(),
            ndcg10: value(2 * DEPTHS.len()),
            span_recall: (2 * DEPTHS.len() + 1..).zip(BUDGETS).map(|(at, budget)| (budget, value(at))).collect(),
        }
    }
}

impl Ablation {
    /// A run against the one with all lists over the same instances.
    pub(super) fn of(without: Option<&'static str>, run: &[Scores], full: &[Scores]) -> Self {
        let difference = |at| -> Vec<Option<f64>> {
            let pairs = column(run, at).zip(column(full, at));
            pairs.map(|(run, full)| Some(run? - full?)).collect()
        };
        let interval = |values: Vec<Option<f64>>| interval(&values).map(|ends| ends.map(percent));
        Self {
            without,
            mean: named(|at| mean(column(run, at)).map(percent)),
            difference: match without {
                Some(_) => named(|at| mean(difference(at)).map(percent)),
                None => BTreeMap::new(),
            },
            ci95: match without {
                Some(_) => named(|at| interval(difference(at))),
                None => named(|at| interval(column(full, at).collect())),
            },
        }
    }
}

fn column(scores: &[Scores], at: usize) -> impl Iterator<Item = Option<f64>> {
    scores.iter().map(move |scores| scores.0[at])
}

fn named<T>(value: impl Fn(usize) -> T) -> BTreeMap<&'static str, T> {
    (0..COUNT).map(|at| (NAMES[at], value(at))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strict_needs_all_gold_files_and_any_needs_one() {
        let scores = Scores::new(&[Some(1), Some(4)], [None, Some(0.5)]).0;
        assert_eq!(scores[..4], [0.0, 0.0, 1.0, 1.0].map(Some));
        assert_eq!(scores[4..8], [Some(1.0); 4]);
        assert_eq!(scores[9..], [None, Some(0.5)]);
        let missed = Scores::new(&[Some(2), None], [None; 2]).0;
        assert_eq!((missed[3], missed[4], missed[5]), (Some(0.0), Some(0.0), Some(1.0)));
    }

    #[test]
    fn gain_decreases_with_the_rank() {
        assert_eq!(ndcg(&[Some(2), Some(1)], 10), 1.0);
        assert!((ndcg(&[Some(3)], 10) - 0.5).abs() < 1e-9);
        assert_eq!((ndcg(&[Some(11), None], 10), ndcg(&[], 10)), (0.0, 0.0));
    }

    #[test]
    fn ablation_is_paired() {
        let full = [Scores::new(&[Some(1)], [Some(0.5), Some(1.0)]), Scores::new(&[Some(4), None], [None; 2])];
        let worse = [Scores::new(&[Some(2)], [None; 2]), full[1]];
        let ablation = Ablation::of(Some("paths"), &worse, &full);
        assert_eq!((ablation.difference["strict@1"], ablation.difference["any@5"]), (Some(-50.0), Some(0.0)));
        assert_eq!(ablation.difference["span_recall@4096"], None, "one run has none");
        assert_eq!(ablation.ci95["any@5"], Some([0.0, 0.0]));
    }
}
