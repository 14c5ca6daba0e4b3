//! The benchmark's report.

use std::collections::BTreeMap;

use serde::Serialize;

use super::bootstrap::{interval, mean};
use super::scores::{BUDGETS, COUNT, DEPTHS, NAMES, Scores};
use crate::report::rounded;
use crate::stats::percentile;

/// The last line on stdout. Accuracies and recall are percent.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Over all instances.
    #[serde(flatten)]
    pub all: Accuracy,
    /// Milliseconds of a question, ranked and packed for 4096 tokens.
    pub query_ms: Percentiles,
    /// Seconds to make one tree's index ready, the mean over trees.
    pub index_s: f64,
    /// The same accuracies for each repository.
    pub by_repo: BTreeMap<String, Accuracy>,
    /// Instances that could not be checked out or indexed, and count nowhere else.
    pub skipped: usize,
}

/// Means over instances, in percent.
#[derive(Debug, Clone, Serialize)]
pub struct Accuracy {
    /// Instances.
    pub n: usize,
    /// All gold files are among the first so many.
    pub strict: BTreeMap<usize, Option<f64>>,
    /// At least one is.
    pub any: BTreeMap<usize, Option<f64>>,
    /// Over the first ten files.
    pub ndcg10: Option<f64>,
    /// The share of an instance's gold spans of which half the lines or more are packed within so many tokens, over
    /// the instances that have any.
    pub span_recall: BTreeMap<u32, Option<f64>>,
}

/// Median and 95th percentile.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Percentiles {
    /// The median.
    pub p50: Option<f64>,
    /// The 95th percentile.
    pub p95: Option<f64>,
}

/// The effect of switching a list off, with 95% confidence intervals, in percentage points.
#[derive(Debug, Clone, Serialize)]
pub struct Ablation {
    /// The list; `None` for the run with all of them, whose `intervals` are those of its means.
    pub without: Option<&'static str>,
    /// Means of the run.
    pub mean: BTreeMap<&'static str, Option<f64>>,
    /// The run less the one with all lists.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub difference: BTreeMap<&'static str, Option<f64>>,
    /// Of the difference, paired by instance; of the mean where there is none.
    pub ci95: BTreeMap<&'static str, Option<[f64; 2]>>,
}

impl Percentiles {
    /// The percentiles of some values.
    pub fn of(mut values: Vec<f64>) -> Self {
        Self { p50: percentile(&mut values, 0.5).map(rounded), p95: percentile(&mut values, 0.95).map(rounded) }
    }
}

impl Accuracy {
    /// The means of some answers.
    pub fn of(scores: &[Scores]) -> Self {
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
    /// The run with all lists.
    pub fn none(full: &[Scores]) -> Self {
        let interval = |at| interval(&column(full, at).collect::<Vec<_>>()).map(|ends| ends.map(percent));
        Self {
            without: None,
            mean: named(|at| mean(column(full, at)).map(percent)),
            difference: BTreeMap::new(),
            ci95: named(interval),
        }
    }

    /// A run without a list, against the one with all of them over the same instances.
    pub fn of(without: &'static str, ablated: &[Scores], full: &[Scores]) -> Self {
        let difference = |at| -> Vec<Option<f64>> {
            let pairs = column(ablated, at).zip(column(full, at));
            pairs.map(|(ablated, full)| Some(ablated? - full?)).collect()
        };
        Self {
            without: Some(without),
            mean: named(|at| mean(column(ablated, at)).map(percent)),
            difference: named(|at| mean(difference(at)).map(percent)),
            ci95: named(|at| interval(&difference(at)).map(|ends| ends.map(percent))),
        }
    }

    /// The run for human eyes.
    pub fn line(&self) -> String {
        let (name, values) = match self.without {
            None => ("all lists".to_owned(), &self.mean),
            Some(list) => (format!("without {list}"), &self.difference),
        };
        let cell = |name: &str| match (values.get(name), self.ci95.get(name)) {
            (Some(Some(value)), Some(Some([low, high]))) => format!("{name} {value:.1} [{low:.1}, {high:.1}]"),
            _ => format!("{name} -"),
        };
        format!("{name:>20}: {}", NAMES.map(cell).join("  "))
    }
}

fn column(scores: &[Scores], at: usize) -> impl Iterator<Item = Option<f64>> {
    scores.iter().map(move |scores| scores.0[at])
}

fn named<T>(value: impl Fn(usize) -> T) -> BTreeMap<&'static str, T> {
    (0..COUNT).map(|at| (NAMES[at], value(at))).collect()
}

/// A share as percent, to a tenth.
pub fn percent(share: f64) -> f64 {
    (share * 1000.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers() -> [Scores; 2] {
        [Scores::new(&[Some(1)], [Some(0.5), Some(1.0)]), Scores::new(&[Some(4), None], [None; 2])]
    }

    #[test]
    fn report_has_the_documented_shape() {
        let report = Report {
            all: Accuracy::of(&answers()),
            query_ms: Percentiles { p50: Some(1.5), p95: None },
            index_s: 0.25,
            by_repo: BTreeMap::from([("o/r".to_owned(), Accuracy::of(&answers()[..1]))]),
            skipped: 2,
        };
        let line = serde_json::to_string(&report).unwrap();
        let expected = concat!(
            r#"{"n":2,"strict":{"1":50.0,"3":50.0,"5":50.0,"10":50.0},"any":{"1":50.0,"3":50.0,"5":100.0,"10":100.0},"#,
            r#""ndcg10":63.2,"span_recall":{"4096":50.0,"8192":100.0},"query_ms":{"p50":1.5,"p95":null},"index_s":0.25,"#,
            r#""by_repo":{"o/r":{"n":1,"#
        );
        assert!(line.starts_with(expected), "{line}");
        assert!(line.ends_with(r#","skipped":2}"#), "{line}");
    }

    #[test]
    fn an_ablation_is_paired() {
        let full = answers();
        let worse = [Scores::new(&[Some(2)], [None; 2]), full[1]];
        let ablation = Ablation::of("paths", &worse, &full);
        assert_eq!(ablation.difference["strict@1"], Some(-50.0));
        assert_eq!(ablation.difference["any@5"], Some(0.0));
        assert_eq!(ablation.difference["span_recall@4096"], None, "one run has none");
        assert_eq!(ablation.ci95["any@5"], Some([0.0, 0.0]));
        assert!(ablation.line().starts_with("       without paths: strict@1 -50.0 ["));
    }
}
