//! The engine on a copy of a large tree: time, memory and disk. An index is made in one process and used in another, as a
//! gateway does after a restart.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Parser;
use muninn_context_engine::{Engine, EngineSettings, Exploration, Limits};
use muninn_repo_tools::{WalkLimits, Worktree, walk};
use serde::{Deserialize, Serialize};

use crate::harness::corpus::Corpus;
use crate::harness::stats::{Percentiles, median, millis, rounded};
use crate::harness::{at, child, files_below, procfs, progress, questions};

pub(crate) const PHASE: &str = "scale-phase";
const QUESTIONS: usize = 200;
const TOKENS: u32 = 4_000;
const EDITS: usize = 5;
const PATIENCE: Duration = Duration::from_secs(60);

/// Measures the engine over a large tree.
#[derive(Debug, Clone, Parser)]
#[command(name = "scale")]
pub(crate) struct Options {
    /// The tree: a repository, which is cloned, or any directory, which is copied and becomes one there.
    #[arg(long, value_name = "DIR")]
    root: PathBuf,
    /// Copy no more than it takes to have so many lines: whole entries of the directory, drawn with a fixed seed.
    #[arg(long, value_name = "NUMBER")]
    lines: Option<usize>,
    /// Keep the copy here from run to run; its index is made anew all the same.
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
}

/// Memory is MB of 10^6 bytes.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Report {
    files: usize,
    lines: usize,
    chunks: usize,
    cold_index_s: f64,
    warm_start_ms: f64,
    query_ms: Percentiles,
    queries: usize,
    /// Questions for which something was packed.
    answered: usize,
    rss_mb: Memory,
    index_bytes: u64,
    vectors: Vectors,
    graph: Graph,
    edit_visible_s: Option<f64>,
    edit_visible_max_s: Option<f64>,
    load1: [Option<f64>; 2],
}

#[derive(Debug, Clone, Copy, Serialize)]
struct Vectors {
    count: usize,
    made_s: f64,
    loaded_ms: f64,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct Graph {
    pub(crate) definitions: usize,
    /// Pairs of files of which one imports the other.
    pub(crate) imports: usize,
    /// Pairs of definitions of which one seems to call the other.
    calls: usize,
    made_ms: f64,
}

/// Resident memory of the two processes.
#[derive(Debug, Clone, Copy, Serialize)]
struct Memory {
    cold: Option<f64>,
    cold_peak: Option<f64>,
    warm: Option<f64>,
    warm_peak: Option<f64>,
}

/// The input of a phase. Without questions, the phase makes an index.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Task {
    root: PathBuf,
    cache: PathBuf,
    questions: Vec<String>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// From the start until the index was ready.
    index_ms: f64,
    /// From the start until a question was answered.
    answer_ms: f64,
    files: usize,
    chunks: usize,
    vectors: usize,
    vectors_ms: f64,
    definitions: usize,
    imports: usize,
    calls: usize,
    graph_ms: f64,
    query_ms: Vec<f64>,
    answered: usize,
    /// From each edit until it was in an answer.
    edit_ms: Vec<f64>,
    /// Before the edits.
    rss_mb: Option<f64>,
    peak_mb: Option<f64>,
}

pub(crate) fn run(options: &Options) -> Result<Report> {
    let load = procfs::load1();
    let corpus = Corpus::of(&options.root, options.work.as_deref(), options.lines)?;
    let questions = questions::sample(&corpus.root, QUESTIONS)?;
    let dir = corpus.temporary.path();
    let mut task = Task { root: corpus.root.clone(), cache: dir.join("cache"), questions: Vec::new() };
    let cold: Outcome = child::run(PHASE, &task, dir).context("making the index")?;
    let cached = files_below(&task.cache).with_context(at(&task.cache))?;
    let index_bytes = cached.iter().filter_map(|file| Some(file.metadata().ok()?.len())).sum();
    progress(&format!("indexed {} files in {:.2} s", cold.files, cold.index_ms / 1e3));
    task.questions = questions;
    let warm: Outcome = child::run(PHASE, &task, dir).context("using the index")?;
    let seconds = |millis: f64| rounded(millis / 1e3);
    let slowest = warm.edit_ms.iter().copied().max_by(f64::total_cmp);
    Ok(Report {
        files: cold.files,
        lines: corpus.lines,
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
        load1: [load, procfs::load1()],
    })
}

