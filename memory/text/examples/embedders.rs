//! Measures how well embedders find code by its comment, alone and with BM25: the table of `memory/training/README.md`.
//!
//! `cargo run --release -p muninn-text --example embedders -- held.jsonl [NAME=VECTORS.bin |
//! NAME=MINILM_DIR/]...`
//!
//! Each question is the first paragraph of a documentation comment. Its right answer is the documented code without the
//! comment. The candidates are all texts (the pool), or those of the same package. The score is MRR@10; ties count
//! against the embedder.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the program prints a table to stdout")]

use std::collections::{BTreeMap, HashSet};
use std::error::Error;
use std::path::Path;
use std::time::Instant;

use muninn_text::embed::{Embedder, StaticVectors, minilm};
use muninn_text::lexical::{Bm25Builder, Tokenizer, counted, idf, saturation};
use serde::Deserialize;

/// Maximum number of pairs from one package, so that no package dominates the pool.
const MAX_PER_PACKAGE: usize = 300;
/// Minimum number of pairs for a measurement by package. Smaller packages are in the pool only.
const MIN_PER_PACKAGE: usize = 100;
/// Number of ranks that count.
const RANKS: usize = 10;

#[derive(Deserialize)]
struct Pair {
    package: String,
    kind: String,
    query: String,
    text: String,
}

/// Scores by question and candidate.
type Scores = Vec<Vec<f32>>;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("the first argument must be the file of held-out pairs")?;
    let pairs = documented_pairs(&std::fs::read_to_string(&file)?)?;
    let mut packages: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, pair) in pairs.iter().enumerate() {
        packages.entry(&pair.package).or_default().push(at);
    }
    let everything: Vec<usize> = (0..pairs.len()).collect();
    let groups: Vec<Vec<usize>> = packages.into_values().filter(|own| own.len() >= MIN_PER_PACKAGE).collect();
    eprintln!("{} pairs, {} packages measured separately", pairs.len(), groups.len());
    println!("| | pool of {} | with BM25 | by package | with BM25 | texts/s | load ms |", pairs.len());
    println!("|---|---|---|---|---|---|---|");
    let measure = |scores: &dyn Fn(&[usize]) -> Scores| {
        let pool = reciprocal_rank(&scores(&everything));
        let alone: f64 = groups.iter().map(|group| reciprocal_rank(&scores(group))).sum();
        (pool, alone / groups.len() as f64)
    };
    let (pool, alone) = measure(&|group| lexical(&pairs, group));
    println!("| BM25 | {pool:.3} | | {alone:.3} | | | |");
    for argument in arguments {
        let (name, path) = argument.split_once('=').ok_or("an embedder must be given as NAME=PATH")?;
        let start = Instant::now();
        let embedder = open(Path::new(path))?;
        let load = start.elapsed().as_secs_f64() * 1000.0;
        let start = Instant::now();
        let queries = embedder.embed(&pairs.iter().map(|pair| pair.query.as_str()).collect::<Vec<_>>())?;
        let texts = embedder.embed(&pairs.iter().map(|pair| pair.text.as_str()).collect::<Vec<_>>())?;
        let speed = 2.0 * pairs.len() as f64 / start.elapsed().as_secs_f64();
        let dense = |group: &[usize]| cosines(&queries, &texts, group);
        let (pool, alone) = measure(&dense);
        let (fused_pool, fused_alone) = measure(&|group| fused(dense(group), lexical(&pairs, group)));
        println!("| {name} | {pool:.3} | {fused_pool:.3} | {alone:.3} | {fused_alone:.3} | {speed:.0} | {load:.1} |");
    }
    Ok(())
}

fn open(path: &Path) -> Result<Box<dyn Embedder>, Box<dyn Error>> {
    Ok(if path.is_dir() {
        minilm(path, &muninn_base::Supervisor::default())?
    } else if path.as_os_str() == "shipped" {
        Box::new(StaticVectors::shipped()?)
    } else {
        Box::new(StaticVectors::open(path)?)
    })
}

/// The pairs of documented definitions, at most [`MAX_PER_PACKAGE`] of each package: those whose texts have the lowest
/// hashes, a reproducible sample.
fn documented_pairs(lines: &str) -> Result<Vec<Pair>, Box<dyn Error>> {
    let mut packages: BTreeMap<String, Vec<Pair>> = BTreeMap::new();
    for line in lines.lines() {
        let pair: Pair = serde_json::from_str(line)?;
        if pair.kind == "doc" {
            packages.entry(pair.package.clone()).or_default().push(pair);
        }
    }
    let mut all = Vec::new();
    for mut own in packages.into_values() {
        own.sort_by_key(|pair| *blake3::hash(pair.text.as_bytes()).as_bytes());
        own.truncate(MAX_PER_PACKAGE);
        all.append(&mut own);
    }
    Ok(all)
}

fn lexical(pairs: &[Pair], group: &[usize]) -> Scores {
    let mut tokenizer = Tokenizer::new();
    let mut index = Bm25Builder::default();
    for at in group {
        let terms = counted(&mut tokenizer, &pairs[*at].text);
        index.add(terms.iter().map(|(term, count)| (term.as_str(), *count)));
    }
    let index = index.finish();
    let average = index.lengths().iter().sum::<u32>() as f32 / group.len().max(1) as f32;
    let scores_of = |at: &usize| {
        let mut seen = HashSet::new();
        let mut terms = counted(&mut tokenizer, &pairs[*at].query);
        terms.retain(|(term, _)| seen.insert(term.clone()));
        let mut scores = vec![0.0; group.len()];
        for (term, _) in &terms {
            let idf = idf(index.inverted().frequency(term), group.len());
            for (doc, count) in index.inverted().postings(term) {
                let length = index.lengths()[doc.0 as usize] as f32;
                scores[doc.0 as usize] += idf * saturation(count as f32, length, average);
            }
        }
        scores
    };
    group.iter().map(scores_of).collect()
}

fn cosines(queries: &[Vec<f32>], texts: &[Vec<f32>], group: &[usize]) -> Scores {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum();
    let row = |query: &usize| group.iter().map(|text| dot(&queries[*query], &texts[*text])).collect();
    group.iter().map(row).collect()
}

/// The sum of two scores, each standardised to mean 0 and deviation 1 over the candidates of a question.
fn fused(mut one: Scores, mut other: Scores) -> Scores {
    for (row, more) in one.iter_mut().zip(&mut other) {
        standardise(row);
        standardise(more);
        row.iter_mut().zip(more).for_each(|(score, more)| *score += *more);
    }
    one
}

fn standardise(scores: &mut [f32]) {
    let count = scores.len() as f32;
    let mean = scores.iter().sum::<f32>() / count;
    let deviation = (scores.iter().map(|score| (score - mean).powi(2)).sum::<f32>() / count).sqrt();
    scores.iter_mut().for_each(|score| *score = (*score - mean) / deviation.max(1e-9));
}

/// MRR@10. The right answer of question `i` is candidate `i`.
fn reciprocal_rank(scores: &Scores) -> f64 {
    let value = |(own, row): (usize, &Vec<f32>)| {
        let rank = row.iter().filter(|score| **score >= row[own]).count();
        if rank <= RANKS { 1.0 / rank as f64 } else { 0.0 }
    };
    scores.iter().enumerate().map(value).sum::<f64>() / scores.len() as f64
}
