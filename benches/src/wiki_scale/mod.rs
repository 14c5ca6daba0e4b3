//! A wiki of many pages: how long it takes to open, to answer and to move a page, and in how much memory.

mod pages;

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use muninn_base::Supervisor;
use muninn_config::DigestConfig;
use muninn_core::Wiki;
use muninn_notebooks::wiki::LinkStyle;
use serde::{Deserialize, Serialize};

use self::pages::{HUB, Made};
use crate::command_line::{at, progress};
use crate::procfs;
use crate::report::rounded;
use crate::stats::{millis, percentile};
use crate::subprocess;

/// The hidden first argument.
const ROLE: &str = "__wiki-phase";
const DIGESTS: usize = 500;
const QUERIES: usize = 200;
const FOUND: usize = 20;

/// Measures a wiki of many pages.
///
/// Progress goes to stderr; the last line on stdout is one JSON object.
#[derive(Debug, Clone, Parser)]
#[command(name = "wiki-scale")]
pub struct Options {
    /// Pages
    #[arg(long, value_name = "NUMBER", default_value_t = 10_000)]
    pub pages: usize,
}

/// The report.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Pages.
    pub pages: usize,
    /// Their size in MB of 10^6 bytes.
    pub mb: f64,
    /// The first process, which reads all pages.
    pub cold: Opened,
    /// A later process, with what the first one kept.
    pub warm: Opened,
    /// A process that stays.
    pub staying: Staying,
    /// The machine's load before.
    pub load1: Option<f64>,
}

/// The figures of a process that ends after one call of each kind.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Opened {
    /// From the start of the process to the list of pages.
    pub open_s: f64,
    /// The digest then.
    pub digest_s: f64,
    /// The first search then.
    pub search_s: f64,
    /// Resident memory at its highest.
    pub peak_mb: Option<f64>,
}

