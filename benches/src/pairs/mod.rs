//! Duplicates and contradictions between records: duplicates are found, contradictions are not missed, and above all not
//! merged.
//!
//! The product's rules judge labelled pairs of sentences, and its recall has to find the other sentence of a pair first.

mod blocking;
mod model;
mod report;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use clap::Parser;
use muninn_reconcile::judge::{Claim, FittedJudge, Relation, judge};
use muninn_text::embed::StaticVectors;
use serde::Deserialize;
use serde_json::{Value, json};

use self::report::{Figures, Report};
use crate::harness::stats::rounded;
use crate::harness::{json_lines, progress};

/// Measures how duplicates and contradictions are judged.
#[derive(Debug, Clone, Parser)]
#[command(name = "pairs")]
pub(crate) struct Options {
    /// Labelled pairs: `a`, `b`, `label` and `kind`.
    #[arg(long, value_name = "FILE")]
    pairs: PathBuf,
    /// Write the features of each pair to this file, a JSON object a line, and measure nothing. The judge is fitted to
    /// them.
    #[arg(long, value_name = "FILE")]
    features: Option<PathBuf>,
    /// Ask the model of this server, which speaks chat completions, about what rules leave open.
    #[arg(long, value_name = "URL")]
    backend: Option<String>,
    /// The name of --backend's model.
    #[arg(long, value_name = "NAME", default_value = "default")]
    backend_model: String,
    /// The longest answer, in the model's tokens.
    #[arg(long, value_name = "NUMBER", default_value_t = 2048)]
    answer_tokens: u32,
}

/// Two sentences with the relation of the first to the second.
#[derive(Debug, Clone, Deserialize)]
struct Labelled {
    a: String,
    b: String,
    label: Label,
    /// The relation of the second text to the first, such as `changed`; empty if the file has none.
    #[serde(default)]
    kind: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Label {
    Duplicate,
    /// The first says everything that the second says, and perhaps more.
    Entailment,
    Contradiction,
    Neutral,
}

impl Label {
    /// Whether the second sentence adds nothing to the first.
    fn is_duplicate(self) -> bool {
        matches!(self, Self::Duplicate | Self::Entailment)
    }
}

pub(crate) fn run(options: &Options) -> Result<Value> {
    let pairs: Vec<Labelled> = json_lines::read(&options.pairs)?;
    if let Some(path) = &options.features {
        let judge = FittedJudge::shipped()?;
        let features =
            |pair: &Labelled| judge.features(&pair.a, &pair.b).into_iter().collect::<BTreeMap<String, f32>>();
        json_lines::write(Some(path), pairs.iter().map(features))?;
        return Ok(json!({"pairs": pairs.len()}));
    }
    Ok(serde_json::to_value(measure(options, &pairs)?)?)
}

fn measure(options: &Options, pairs: &[Labelled]) -> Result<Report> {
    let embedder = Arc::new(StaticVectors::shipped()?);
    let tools = FittedJudge::shipped()?;
    let started = Instant::now();
    let by_rules: Vec<(Label, Relation)> =
        pairs.iter().map(|pair| (pair.label, relation(&pair.a, &pair.b, &tools))).collect();
    let judge_us = started.elapsed().as_secs_f64() * 1e6 / pairs.len() as f64;
    progress(&format!("{} pairs judged", pairs.len()));
    let (judged, model) = match &options.backend {
        None => (by_rules.clone(), None),
        Some(url) => {
            let (judged, asked) = model::asked(url, options, pairs, &tools)?;
            (judged, Some(asked))
        }
    };
    let blocking = blocking::recall(pairs, embedder.clone(), &tools)?;
    progress("recalled the sentences of all pairs");
    let queued = blocking::judged(&unrelated()?, embedder, &tools)?;
    Ok(Report {
        all: Figures::of(&judged),
        blocking_recall20: blocking.chosen,
        recall20: blocking.recalled,
        queued_per_1000: queued.conflicts,
        merged_per_1000: queued.merges,
        without_model: model.is_some().then(|| Figures::of(&by_rules)),
        model,
        asked: asked(pairs, &judged),
        judge_us: rounded(judge_us),
    })
}

fn relation(a: &str, b: &str, tools: &FittedJudge) -> Relation {
    judge(&Claim::of(a), &Claim::of(b), tools).relation
}

/// The pairs that somebody is asked about, and all, by label and kind.
fn asked(pairs: &[Labelled], judged: &[(Label, Relation)]) -> BTreeMap<String, [usize; 2]> {
    let mut counts = BTreeMap::<String, [usize; 2]>::new();
    for (pair, (label, relation)) in pairs.iter().zip(judged) {
        let label = format!("{label:?}").to_lowercase();
        let name = if pair.kind.is_empty() { label } else { format!("{label}: {}", pair.kind) };
        let count = counts.entry(name).or_default();
        count[0] += usize::from(matches!(relation, Relation::Contradicts | Relation::Undecided));
        count[1] += 1;
    }
    counts
}

#[derive(Deserialize)]
struct Table {
    parts: Vec<String>,
    /// Sentences with `{}` for the part and `@` for one of the values.
    sayings: Vec<(String, [String; 4])>,
}

/// A thousand records of which no two are about the same thing, though many look alike: each part of a system with each
/// sentence about one. They are the hardest of the unrelated: forty records differ only in the part and the value, and
/// twenty-five name the same part.
fn unrelated() -> Result<Vec<String>> {
    let Table { parts, sayings } = serde_json::from_str(include_str!("../../pairs/unrelated.json"))?;
    let mut records = Vec::new();
    for (number, (saying, values)) in sayings.iter().enumerate() {
        for (at, part) in parts.iter().enumerate() {
            let value = &values[(at * 7 + number * 3 + at / 4) % values.len()];
            records.push(saying.replace("{}", part).replace('@', value));
        }
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn thousand_unrelated_records_are_distinct() {
        let records = unrelated().unwrap();
        assert_eq!(records.iter().collect::<HashSet<_>>().len(), 1000);
        assert!(records.iter().all(|record| !record.contains(['{', '@'])));
    }
}
