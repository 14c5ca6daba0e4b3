//! Reconciling many records of sessions with a large main memory: the time and the memory of one process.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
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

use crate::harness::records::{Lines, SESSION, session};
use crate::harness::stats::rounded;
use crate::harness::{at, child, procfs};

pub(crate) const PHASE: &str = "reconcile-phase";

/// Measures `muninn reconcile` over many records.
#[derive(Debug, Clone, Parser)]
#[command(name = "reconcile-scale")]
pub(crate) struct Options {
    /// Records in main memory
    #[arg(long, value_name = "NUMBER", default_value_t = 100_000)]
    main: usize,
    /// Records of sessions
    #[arg(long, value_name = "NUMBER", default_value_t = 10_000)]
    sessions: usize,
    /// The tree whose lines the records are made of
    #[arg(long, value_name = "DIR", default_value = ".")]
    text: PathBuf,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Report {
    main: usize,
    sessions: usize,
    /// From the start of the process to its end.
    seconds: f64,
    peak_mb: Option<f64>,
    summary: Summary,
    /// The machine's load before.
    load1: Option<f64>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Task {
    root: PathBuf,
    state: PathBuf,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Outcome {
    seconds: f64,
    peak_mb: Option<f64>,
    summary: Summary,
}

pub(crate) fn run(options: &Options) -> Result<Report> {
    let lines = Lines::read(&options.text).with_context(at(&options.text))?;
    let dir = tempfile::tempdir()?;
    let task = Task { root: dir.path().join("tree"), state: dir.path().join("state") };
    let main = task.root.join(MAIN);
    let sessions = task.root.join(SESSIONS);
    fs::create_dir_all(&sessions).with_context(at(&sessions))?;
    lines.write(&main, options.main + options.sessions).with_context(at(&main))?;
    split(&main, &sessions, options.main).with_context(at(&main))?;
    let log = task.root.join(RECONCILED);
    fs::write(&log, reconciled(options.main)).with_context(at(&log))?;
    git(&task.root, &["init", "--quiet", "--template=", "--initial-branch=main"])?;
    git(&task.root, &["add", "--all"])?;
    let load1 = procfs::load1();
    let Outcome { seconds, peak_mb, summary } = child::run(PHASE, &task, dir.path())?;
    Ok(Report { main: options.main, sessions: options.sessions, seconds, peak_mb, summary, load1 })
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

impl Task {
    /// Reconciles by rules and static vectors, without a model.
    pub(crate) fn perform(&self, started: Instant) -> Result<Outcome> {
        let home = Home::Repository(Worktree::discover(&self.root)?);
        let store = Store::at(home, &self.state, StoreSettings::default(), Clock::system());
        let judging = JudgeSetup {
            judge: &FittedJudge::shipped()?,
            embedder: Some(Arc::new(StaticVectors::shipped()?)),
            progress: &(),
            reconciler: None,
        };
        let done = reconcile(&store, ReconcileOptions::default(), &judging, &mut |_| {})?;
        Ok(Outcome {
            seconds: rounded(started.elapsed().as_secs_f64()),
            peak_mb: procfs::peak_mb(std::process::id()),
            summary: done.summary,
        })
    }
}
