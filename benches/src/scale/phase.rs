//! One phase of the benchmark, in a process of its own.
//!
//! Memory that was needed to make an index is not returned to the system. So the benchmark starts itself once to make the
//! index, and once more to use it, as a gateway does after a restart.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use muninn_context_engine::{Engine, EngineSettings, Exploration, Limits};
use muninn_repo_tools::Worktree;
use serde::{Deserialize, Serialize};

use crate::command_line::{at, progress};
use crate::procfs;
use crate::report::rounded;
use crate::stats::millis;
use crate::subprocess::{self};

/// The hidden first argument.
const ROLE: &str = "__phase";
/// The budget of a question, in tokens.
const TOKENS: u32 = 4_000;
/// The number of edits, each in another file.
const EDITS: usize = 5;
/// An edit that is not seen by then is not seen at all.
const PATIENCE: Duration = Duration::from_secs(60);

/// The input of a phase, as JSON in its second argument.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Task {
    /// The repository.
    pub root: PathBuf,
    /// The directory of its derived cache.
    pub cache: PathBuf,
    /// The questions; without any, the phase makes an index.
    pub questions: Vec<String>,
}

/// The measurements of a phase.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Outcome {
    /// From the start until the index was ready.
    pub index_ms: f64,
    /// From the start until a question was answered from it.
    pub answer_ms: f64,
    /// Files and chunks in the index.
    pub files: usize,
    /// Chunks in the index.
    pub chunks: usize,
    /// Chunks with vectors, and what it took to make or load them, after the index was ready.
    pub vectors: usize,
    /// The same, in milliseconds.
    pub vectors_ms: f64,
    /// Definitions, imports and calls in the graph, and what it took to make it.
    pub definitions: usize,
    /// Pairs of files.
    pub imports: usize,
    /// Pairs of definitions.
    pub calls: usize,
    /// In milliseconds.
    pub graph_ms: f64,
    /// Each question, in milliseconds.
    pub query_ms: Vec<f64>,
    /// Questions for which something was packed.
    pub answered: usize,
    /// From each edit until it was in an answer, in milliseconds.
    pub edit_ms: Vec<f64>,
    /// Resident memory when the index was ready and, if there were any, the questions were answered.
    pub rss_mb: Option<f64>,
    /// Resident memory at its highest until then.
    pub peak_mb: Option<f64>,
}

/// Runs a task in a process of its own.
///
/// # Errors
/// When the process cannot be started, or fails.
pub fn run(task: &Task) -> Result<Outcome> {
    subprocess::run(ROLE, task, &task.cache.with_extension("task.json"))
}

/// Performs the phase, if this process was started for one.
pub fn requested(args: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    subprocess::requested(args, ROLE, |task: Task, started| task.perform(started))
}

impl Task {
    fn perform(&self, started: Instant) -> Result<Outcome> {
        let settings = EngineSettings { cache_dir: Some(self.cache.clone()), ..EngineSettings::default() };
        let engine = Arc::new(Engine::open(Worktree::discover(&self.root)?, settings));
        let report = engine.refresh(&())?;
        report.notes.iter().for_each(|note| progress(note));
        let mut outcome = Outcome {
            index_ms: rounded(millis(started.elapsed())),
            files: report.files,
            chunks: report.chunks,
            ..Outcome::default()
        };
        if let Some(first) = self.questions.first() {
            explore(&engine, first);
            outcome.answer_ms = rounded(millis(started.elapsed()));
        }
        let filling = Instant::now();
        let filled = engine.embed(&|| true);
        filled.notes.iter().for_each(|note| progress(note));
        outcome.vectors = filled.embedded + filled.loaded;
        outcome.vectors_ms = rounded(millis(filling.elapsed()));
        if self.questions.is_empty() {
            let graph = Instant::now();
            (outcome.definitions, outcome.imports, outcome.calls) = engine.graph_size();
            outcome.graph_ms = rounded(millis(graph.elapsed()));
        }
        for question in &self.questions {
            let asked = Instant::now();
            let found = explore(&engine, question);
            outcome.query_ms.push(rounded(millis(asked.elapsed())));
            outcome.answered += usize::from(!found.items.is_empty());
        }
        outcome.rss_mb = procfs::resident_mb(std::process::id()).map(rounded);
        outcome.peak_mb = procfs::peak_mb(std::process::id()).map(rounded);
        if !self.questions.is_empty() {
            outcome.edit_ms = edits(&engine)?;
        }
        Ok(outcome)
    }
}

fn explore(engine: &Engine, question: &str) -> Exploration {
    let deadline = Instant::now() + PATIENCE;
    engine.explore(question, &Limits { tokens: TOKENS, deadline })
}

/// Edits files all over the tree, one after another, and puts them back. The engine watches, as it does in a gateway.
fn edits(engine: &Arc<Engine>) -> Result<Vec<f64>> {
    engine.watch();
    let begun = Instant::now();
    while !engine.is_watching() && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(10));
    }
    // The first look after the watches stand is over when a question has waited for it.
    explore(engine, "what is this?");
    let sources = sources(engine.worktree());
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
        let seen = seen.map_err(|instead| anyhow!("an edit of {path} is not seen, but: {instead}"))?;
        times.push(rounded(millis(seen)));
    }
    Ok(times)
}

/// Asks until the answer has the name; fails with what the last answer had instead.
fn until_seen(engine: &Engine, name: &str, started: Instant) -> Result<Duration, String> {
    loop {
        let found = explore(engine, &format!("what does `{name}` return?"));
        if found.items.iter().any(|item| item.text.contains(name)) {
            return Ok(started.elapsed());
        }
        if started.elapsed() >= PATIENCE {
            let sources = found.items.into_iter().map(|item| item.source);
            return Err(found.reason.unwrap_or_else(|| sources.collect::<Vec<_>>().join(", ")));
        }
    }
}

/// The tree's files of code in the order of their paths.
fn sources(worktree: &Worktree) -> Vec<String> {
    let files = muninn_repo_tools::walk(worktree, &muninn_repo_tools::WalkLimits::default()).files;
    let paths = files.into_iter().map(|entry| entry.path.to_string());
    let is_code = |path: &String| Path::new(path).extension().is_some_and(|end| end == "rs" || end == "py");
    let mut paths: Vec<_> = paths.filter(is_code).collect();
    paths.sort();
    paths
}
