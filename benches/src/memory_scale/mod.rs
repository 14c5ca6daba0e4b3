//! Recall over many records: the cost of ingesting them, of a start with them, and of a question.
//!
//! Ingesting and starting run in separate processes, so that the memory of one does not count for the other.

pub mod corpus;

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Parser;
use muninn_recall::{Memories, RecallOptions};
use muninn_repo_tools::Worktree;
use muninn_team::Home;
use muninn_team::records::{MAIN, RecordFile};
use muninn_tests::git;
use serde::{Deserialize, Serialize};

use self::corpus::Corpus;
use crate::command_line::{at, line, progress};
use crate::localization::EmbedderName;
use crate::localization::report::Percentiles;
use crate::procfs;
use crate::report::rounded;
use crate::stats::millis;
use crate::subprocess::{self};

/// The hidden first argument.
const ROLE: &str = "__memory-phase";
const QUESTIONS: usize = 200;

/// Measures recall over many records.
///
/// Progress goes to stderr; stdout has one JSON object a size, and one for all of them last.
#[derive(Debug, Clone, Parser)]
#[command(name = "memory-scale")]
pub struct Options {
    /// The tree of which records are made.
    #[arg(long, value_name = "DIR", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/.."))]
    pub text: PathBuf,
    /// The numbers of records to measure.
    #[arg(long, value_delimiter = ',', default_values_t = [1_000, 10_000, 100_000, 1_000_000])]
    pub sizes: Vec<usize>,
    /// The embedder to take part.
    #[arg(long, value_name = "NAME", value_enum, default_value_t = EmbedderName::Static)]
    pub embedder: EmbedderName,
    /// The directory of minilm's files.
    #[arg(long, value_name = "DIR", required_if_eq("embedder", "minilm"))]
    pub model: Option<PathBuf>,
}

/// The measurements of one number of records. Memory is MB of 10^6 bytes.
#[derive(Debug, Clone, Serialize)]
pub struct Size {
    /// Records that were written.
    pub records: usize,
    /// Records that can be recalled; of very many only the newest.
    pub recalled: usize,
    /// Seconds from the start of a process until all can be recalled that nobody has read yet.
    pub ingest_s: f64,
    /// Milliseconds from the start of another until they can be.
    pub start_ms: f64,
    /// Seconds from the start of a third until all can be recalled once more, a record having been added.
    pub rebuild_s: f64,
    /// A question.
    pub query_ms: Percentiles,
    /// Resident memory of the second process, the questions asked.
    pub rss_mb: Option<f64>,
    /// The highest memory of the first process.
    pub ingest_peak_mb: Option<f64>,
    /// The highest memory of the third process.
    pub rebuild_peak_mb: Option<f64>,
    /// The file of records.
    pub records_bytes: u64,
    /// The size of the cache.
    pub cache_bytes: u64,
    /// Load average over the last minute.
    pub load1: Option<f64>,
}

/// All sizes.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// In the order in which they were asked for.
    pub sizes: Vec<Size>,
}

/// The input of a phase.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Task {
    root: PathBuf,
    cache: PathBuf,
    embedder: EmbedderName,
    model: Option<PathBuf>,
    questions: Vec<String>,
}

/// The measurements of a phase.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Outcome {
    recalled: usize,
    ready_ms: f64,
    query_ms: Vec<f64>,
    rss_mb: Option<f64>,
    peak_mb: Option<f64>,
}

/// Runs the whole benchmark and returns what it is to print last.
///
/// # Errors
/// When a file cannot be read or written, or a process fails.
pub fn run(options: &Options) -> Result<Report> {
    let corpus = Corpus::read(&options.text).with_context(at(&options.text))?;
    let questions = corpus.questions(QUESTIONS);
    let mut sizes = Vec::new();
    for records in &options.sizes {
        let size = measure(&corpus, &questions, *records, options)?;
        line(&size)?;
        sizes.push(size);
    }
    Ok(Report { sizes })
}

fn measure(corpus: &Corpus, questions: &[String], records: usize, options: &Options) -> Result<Size> {
    let dir = tempfile::tempdir()?;
    let root = dir.path().join("tree");
    let main = root.join(MAIN);
    let made = main.parent().map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| corpus.write(&main, records)).with_context(at(&main))?;
    git(&root, &["init", "--quiet", "--template="])?;
    let mut task = Task {
        cache: dir.path().join("cache"),
        root,
        embedder: options.embedder,
        model: options.model.clone(),
        questions: Vec::new(),
    };
    fs::create_dir_all(&task.cache).with_context(at(&task.cache))?;
    let taken_in = in_process(&task)?;
    task.questions = questions.to_vec();
    let started = in_process(&task)?;
    corpus::add(&main, records).with_context(at(&main))?;
    task.questions.clear();
    let rebuilt = in_process(&task)?;
    let cached = fs::read_dir(&task.cache).with_context(at(&task.cache))?.flatten();
    let cached = cached.filter_map(|entry| Some(entry.metadata().ok()?.len()));
    Ok(Size {
        records,
        recalled: started.recalled,
        ingest_s: rounded(taken_in.ready_ms / 1e3),
        start_ms: rounded(started.ready_ms),
        rebuild_s: rounded(rebuilt.ready_ms / 1e3),
        query_ms: Percentiles::of(started.query_ms),
        rss_mb: started.rss_mb.map(rounded),
        ingest_peak_mb: taken_in.peak_mb.map(rounded),
        rebuild_peak_mb: rebuilt.peak_mb.map(rounded),
        records_bytes: fs::metadata(&main).with_context(at(&main))?.len(),
        cache_bytes: cached.sum(),
        load1: procfs::load1(),
    })
}

fn in_process(task: &Task) -> Result<Outcome> {
    subprocess::run(ROLE, task, &task.cache.with_extension("task.json"))
}

/// Performs the phase, if this process was started for one.
pub fn requested(args: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    subprocess::requested(args, ROLE, |task: Task, started| task.perform(started))
}

impl Task {
    fn perform(&self, started: Instant) -> Result<Outcome> {
        let worktree = Worktree::discover(&self.root)?;
        let embedder = self.embedder.load(self.model.as_deref())?;
        let home = Home::Repository(worktree);
        let files: Vec<RecordFile> = RecordFile::of_team(&home);
        let memories = Memories::load_from(&home, &files.into(), embedder, Some(&self.cache));
        let ready_ms = millis(started.elapsed());
        for note in memories.notes() {
            progress(note);
        }
        // As a question is asked on its way to a prompt.
        let options = RecallOptions { keep: 50, ..RecallOptions::default() };
        let ask = |question: &String| {
            let asked = Instant::now();
            memories.recall(question, &options);
            millis(asked.elapsed())
        };
        Ok(Outcome {
            recalled: memories.items().len(),
            ready_ms,
            query_ms: self.questions.iter().map(ask).collect(),
            rss_mb: procfs::resident_mb(std::process::id()),
            peak_mb: procfs::peak_mb(std::process::id()),
        })
    }
}
