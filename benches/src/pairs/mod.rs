//! Duplicates and contradictions between records: duplicates are found, contradictions are not missed, and above all not
//! merged.
//!
//! The product's rules judge labelled pairs of sentences, and its recall has to find the other sentence of a pair first.
//! The baseline decides by similarity alone.

mod baseline;
mod blocking;
pub mod labelled;
pub mod model;
pub mod report;
mod unrelated;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use clap::Parser;
use muninn_reconcile::judge::{Claim, FittedJudge, Relation, judge};
use muninn_text::embed::StaticVectors;
use serde_json::{Value, json};

use self::labelled::{Label, Labelled};
use self::model::Script;
use self::report::{Figures, Part, Report};
use crate::command_line::progress;
use crate::json_lines;
use crate::report::rounded;

/// Measures how duplicates and contradictions are judged.
///
/// Progress goes to stderr; the last line on stdout is one JSON object.
#[derive(Debug, Clone, Parser)]
#[command(name = "pairs")]
pub struct Options {
    /// Labelled pairs: `id`, `a`, `b`, `label`, and `held` where some were held back.
    #[arg(long, value_name = "FILE")]
    pub pairs: PathBuf,
    /// Write the features of each pair to this file, a JSON object a line, and measure nothing. The judge is fitted to
    /// them.
    #[arg(long, value_name = "FILE")]
    pub features: Option<PathBuf>,
    /// By rules alone.
    #[arg(long, conflicts_with_all = ["script", "backend"])]
    pub no_llm: bool,
    /// The scripted model, at a socket, that is asked about what rules leave open.
    #[arg(long, value_name = "NAME", value_enum, default_value_t = Script::Labels)]
    pub script: Script,
    /// Ask the model of this server, which speaks chat completions, instead of a script.
    #[arg(long, value_name = "URL", conflicts_with = "script")]
    pub backend: Option<String>,
    /// The name of --backend's model.
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub backend_model: String,
    /// The longest answer, in the model's tokens.
    #[arg(long, value_name = "NUMBER", default_value_t = 2048)]
    pub answer_tokens: u32,
}

/// Runs the whole benchmark and returns what it is to print last.
///
/// # Errors
/// When the pairs cannot be read, or kept.
pub fn run(options: &Options) -> Result<Value> {
    let pairs: Vec<Labelled> = json_lines::read(&options.pairs)?;
    if let Some(path) = &options.features {
        write_features(&pairs, path)?;
        return Ok(json!({"pairs": pairs.len()}));
    }
    Ok(serde_json::to_value(measured(options, &pairs)?)?)
}

fn measured(options: &Options, pairs: &[Labelled]) -> Result<Report> {
    let embedder = Arc::new(StaticVectors::shipped()?);
    let tools = FittedJudge::shipped()?;
    let started = Instant::now();
    let by_rules: Vec<(Label, Relation)> =
        pairs.iter().map(|pair| (pair.label, relation(&pair.a, &pair.b, &tools))).collect();
    let judge_us = started.elapsed().as_secs_f64() * 1e6 / pairs.len() as f64;
    progress(&format!("{} pairs judged", pairs.len()));
    let (judged, model) = match options.no_llm {
        true => (by_rules.clone(), None),
        false => model::asked(options, pairs, &tools).map(|(judged, asked)| (judged, Some(asked)))?,
    };
    let blocking = blocking::recall(pairs, embedder.clone(), &tools)?;
    progress("recalled the sentences of all pairs");
    let queued = blocking::judged(&unrelated::records()?, embedder.clone(), &tools)?;
    Ok(Report {
        all: Figures::of(judged.iter()),
        blocking_recall20: blocking.chosen,
        recall20: blocking.recalled,
        queued_per_1000: queued.conflicts,
        merged_per_1000: queued.merges,
        without_model: model.is_some().then(|| Figures::of(by_rules.iter())),
        model,
        parts: parts(pairs, &judged),
        baselines: baseline::of(pairs, &embedder),
        judge_us: rounded(judge_us),
    })
}

/// Writes the features of each pair, and the outcomes of the exact rules, by name.
fn write_features(pairs: &[Labelled], path: &Path) -> Result<()> {
    let judge = FittedJudge::shipped()?;
    let mut file = BufWriter::new(File::create(path)?);
    for pair in pairs {
        let features: BTreeMap<&str, f32> = judge.features(&pair.a, &pair.b).into_iter().collect();
        serde_json::to_writer(&mut file, &features)?;
        file.write_all(b"\n")?;
    }
    file.flush()?;
    Ok(())
}

fn relation(a: &str, b: &str, tools: &FittedJudge) -> Relation {
    judge(&claim(a), &claim(b), tools).relation
}

fn claim(text: &str) -> Claim<'_> {
    Claim { text, subject: None, files: &[] }
}

/// The held-out part and the rest, or two halves by a hash of the id.
fn parts(pairs: &[Labelled], judged: &[(Label, Relation)]) -> Vec<Part> {
    let names = if pairs.iter().any(|pair| pair.held.is_some()) { ["tuned", "held"] } else { ["even", "odd"] };
    let second = |pair: &Labelled| pair.held.unwrap_or_else(|| hash(&pair.id) % 2 == 1);
    let part = |(number, name): (usize, &'static str)| {
        let rows = pairs.iter().zip(judged);
        let rows = rows.filter(move |(pair, _)| usize::from(second(pair)) == number);
        Part { name, figures: Figures::of(rows.map(|(_, judged)| judged)) }
    };
    names.into_iter().enumerate().map(part).collect()
}

/// FNV-1a, folded, since its lowest bit alone is but the parity of the letters.
fn hash(text: &str) -> u32 {
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    let hash = text.bytes().fold(0x811c_9dc5, step);
    hash ^ hash >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_disjoint_and_about_equal() {
        let pair = |at: usize| Labelled {
            id: format!("p-{at}"),
            a: String::new(),
            b: String::new(),
            label: Label::Neutral,
            held: None,
        };
        let pairs: Vec<Labelled> = (0..1000).map(pair).collect();
        let judged = vec![(Label::Neutral, Relation::Unrelated); pairs.len()];
        let parts = parts(&pairs, &judged);
        assert_eq!(parts.iter().map(|part| part.figures.n).sum::<usize>(), 1000);
        assert!(parts.iter().all(|part| (400..600).contains(&part.figures.n)), "{parts:?}");
    }
}
