//! The engine on a large tree: time, memory and disk.
//!
//! The benchmark measures a copy ([`corpus`]) and does not change the given directory. An index is made in one process and
//! used in another ([`phase`]), so that the memory of one does not count for the other.

pub mod corpus;
pub mod phase;
pub mod queries;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use serde::Serialize;

use self::phase::{Outcome, Task};
use crate::command_line::{self, at, progress};
use crate::localization::report::Percentiles;
use crate::procfs;
use crate::report::rounded;
use crate::stats::median;

/// Questions that are asked.
const QUESTIONS: usize = 200;

/// Measures the engine over a large tree.
///
/// Progress goes to stderr; the last line on stdout is one JSON object.
#[derive(Debug, Clone, Parser)]
#[command(name = "scale")]
pub struct Options {
    /// The tree: a repository, which is cloned, or any directory, which is copied and becomes one there.
    #[arg(long, value_name = "DIR")]
    pub root: PathBuf,
    /// Copy no more than it takes to have so many lines: whole entries of the directory, drawn with a fixed seed.
    #[arg(long, value_name = "NUMBER")]
    pub lines: Option<usize>,
    /// Keep the copy here from run to run; its index is made anew all the same.
    #[arg(long, value_name = "DIR")]
    pub work: Option<PathBuf>,
}

/// What the benchmark prints last. Memory is MB of 10^6 bytes.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Files that the engine indexed.
    pub files: usize,
    /// Lines of the files that it can read.
    pub lines: usize,
    /// Chunks in the index.
    pub chunks: usize,
    /// Seconds from the start of a process until an index is ready that was not there.
    pub cold_index_s: f64,
    /// Milliseconds from the start of a process until a question is answered from an index that was there.
    pub warm_start_ms: f64,
    /// A question, ranked and packed.
    pub query_ms: Percentiles,
    /// Questions asked.
    pub queries: usize,
    /// Questions for which something was packed.
    pub answered: usize,
    /// Resident memory.
    pub rss_mb: Memory,
    /// Size of the derived cache on disk.
    pub index_bytes: u64,
    /// Vectors of chunks, which are made after the index.
    pub vectors: Vectors,
    /// The size of the graph.
    pub graph: Graph,
    /// Seconds from writing a file until what was written is in an answer; the median of five edits.
    pub edit_visible_s: Option<f64>,
    /// The slowest of them.
    pub edit_visible_max_s: Option<f64>,
    /// The machine's load average over a minute, at the start and at the end.
    pub load1: [Option<f64>; 2],
}

/// The vectors of the second phase of indexing.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Vectors {
    /// Chunks that have one.
    pub count: usize,
    /// Seconds that making them took.
    pub made_s: f64,
    /// Milliseconds that reading them took, in the process that only uses the index.
    pub loaded_ms: f64,
}

/// The size of the graph of definitions, imports and calls.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Graph {
    /// Definitions.
    pub definitions: usize,
    /// Pairs of files of which one imports the other.
    pub imports: usize,
    /// Pairs of definitions of which one seems to call the other.
    pub calls: usize,
    /// Milliseconds that making it took.
    pub made_ms: f64,
}

/// Resident memory of the two processes.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Memory {
    /// Once the index was made.
    pub cold: Option<f64>,
    /// The highest while it was made.
    pub cold_peak: Option<f64>,
    /// Of the process that only uses it, after all questions.
    pub warm: Option<f64>,
    /// The highest of that process.
    pub warm_peak: Option<f64>,
}

/// The `main` of the benchmark, which may be one of its own phases.
pub fn main() -> ExitCode {
    phase::requested(std::env::args_os()).unwrap_or_else(|| command_line::main("scale", run))
}

/// Runs the whole benchmark and returns what it is to print.
///
/// # Errors
/// When the tree cannot be copied, or a phase fails.
pub fn run(options: &Options) -> Result<Report> {
    let load = procfs::load1();
    let temporary = tempfile::tempdir()?;
    let dir = options.work.as_deref().unwrap_or(temporary.path());
    let root = copy(options, dir)?;
    let (_, lines) = corpus::size(&root)?;
    let questions = queries::sample(&root, QUESTIONS)?;
    progress(&format!("{lines} lines, {} questions", questions.len()));

    let mut task = Task { root, cache: temporary.path().join("cache"), questions: Vec::new() };
    let cold = phase::run(&task).context("making the index")?;
    let index_bytes = bytes(&task.cache).with_context(at(&task.cache))?;
    progress(&format!("indexed {} files in {:.2} s", cold.files, cold.index_ms / 1e3));
    task.questions = questions;
    let warm = phase::run(&task).context("using the index")?;
    Ok(report(lines, index_bytes, &cold, warm, [load, procfs::load1()]))
}

/// The copy, made if it is not kept from another run.
fn copy(options: &Options, dir: &Path) -> Result<PathBuf> {
    fs::create_dir_all(dir).with_context(at(dir))?;
    let root = options.root.canonicalize().with_context(at(&options.root))?;
    let name = root.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let lines = options.lines.map_or_else(|| "all".to_owned(), |lines| lines.to_string());
    let copy = dir.join(format!("{name}+{lines}"));
    if !copy.is_dir() {
        corpus::copy(&root, &copy, options.lines)?;
    }
    copy.canonicalize().with_context(at(&copy))
}

fn report(lines: usize, index_bytes: u64, cold: &Outcome, warm: Outcome, load1: [Option<f64>; 2]) -> Report {
    let seconds = |millis: f64| rounded(millis / 1e3);
    let slowest = warm.edit_ms.iter().copied().max_by(f64::total_cmp);
    Report {
        files: cold.files,
        lines,
        chunks: cold.chunks,
        cold_index_s: seconds(cold.index_ms),
        warm_start_ms: warm.answer_ms,
        queries: warm.query_ms.len(),
        answered: warm.answered,
        query_ms: Percentiles::of(warm.query_ms),
        rss_mb: Memory { cold: cold.rss_mb, cold_peak: cold.peak_mb, warm: warm.rss_mb, warm_peak: warm.peak_mb },
        index_bytes,
        vectors: Vectors { count: cold.vectors, made_s: seconds(cold.vectors_ms), loaded_ms: warm.vectors_ms },
        graph: Graph {
            definitions: cold.definitions,
            imports: cold.imports,
            calls: cold.calls,
            made_ms: cold.graph_ms,
        },
        edit_visible_s: median(warm.edit_ms).map(seconds),
        edit_visible_max_s: slowest.map(seconds),
        load1,
    }
}

/// What all files of a directory hold.
fn bytes(dir: &Path) -> io::Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        sum += if metadata.is_dir() { bytes(&entry.path())? } else { metadata.len() };
    }
    Ok(sum)
}