/// The figures of a process that stays.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Staying {
    /// The digest of unchanged pages.
    pub digest_p50_ms: Option<f64>,
    /// The same, of a hundred the slowest.
    pub digest_p99_ms: Option<f64>,
    /// A search of two or three words.
    pub search_p50_ms: Option<f64>,
    /// The same, of a hundred the slowest.
    pub search_p99_ms: Option<f64>,
    /// Counting the terms.
    pub count_s: f64,
    /// A search meanwhile.
    pub search_while_counting_p50_ms: Option<f64>,
    /// The list of pages after an edit of one.
    pub list_after_edit_ms: f64,
    /// The first search after an edit of one.
    pub search_after_edit_ms: f64,
    /// Moving the page with the most backlinks.
    pub move_s: f64,
    /// Its backlinks.
    pub backlinks: usize,
    /// Resident memory at the end.
    pub resident_mb: Option<f64>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Task {
    root: PathBuf,
    state: PathBuf,
    queries: Vec<String>,
    stays: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
enum Outcome {
    Opened(Opened),
    Staying(Staying),
}

/// Runs the whole benchmark and returns what it is to print last.
///
/// # Errors
/// When a file cannot be read or written, or a process fails.
pub fn run(options: &Options) -> Result<Report> {
    let dir = tempfile::tempdir()?;
    let (root, state) = (dir.path().join("wiki"), dir.path().join("state"));
    let mut made = Made::new();
    let bytes = made.write(&root, options.pages).with_context(at(&root))?;
    let load1 = procfs::load1();
    let mut task = Task { root, state, queries: made.queries(QUERIES), stays: false };
    let file = dir.path().join("task.json");
    let opened = |name: &str| -> Result<Opened> {
        progress(name);
        match subprocess::run(ROLE, &task, &file)? {
            Outcome::Opened(opened) => Ok(opened),
            Outcome::Staying(_) => anyhow::bail!("another phase"),
        }
    };
    let (cold, warm) = (opened("cold")?, opened("warm")?);
    progress("a process that stays");
    task.stays = true;
    let Outcome::Staying(staying) = subprocess::run(ROLE, &task, &file)? else {
        anyhow::bail!("another phase");
    };
    Ok(Report {
        pages: options.pages,
        #[expect(clippy::cast_precision_loss, reason = "a size in MB")]
        mb: rounded(bytes as f64 / 1e6),
        cold,
        warm,
        staying,
        load1,
    })
}

/// Measures a phase, if this process was started for it.
pub fn requested(args: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    subprocess::requested(args, ROLE, |task: Task, started| match task.stays {
        true => task.stay().map(Outcome::Staying),
        false => task.open(started).map(Outcome::Opened),
    })
}

impl Task {
    fn open(&self, started: Instant) -> Result<Opened> {
        let wiki = Wiki::open(&self.root, LinkStyle::Auto, &DigestConfig::default(), &self.state)?;
        ensure!(!wiki.list("").is_empty(), "there are no pages");
        let open_s = started.elapsed().as_secs_f64();
        let digest_s = timed(|| wiki.digest()).0;
        let search_s = timed(|| wiki.search(&self.queries[0], FOUND)).0;
        Ok(Opened {
            open_s: rounded(open_s),
            digest_s: rounded(digest_s),
            search_s: rounded(search_s),
            peak_mb: procfs::peak_mb(std::process::id()).map(rounded),
        })
    }

    fn stay(&self) -> Result<Staying> {
        let (style, digest) = (LinkStyle::Auto, DigestConfig::default());
        let supervisor = Supervisor::default();
        let wiki = Wiki::supervised(&self.root, style, &digest, &self.state, &supervisor)?;
        // Until the folders are watched, where the system can do so.
        (0..DIGESTS).find(|_| timed(|| wiki.digest()).0 < 2e-3);
        let _ = wiki.search(&self.queries[0], FOUND);
        let mut digests: Vec<f64> = (0..DIGESTS).map(|_| timed(|| wiki.digest()).0 * 1e3).collect();
        let search = |query: &String| timed(|| wiki.search(query, FOUND)).0 * 1e3;
        let mut searches: Vec<f64> = self.queries.iter().map(search).collect();

        let edited = self.root.join(format!("{HUB}.md"));
        let edit = || -> Result<()> { Ok(fs::write(&edited, fs::read_to_string(&edited)? + "another line\n")?) };
        edit()?;
        let (list_s, _) = timed(|| wiki.list("area0/"));
        edit()?;
        let after_edit = search(&self.queries[0]);

        // Another wiki object of the same folder counts: its terms are those of older pages.
        let (counter_state, is_counted) = (tempfile::tempdir()?, AtomicBool::new(false));
        let counting = Wiki::open(&self.root, style, &digest, counter_state.path())?;
        let _ = counting.list("");
        let (count_s, mut meanwhile) = thread::scope(|scope| {
            let counted = scope.spawn(|| {
                let (seconds, _) = timed(|| counting.digest());
                is_counted.store(true, Ordering::Relaxed);
                seconds
            });
            let mut queries = self.queries.iter().cycle();
            let mut meanwhile = Vec::new();
            while !is_counted.load(Ordering::Relaxed) {
                meanwhile.extend(queries.next().map(search));
            }
            (counted.join().unwrap_or_default(), meanwhile)
        });
        let (move_s, moved) = timed(|| wiki.rename(HUB, "moved/hub"));
        let percentile = |values: &mut Vec<f64>, q| percentile(values, q).map(rounded);
        Ok(Staying {
            digest_p50_ms: percentile(&mut digests, 0.5),
            digest_p99_ms: percentile(&mut digests, 0.99),
            search_p50_ms: percentile(&mut searches, 0.5),
            search_p99_ms: percentile(&mut searches, 0.99),
            count_s: rounded(count_s),
            search_while_counting_p50_ms: percentile(&mut meanwhile, 0.5),
            list_after_edit_ms: rounded(list_s * 1e3),
            search_after_edit_ms: rounded(after_edit),
            move_s: rounded(move_s),
            backlinks: moved?.rewritten.len(),
            resident_mb: procfs::resident_mb(std::process::id()).map(rounded),
        })
    }
}

/// The seconds that a call takes, and its result.
fn timed<T>(call: impl FnOnce() -> T) -> (f64, T) {
    let started = Instant::now();
    let result = call();
    (millis(started.elapsed()) / 1e3, result)
}
