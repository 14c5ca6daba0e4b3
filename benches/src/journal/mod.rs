//! A journal of many entries: how long it takes to open, to search and to write, and how good its search is.

mod import;
mod search;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Result, ensure};
use clap::Parser;
use muninn_base::Clock;
use muninn_notebooks::journal::{Draft, Journal, JournalSettings, SearchSettings};
use muninn_notebooks::wiki::PagePath;
use serde::{Deserialize, Serialize};

use self::import::{Imported, import};
use self::search::Quality;
use crate::command_line::progress;
use crate::procfs;
use crate::report::rounded;
use crate::stats::{millis, percentile};
use crate::subprocess;
use crate::zipf::ZipfWords;

/// The hidden first argument.
const ROLE: &str = "__journal-phase";
const SEED: u64 = 13;
const WORDS_OF_AN_ENTRY: usize = 60;
/// The first entry's time, and the seconds between two.
const BEGIN: i64 = 1_600_000_000;
const STEP: i64 = 1_000;
const CALLS: usize = 200;

/// Measures a journal of many entries, or its search on real commit messages.
///
/// Progress goes to stderr; the last line on stdout is one JSON object.
#[derive(Debug, Clone, Parser)]
#[command(name = "journal")]
pub struct Options {
    /// Entries
    #[arg(long, value_name = "NUMBER", default_value_t = 100_000)]
    pub entries: usize,
    /// Sections
    #[arg(long, value_name = "NUMBER", default_value_t = 1_000)]
    pub sections: usize,
    /// Measure the search with these queries instead, JSON lines with repository, commit, context and content
    #[arg(long, value_name = "FILE", requires = "repos")]
    pub pairs: Option<PathBuf>,
    /// The folder of clones, each at OWNER+NAME
    #[arg(long, value_name = "DIR")]
    pub repos: Option<PathBuf>,
}

/// The report.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Report {
    /// The search on real messages.
    Quality(Quality),
    /// The scale.
    Scale(Box<Scale>),
}

/// The figures of a journal of many entries.
#[derive(Debug, Clone, Serialize)]
pub struct Scale {
    /// Entries.
    pub entries: usize,
    /// Sections.
    pub sections: usize,
    /// The first process, which reads all commits.
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
    /// The table of contents.
    pub toc_s: f64,
    /// The first search then.
    pub search_s: f64,
    /// Resident memory at its highest.
    pub peak_mb: Option<f64>,
}

