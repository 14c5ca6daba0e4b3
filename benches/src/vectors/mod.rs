//! Speed and recall of nearest-neighbour search.
//!
//! The vectors are of real text: runs of a few lines of the files below a directory, by the embedder that is compiled
//! in. The questions are comments of the same files. What is searched is held against a scan over all numbers, and
//! timed beside it and beside sqlite-vec's own scan.

mod corpus;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Result, ensure};
use clap::Parser;
use muninn_base::Clock;
use muninn_index::vectors::{VectorIndex, VectorStore, bytes, cosine};
use muninn_repo_tools::BlobId;
use muninn_text::embed::{Embedder, StaticVectors};
use serde::Serialize;

use crate::command_line::progress;
use crate::report::rounded;
use crate::stats::{millis, percentile};

/// The number of results that are compared.
const TOP: usize = 10;
/// The number of nearest vectors by signs that are compared by bytes, as the engine does.
const WIDE: usize = 1_000;
/// Vectors that are stored together.
const BLOCK: usize = 64;

/// Measures the search over vectors beside scans over all numbers.
#[derive(Debug, Clone, Parser)]
#[command(name = "vectors")]
pub struct Options {
    /// A directory of source code; its files are read.
    #[arg(long, value_name = "DIR")]
    pub root: PathBuf,
    /// The largest number of vectors.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub count: usize,
    /// The number of questions.
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub questions: usize,
    /// Lines of text that a vector is made of.
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub lines: usize,
}

/// The last line on stdout. Milliseconds are medians over the questions, on one thread.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Vectors.
    pub n: usize,
    /// Numbers of each.
    pub dimensions: usize,
    /// Texts embedded in a second.
    pub embedded_per_s: f64,
    /// Of the ten most alike by all numbers, percent that are among the ten found.
    pub recall10: Recall,
    /// A question.
    pub query_ms: Times,
    /// The same as a share of the scan over all numbers.
    pub ratio_to_f32: Times,
    /// The table on disk.
    pub store: Stored,
}

/// Percent of the true ten.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Recall {
    /// Signs, then bytes: what the engine does.
    pub search: f64,
    /// The share of the true ten that are among the nearest thousand by signs.
    pub signs: f64,
    /// Bytes of all, a factor for each vector.
    pub bytes: f64,
    /// Bytes of all, one factor of 127.
    pub bytes_one_factor: f64,
    /// sqlite-vec's scan over bytes.
    pub sqlite_vec: f64,
}

/// Milliseconds, or shares of them.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Times {
    /// Signs, then the bytes in memory.
    pub search: f64,
    /// The slowest of 95 in a hundred.
    pub search_p95: f64,
    /// Signs, then the bytes on disk.
    pub search_fetching: f64,
    /// All numbers.
    pub f32: f64,
    /// All bytes, by sqlite-vec.
    pub sqlite_vec: f64,
}

/// The cost of storing vectors.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Stored {
    /// Rows written in a second.
    pub written_per_s: f64,
    /// Rows read in a second, in one go.
    pub read_per_s: f64,
    /// Bytes on disk for each vector.
    pub bytes_each: f64,
}

/// Runs the benchmark and returns what it is to print last.
///
/// # Errors
/// When the directory holds no text, or the disk is full.
pub fn run(options: &Options) -> Result<Report> {
    let model = StaticVectors::shipped()?;
    let (texts, questions) = corpus::read(&options.root, options.lines, options.count, options.questions);
    let enough = texts.len() >= TOP && !questions.is_empty();
    ensure!(enough, "{:?} holds no text with comments", options.root);
    progress(&format!("{} texts, {} questions", texts.len(), questions.len()));
    let started = Instant::now();
    let mut vectors: Vec<Vec<f32>> = texts.iter().map(|text| model.embed_one(text)).collect();
    let embedded_per_s = per_second(vectors.len(), started);
    // sqlite-vec has no cosine with the zero vector, and puts it first.
    vectors.retain(|vector| vector.iter().any(|value| *value != 0.0));
    let questions: Vec<Vec<f32>> = questions.iter().map(|text| model.embed_one(text)).collect();
    let flat: Vec<i8> = vectors.iter().flat_map(|vector| bytes(vector)).collect();
    let dimensions = model.dimensions();
    progress("writing and reading the table");
    let dir = tempfile::tempdir()?;
    let mut store = VectorStore::open(dir.path(), model.id(), dimensions, &Clock::system())?;
    let stored = keep(&mut store, &flat, dimensions, dir.path())?;

    let mut near = VectorIndex::new(dimensions, usize::MAX);
    near.push(&flat);
    let mut far = VectorIndex::new(dimensions, 0);
    far.push(&flat);
    let mut measured = Measured::default();
    for (at, question) in questions.iter().enumerate() {
        measured.ask(question, &vectors, &flat, [&near, &far], &store)?;
        if at % 20 == 19 {
            progress(&format!("{} of {} questions", at + 1, questions.len()));
        }
    }
    Ok(measured.report(vectors.len(), dimensions, embedded_per_s, stored))
}

