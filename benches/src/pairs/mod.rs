//! What two memories are to each other: whether duplicates are found, contradictions not missed, and above all not made
//! one.
//!
//! The product's own rules judge labelled pairs of sentences, and its own recall has to bring the two sentences of a pair
//! together first. Beside it stands what likeness alone would have done.

mod baseline;
mod blocking;
pub mod labelled;
pub mod report;
mod unrelated;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::Parser;
use muninn_memory::embed::{LoadError, StaticVectors};
use muninn_memory::reconcile::judge::{Claim, Relation, Tools, judge};

use self::labelled::{Label, Labelled, LabelledError};
use self::report::{Figures, Part, Report};
use crate::record_store::StoreError;
use crate::report::rounded;
use crate::stand::progress;

/// Measures what is made of duplicates and contradictions.
///
/// Progress goes to stderr; the last line on stdout is one JSON object.
#[derive(Debug, Clone, Parser)]
#[command(name = "pairs")]
pub struct Options {
    /// Labelled pairs: `id`, `a`, `b`, `label`, and `held` where some were held back.
    #[arg(long, value_name = "FILE")]
    pub pairs: PathBuf,
    /// By rules alone, which is all there is so far.
    #[arg(long)]
    pub no_llm: bool,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum PairsError {
    /// The pairs.
    #[error("the pairs")]
    Labelled(#[from] LabelledError),
    /// The embedder.
    #[error("the embedder")]
    Embedder(#[from] LoadError),
    /// The sentences as records.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Runs the whole benchmark and returns what it is to print last.
///
/// # Errors
/// When the pairs cannot be read, or kept.
pub fn run(options: &Options) -> Result<Report, PairsError> {
    let pairs = labelled::read(&options.pairs)?;
    let embedder = Arc::new(StaticVectors::shipped()?);
    let tools = Tools::new();
    let started = Instant::now();
    let judged: Vec<(Label, Relation)> = pairs
        .iter()
        .map(|pair| (pair.label, relation(&pair.a, &pair.b, &tools)))
        .collect();
    let judge_us = started.elapsed().as_secs_f64() * 1e6 / pairs.len() as f64;
    progress(&format!("{} pairs judged", pairs.len()));
    let blocking = blocking::recall(&pairs, embedder.clone(), &tools)?;
    progress("recalled the sentences of all pairs");
    let queued = blocking::judged(&unrelated::records(), embedder.clone(), &tools)?;
    Ok(Report {
        all: Figures::of(judged.iter()),
        blocking_recall20: blocking.chosen,
        recall20: blocking.recalled,
        queued_per_1000: queued.conflicts,
        merged_per_1000: queued.merges,
        parts: parts(&pairs, &judged),
        baselines: baseline::of(&pairs, &embedder),
        judge_us: rounded(judge_us),
    })
}

fn relation(a: &str, b: &str, tools: &Tools) -> Relation {
    judge(&claim(a), &claim(b), tools).relation
}

fn claim(text: &str) -> Claim<'_> {
    Claim {
        text,
        subject: None,
        files: &[],
    }
}

/// What was held back and what not, or two halves by a hash of the id where nothing was.
fn parts(pairs: &[Labelled], judged: &[(Label, Relation)]) -> Vec<Part> {
    let names = if pairs.iter().any(|pair| pair.held.is_some()) {
        ["tuned", "held"]
    } else {
        ["even", "odd"]
    };
    let second = |pair: &Labelled| pair.held.unwrap_or_else(|| hash(&pair.id) % 2 == 1);
    let part = |(number, name): (usize, &'static str)| {
        let rows = pairs.iter().zip(judged);
        let rows = rows.filter(move |(pair, _)| usize::from(second(pair)) == number);
        Part {
            name,
            figures: Figures::of(rows.map(|(_, judged)| judged)),
        }
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
    fn halves_are_about_equal_and_apart() {
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
        assert!(
            parts.iter().all(|part| (400..600).contains(&part.figures.n)),
            "{parts:?}"
        );
    }
}
