//! Reconciling many records of sessions with a large main memory: how long it takes, and in how much memory.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Parser;
use muninn_base::Clock;
use muninn_reconcile::judge::FittedJudge;
use muninn_reconcile::{JudgeSetup, RECONCILED, ReconcileOptions, Summary, reconcile};
use muninn_repo_tools::Worktree;
use muninn_team::records::{MAIN, SESSIONS, Segments};
use muninn_team::store::StoreSettings;
use muninn_team::{Home, Store};
use muninn_tests::git;
use muninn_text::embed::StaticVectors;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::command_line::at;
use crate::memory_scale::corpus::{Corpus, SESSION, session};
use crate::procfs;
use crate::report::rounded;
use crate::subprocess::{self};

/// The hidden first argument.
const ROLE: &str = "__reconcile-phase";

/// Measures `muninn reconcile` over many records.
///
/// Progress goes to stderr; the last line on stdout is one JSON object.
#[derive(Debug, Clone, Parser)]
#[command(name = "reconcile-scale")]
pub struct Options {
    /// Records in main memory
    #[arg(long, value_name = "NUMBER", default_value_t = 100_000)]
    pub main: usize,
    /// Records of sessions
    #[arg(long, value_name = "NUMBER", default_value_t = 10_000)]
    pub sessions: usize,
    /// The tree whose lines the records are made of
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub text: PathBuf,
}

/// The report.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Records in main before.
    pub main: usize,
    /// Records of sessions.
    pub sessions: usize,
    /// From the start of the process to its end.
    pub seconds: f64,
    /// Resident memory at its highest.
    pub peak_mb: Option<f64>,
    /// The counts of the run.
    pub summary: Summary,
    /// The machine's load before.
    pub load1: Option<f64>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Task {
    root: PathBuf,
    state: PathBuf,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Outcome {
    seconds: f64,
    peak_mb: Option<f64>,
    summary: Summary,
}

/// Runs the whole benchmark and returns what it is to print last.
///
/// # Errors
/// When a file cannot be read or written, or the process fails.
pub fn run(options: &Options) -> Result<Report> {
    let corpus = Corpus::read(&options.text).with_context(at(&options.text))?;
    let dir = tempfile::tempdir()?;
    let task = Task { root: dir.path().join("tree"), state: dir.path().join("state") };
    let main = task.root.join(MAIN);
    let sessions = task.root.join(SESSIONS);
    fs::create_dir_all(&sessions).with_context(at(&sessions))?;
    corpus.write(&main, options.main + options.sessions).with_context(at(&main))?;
    split(&main, &sessions, options.main).with_context(at(&main))?;
    let log = task.root.join(RECONCILED);
    fs::write(&log, reconciled(options.main)).with_context(at(&log))?;
    git(&task.root, &["init", "--quiet", "--template=", "--initial-branch=main"])?;
    git(&task.root, &["add", "--all"])?;
    let load1 = procfs::load1();
    let outcome: Outcome = subprocess::run(ROLE, &task, &dir.path().join("task.json"))?;
    Ok(Report {
        main: options.main,
        sessions: options.sessions,
        seconds: rounded(outcome.seconds),
        peak_mb: outcome.peak_mb.map(rounded),
        summary: outcome.summary,
        load1,
    })
}

/// Moves all but the first lines of a file into segments.
fn split(main: &Path, sessions: &Path, keep: usize) -> io::Result<()> {
    let text = fs::read_to_string(main)?;
    let lines: Vec<&str> = text.lines().collect();
    let (kept, rest) = lines.split_at(keep.min(lines.len()));
    for (number, segment) in rest.chunks(SESSION).enumerate() {
        let name = Segments::name(&session(kept.len() + number * SESSION), 0);
        fs::write(sessions.join(name), segment.join("\n") + "\n")?;
    }
    fs::write(main, kept.join("\n") + "\n")
}

/// The log of a run that took in the sessions of main.
fn reconciled(main: usize) -> String {
    let segment = |number: usize| {
        let segment = Segments::name(&session(number * SESSION), 0);
        json!({ "id": format!("00{number:024}"), "type": "reconciled", "segment": segment, "bytes": 1, "run": "00" })
    };
    let run = json!({ "id": "00", "type": "run" });
    let lines = (0..main.div_ceil(SESSION)).map(segment).chain([run]);
    lines.map(|line| format!("{line}\n")).collect()
}

/// Reconciles, if this process was started for it.
pub fn requested(args: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    subprocess::requested(args, ROLE, |task: Task, started| task.perform(started))
}

impl Task {
    fn perform(&self, started: Instant) -> Result<Outcome> {
        let worktree = Worktree::discover(&self.root)?;
        let home = Home::Repository(worktree);
        let store = Store::at(home, &self.state, StoreSettings::default(), Clock::system());
        let embedder = StaticVectors::shipped()?;
        let options = ReconcileOptions::default();
        let judging = JudgeSetup {
            judge: &FittedJudge::shipped()?,
            embedder: Some(Arc::new(embedder)),
            progress: &(),
            reconciler: None,
        };
        let done = reconcile(&store, options, &judging, &mut |_| {})?;
        Ok(Outcome {
            seconds: started.elapsed().as_secs_f64(),
            peak_mb: procfs::peak_mb(std::process::id()),
            summary: done.summary,
        })
    }
}