fn per_second(count: usize, since: Instant) -> f64 {
    (count as f64 / since.elapsed().as_secs_f64()).round()
}

/// Writes all vectors, reads them back, and looks at the file.
fn keep(store: &mut VectorStore, flat: &[i8], dimensions: usize, dir: &std::path::Path) -> Result<Stored> {
    let count = flat.len() / dimensions;
    let started = Instant::now();
    let blocks: Vec<_> = flat.chunks(BLOCK * dimensions).collect();
    for (batch, blocks) in blocks.chunks(128).enumerate() {
        let named = blocks.iter().enumerate().filter_map(|(at, block)| {
            let blob = BlobId::of(format!("{batch} {at}").as_bytes())?;
            Some(((blob, "bench".to_owned()), block.to_vec()))
        });
        store.put(&named.collect::<Vec<_>>())?;
    }
    let written_per_s = per_second(count, started);
    let started = Instant::now();
    let mut read = 0;
    store.scan(|_, bytes| read += usize::from(!bytes.is_empty()))?;
    let size: u64 = std::fs::read_dir(dir)?.flatten().filter_map(|file| Some(file.metadata().ok()?.len())).sum();
    Ok(Stored {
        written_per_s,
        read_per_s: per_second(read, started),
        bytes_each: (size as f64 / count as f64).round(),
    })
}

/// The times and results of the questions.
#[derive(Default)]
struct Measured {
    questions: usize,
    times: [Vec<f64>; 4],
    found: [usize; 5],
}

impl Measured {
    fn ask(
        &mut self,
        question: &[f32],
        vectors: &[Vec<f32>],
        flat: &[i8],
        [near, far]: [&VectorIndex; 2],
        store: &VectorStore,
    ) -> Result<()> {
        self.questions += 1;
        let numbers = |found: Vec<(u32, f32)>| found.into_iter().map(|(number, _)| number).collect::<Vec<u32>>();
        let searched = self.timed(0, || near.search(question, WIDE, TOP, |_, _| false));
        self.timed(1, || {
            let fetch = |number: u32, bytes: &mut Vec<i8>| store.row(i64::from(number) + 1, bytes).unwrap_or(false);
            far.search(question, WIDE, TOP, fetch)
        });
        let exact = self.timed(2, || best(vectors.iter().map(|vector| dot(question, vector))));
        let sqlite = self.timed(3, || store.nearest(question, TOP))?;
        let sqlite: Vec<u32> = sqlite.iter().filter_map(|row| u32::try_from(row - 1).ok()).collect();
        let signs = near.nearest(question, WIDE);
        let rows = || flat.chunks_exact(question.len());
        let scaled = best(rows().map(|row| cosine(question, row)));
        // The values if all vectors share one factor.
        let coarse = |vector: &Vec<f32>| {
            let pairs = question.iter().zip(vector);
            pairs.map(|(a, b)| a * (b * 127.0).round()).sum::<f32>()
        };
        let coarse = best(vectors.iter().map(coarse));
        let lists = [numbers(searched), signs, scaled, coarse, sqlite];
        for (found, list) in self.found.iter_mut().zip(&lists) {
            *found += exact.iter().filter(|number| list.contains(number)).count();
        }
        Ok(())
    }

    fn timed<T>(&mut self, at: usize, run: impl FnOnce() -> T) -> T {
        let started = Instant::now();
        let result = run();
        self.times[at].push(millis(started.elapsed()));
        result
    }

    fn report(mut self, n: usize, dimensions: usize, embedded_per_s: f64, store: Stored) -> Report {
        let share = |at: usize| rounded(100.0 * self.found[at] as f64 / (TOP * self.questions) as f64);
        let recall10 = Recall {
            search: share(0),
            signs: share(1),
            bytes: share(2),
            bytes_one_factor: share(3),
            sqlite_vec: share(4),
        };
        let mut time = |at: usize, part: f64| percentile(&mut self.times[at], part).unwrap_or(0.0);
        let [search, search_p95, search_fetching, exact, sqlite_vec] =
            [(0, 0.5), (0, 0.95), (1, 0.5), (2, 0.5), (3, 0.5)].map(|(at, part)| time(at, part));
        let times = |unit: f64| Times {
            search: rounded(search / unit),
            search_p95: rounded(search_p95 / unit),
            search_fetching: rounded(search_fetching / unit),
            f32: rounded(exact / unit),
            sqlite_vec: rounded(sqlite_vec / unit),
        };
        Report { n, dimensions, embedded_per_s, recall10, query_ms: times(1.0), ratio_to_f32: times(exact), store }
    }
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The numbers of the ten highest.
fn best(scores: impl Iterator<Item = f32>) -> Vec<u32> {
    let mut best: Vec<(f32, u32)> = Vec::with_capacity(TOP + 1);
    for (number, score) in (0u32..).zip(scores) {
        if best.len() < TOP || best.last().is_some_and(|(last, _)| score > *last) {
            let at = best.partition_point(|(other, _)| *other >= score);
            best.insert(at, (score, number));
            best.truncate(TOP);
        }
    }
    best.into_iter().map(|(_, number)| number).collect()
}