impl Task {
    pub(crate) fn perform(&self, started: Instant) -> Result<Outcome> {
        let settings = EngineSettings { cache_dir: Some(self.cache.clone()), ..EngineSettings::default() };
        let engine = Arc::new(Engine::open(Worktree::discover(&self.root)?, settings));
        let report = engine.refresh(&())?;
        report.notes.iter().for_each(|note| progress(note));
        let since = |instant: Instant| rounded(millis(instant.elapsed()));
        let mut outcome =
            Outcome { index_ms: since(started), files: report.files, chunks: report.chunks, ..Outcome::default() };
        if let Some(first) = self.questions.first() {
            explore(&engine, first);
            outcome.answer_ms = since(started);
        }
        let filling = Instant::now();
        let filled = engine.embed(&|| true, &|_, _| ());
        filled.notes.iter().for_each(|note| progress(note));
        outcome.vectors = filled.embedded + filled.loaded;
        outcome.vectors_ms = since(filling);
        if self.questions.is_empty() {
            let graph = Instant::now();
            (outcome.definitions, outcome.imports, outcome.calls) = engine.graph_size();
            outcome.graph_ms = since(graph);
        }
        for question in &self.questions {
            let asked = Instant::now();
            let found = explore(&engine, question);
            outcome.query_ms.push(since(asked));
            outcome.answered += usize::from(!found.items.is_empty());
        }
        outcome.rss_mb = procfs::resident_mb(std::process::id());
        outcome.peak_mb = procfs::peak_mb(std::process::id());
        if !self.questions.is_empty() {
            outcome.edit_ms = edits(&engine)?;
        }
        Ok(outcome)
    }
}

fn explore(engine: &Engine, question: &str) -> Exploration {
    engine.explore(question, &Limits { tokens: TOKENS, deadline: Instant::now() + PATIENCE })
}

/// Edits files all over the tree, one after another, and puts them back. The engine watches, as it does in a gateway.
fn edits(engine: &Arc<Engine>) -> Result<Vec<f64>> {
    engine.watch();
    let begun = Instant::now();
    while !engine.is_watching() && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(10));
    }
    // Whether an edit is seen does not depend on whether a question about it is shown anything.
    engine.set_threshold(Some(0.0));
    // This question waits for the first look at the tree after the watches were set.
    explore(engine, "what is this?");
    let files = walk(engine.worktree(), &WalkLimits::default()).files.into_iter();
    let mut sources: Vec<String> = files.map(|entry| entry.path.to_string()).collect();
    sources.retain(|path| path.ends_with(".rs") || path.ends_with(".py"));
    sources.sort();
    let step = (sources.len() / EDITS).max(1);
    let mut times = Vec::new();
    for (number, path) in sources.iter().step_by(step).take(EDITS).enumerate() {
        let file = engine.worktree().root().join(path);
        let at = at(&file);
        let before = fs::read(&file).with_context(&at)?;
        let name = format!("muninn_scale_edit_{number}");
        let added = if path.ends_with(".py") {
            format!("\n\ndef {name}():\n    return {number}\n")
        } else {
            format!("\n\nfn {name}() -> usize {{\n    {number}\n}}\n")
        };
        let mut open = fs::File::options().append(true).open(&file).with_context(&at)?;
        let started = Instant::now();
        open.write_all(added.as_bytes()).with_context(&at)?;
        let seen = until_seen(engine, &name, started);
        fs::write(&file, before).with_context(&at)?;
        times.push(rounded(millis(seen.with_context(|| format!("an edit of {path} is not seen"))?)));
    }
    Ok(times)
}

fn until_seen(engine: &Engine, name: &str, started: Instant) -> Result<Duration> {
    loop {
        let found = explore(engine, &format!("what does `{name}` return?"));
        if found.items.iter().any(|item| item.text.contains(name)) {
            return Ok(started.elapsed());
        }
        if started.elapsed() >= PATIENCE {
            let sources: Vec<String> = found.items.into_iter().map(|item| item.source).collect();
            bail!("the last answer: {}", found.reason.unwrap_or_else(|| sources.join(", ")));
        }
    }
}