/// The figures of a process that stays.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Staying {
    /// A search of two or three words with a context.
    pub search_p50_ms: Option<f64>,
    /// The same, of a hundred the slowest.
    pub search_p99_ms: Option<f64>,
    /// The table of contents.
    pub toc_p50_ms: Option<f64>,
    /// Reading a section.
    pub read_p50_ms: Option<f64>,
    /// Writing an entry.
    pub write_p50_ms: Option<f64>,
    /// The same, of a hundred the slowest.
    pub write_p99_ms: Option<f64>,
    /// A search after a write.
    pub search_after_write_p50_ms: Option<f64>,
    /// Resident memory at the end.
    pub resident_mb: Option<f64>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Task {
    repository: PathBuf,
    state: PathBuf,
    queries: Vec<String>,
    sections: usize,
    stays: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
enum Outcome {
    Opened(Opened),
    Staying(Staying),
}

/// Runs the benchmark and returns what it is to print last.
///
/// # Errors
/// When a file cannot be read or written, git fails, or a process does.
pub fn run(options: &Options) -> Result<Report> {
    if let (Some(pairs), Some(repositories)) = (&options.pairs, &options.repos) {
        return search::quality(pairs, repositories).map(Report::Quality);
    }
    let dir = tempfile::tempdir()?;
    progress("making the journal");
    let mut words = ZipfWords::new(SEED);
    let repository = dir.path().join("journal");
    let entry = |(number, seconds)| Imported {
        section: section(number % options.sections),
        context: words.words(4).join(" "),
        text: words.words(WORDS_OF_AN_ENTRY).join(" "),
        seconds,
        session: format!("s-{number}"),
    };
    let times = (BEGIN..).step_by(usize::try_from(STEP)?);
    import(&repository, (0..options.entries).zip(times).map(entry))?;
    let mut task = Task {
        repository,
        state: dir.path().join("state"),
        queries: words.queries(CALLS),
        sections: options.sections,
        stays: false,
    };
    let (load1, file) = (procfs::load1(), dir.path().join("task.json"));
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
    Ok(Report::Scale(Box::new(Scale {
        entries: options.entries,
        sections: options.sections,
        cold,
        warm,
        staying,
        load1,
    })))
}

/// Measures a phase, if this process was started for it.
pub fn requested(args: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    subprocess::requested(args, ROLE, |task: Task, _| match task.stays {
        true => task.stay().map(Outcome::Staying),
        false => task.open().map(Outcome::Opened),
    })
}

/// The journal of a repository.
fn journal(repository: &Path, state: &Path) -> Journal {
    let settings = JournalSettings { author: ("Ada".to_owned(), "ada@example.org".to_owned()), strict: false };
    Journal::new(repository, state, settings, Clock::system())
}

fn section(number: usize) -> String {
    format!("area{}/part{}/section{number}", number % 20, number % 7)
}

impl Task {
    fn open(&self) -> Result<Opened> {
        let journal = journal(&self.repository, &self.state);
        let settings = SearchSettings::default();
        let (toc_s, toc) = timed(|| journal.toc(None, 3));
        ensure!(!toc?.is_empty(), "there are no sections");
        let (search_s, found) = timed(|| journal.search("", &self.queries[0], None, &settings));
        found?;
        Ok(Opened {
            toc_s: rounded(toc_s),
            search_s: rounded(search_s),
            peak_mb: procfs::peak_mb(std::process::id()).map(rounded),
        })
    }

    fn stay(&self) -> Result<Staying> {
        let journal = journal(&self.repository, &self.state);
        let settings = SearchSettings::default();
        let search = |at: usize| {
            let (context, content) = (&self.queries[(at + 1) % CALLS], &self.queries[at]);
            timed(|| journal.search(context, content, None, &settings))
        };
        let named = |at: usize| PagePath::new(&section(at * 7 % self.sections));
        search(0).1?;
        let (mut searches, mut contents, mut reads) = (Vec::new(), Vec::new(), Vec::new());
        let (mut writes, mut after) = (Vec::new(), Vec::new());
        for at in 0..CALLS {
            let (seconds, found) = search(at);
            found?;
            searches.push(seconds * 1e3);
            let (seconds, toc) = timed(|| journal.toc(None, 3));
            toc?;
            contents.push(seconds * 1e3);
        }
        for at in 0..CALLS {
            let name = named(at)?;
            let (seconds, read) = timed(|| journal.section(&name));
            reads.push(seconds * 1e3);
            let draft = Draft { text: self.queries[at].clone(), ..Draft::default() };
            let version = read?.version;
            let (seconds, written) = timed(|| journal.write(&name, &draft, Some(version)));
            written?;
            writes.push(seconds * 1e3);
            let (seconds, found) = search(at);
            found?;
            after.push(seconds * 1e3);
        }
        let percentile = |values: &mut Vec<f64>, q| percentile(values, q).map(rounded);
        Ok(Staying {
            search_p50_ms: percentile(&mut searches, 0.5),
            search_p99_ms: percentile(&mut searches, 0.99),
            toc_p50_ms: percentile(&mut contents, 0.5),
            read_p50_ms: percentile(&mut reads, 0.5),
            write_p50_ms: percentile(&mut writes, 0.5),
            write_p99_ms: percentile(&mut writes, 0.99),
            search_after_write_p50_ms: percentile(&mut after, 0.5),
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
