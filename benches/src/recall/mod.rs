//! Recall over long conversations.
//!
//! Each conversation becomes a repository of its own, its turns records in the product's own store, and its questions
//! are asked of the product's own recall, which sees no label. The measure is LoCoMo's: the share of the turns that answer
//! a question among the first so many.

mod locomo;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use clap::Parser;
use serde::Serialize;

use self::locomo::{Conversation, Turn};
use crate::graded::embedder::EmbedderName;
use crate::graded::record_store::{Line, Store};
use crate::harness::progress;
use crate::harness::stats::{Percentiles, millis, percent, rounded};

const DEPTHS: [usize; 4] = [5, 10, 25, 50];

/// Measures whether what was said long ago is found again.
#[derive(Debug, Clone, Parser)]
#[command(name = "recall")]
pub(crate) struct Options {
    /// Conversations with questions, as LoCoMo has them.
    #[arg(long, value_name = "FILE")]
    locomo: PathBuf,
    /// The embedder to rank with.
    #[arg(long, value_name = "NAME", value_enum, default_value_t = EmbedderName::Static)]
    embedder: EmbedderName,
    /// The directory of minilm's files.
    #[arg(long, value_name = "DIR", required_if_eq("embedder", "minilm"))]
    model: Option<PathBuf>,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Report {
    n: usize,
    overall: Figures,
    /// By LoCoMo's number of a category.
    by_category: BTreeMap<String, Figures>,
    ingest_s: f64,
    query_ms: Percentiles,
}

/// Means over questions, in percent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Figures {
    r5: f64,
    r10: f64,
    r25: f64,
    r50: f64,
    ndcg10: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Scores {
    /// At each of [`DEPTHS`].
    recall: [f64; DEPTHS.len()],
    ndcg10: f64,
}

pub(crate) fn run(options: &Options) -> Result<Report> {
    let conversations = locomo::read(&options.locomo)?;
    let embedder = options.embedder.load(options.model.as_deref())?;
    let mut scores: Vec<Scores> = Vec::new();
    let mut categories: BTreeMap<String, Vec<Scores>> = BTreeMap::new();
    let (mut query_ms, mut ingest_s) = (Vec::new(), 0.0);
    for Conversation { id, turns, questions } in &conversations {
        let started = Instant::now();
        let line = |turn: &Turn| Line {
            ts: turn.time.clone(),
            text: turn.text.clone(),
            session: format!("{id}-{}", turn.session),
            answers: Vec::new(),
        };
        let store = Store::of(turns.iter().map(line), embedder.clone())?;
        ingest_s += started.elapsed().as_secs_f64();
        let before = scores.len();
        for question in questions {
            let asked = Instant::now();
            let found = store.ask(&question.text, DEPTHS[DEPTHS.len() - 1]);
            query_ms.push(millis(asked.elapsed()));
            let score = Scores::of(&found, &question.evidence);
            categories.entry(question.category.to_string()).or_default().push(score);
            scores.push(score);
        }
        progress(&format!("{id}: {} turns, {:?}", turns.len(), Figures::of(&scores[before..])));
    }
    Ok(Report {
        n: scores.len(),
        overall: Figures::of(&scores),
        by_category: categories.into_iter().map(|(category, scores)| (category, Figures::of(&scores))).collect(),
        ingest_s: rounded(ingest_s),
        query_ms: Percentiles::of(query_ms),
    })
}

impl Scores {
    /// Scores what was found, best first. `evidence` is not empty and has no duplicates.
    fn of(found: &[usize], evidence: &[usize]) -> Self {
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
    fn of(scores: &[Scores]) -> Self {
        let mean = |value: &dyn Fn(&Scores) -> f64| {
            percent(scores.iter().map(value).sum::<f64>() / scores.len().max(1) as f64)
        };
        let [r5, r10, r25, r50] = std::array::from_fn(|at| mean(&|one| one.recall[at]));
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
        let figures = Figures::of(&[half, none, none]);
        assert_eq!((figures.r5, figures.r10, figures.ndcg10), (16.7, 33.3, 19.7));
    }
}
