//! A large personal memory: how long the search, a session's context and a new note take, and what a gateway needs while idle.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use jiff::ToSpan as _;
use jiff::civil::date;
use muninn_base::Clock;
use muninn_base::Supervisor;
use muninn_notebooks::personal::{
    EntryMetadata, Firings, Maker, NewReminder, Personal, ReminderExtras, ReminderKind, SearchOptions,
};
use muninn_tests::TestEnv;
use serde::Serialize;
use serde_json::json;

use crate::command_line::{at, progress};
use crate::gateway_process::{GatewayProcess, home};
use crate::procfs::{self, CpuTimes};
use crate::report::rounded;
use crate::stats::{millis, percentile};
use crate::zipf::ZipfWords;

const SEED: u64 = 3;
const DAYS: usize = 1_500;
const WORDS_OF_AN_ENTRY: usize = 25;
const WORDS_OF_AN_ENTITY: usize = 150;
const QUERIES: usize = 300;
const CONTEXTS: usize = 200;
const NOTES: usize = 30;
const FOUND: usize = 5;
const REMINDERS: usize = 50;
/// Until a gateway gives the memory of an unused index back.
const RELEASED: Duration = Duration::from_mins(6);

/// The bounds of the issue that built it.
const SEARCH_MS: f64 = 15.0;
const CONTEXT_MS: f64 = 10.0;
const IDLE_MB: f64 = 30.0;
/// The upkeep looks at the clock every 30 s.
const WAKES_PER_MINUTE: f64 = 2.0;

/// Measures a large personal memory.
///
/// Progress goes to stderr; the last line on stdout is one JSON object.
#[derive(Debug, Clone, Parser)]
#[command(name = "personal-scale")]
pub struct Options {
    /// Journal entries
    #[arg(long, value_name = "NUMBER", default_value_t = 100_000)]
    pub entries: usize,
    /// Entity files
    #[arg(long, value_name = "NUMBER", default_value_t = 5_000)]
    pub entities: usize,
    /// Seconds for which gateways are idle
    #[arg(long, value_name = "SECONDS", default_value_t = 180)]
    pub idle: u64,
}

/// The report.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Journal entries.
    pub entries: usize,
    /// Entity files.
    pub entities: usize,
    /// The first index of all texts.
    pub first_index_s: f64,
    /// The first search of a later process, which reads the kept index.
    pub reopen_s: f64,
    /// A search of two or three words.
    pub search_p50_ms: Option<f64>,
    /// The same, of a hundred the slowest.
    pub search_p99_ms: Option<f64>,
    /// A new note, and the search that finds it.
    pub note_and_search_p50_ms: Option<f64>,
    /// The context of a session.
    pub context_p50_ms: Option<f64>,
    /// The same, of a hundred the slowest.
    pub context_p99_ms: Option<f64>,
    /// An idle gateway without personal memory.
    pub gateway: Idle,
    /// An idle gateway with an empty one.
    pub with_empty: Idle,
    /// An idle gateway with this one.
    pub with_all: Idle,
    /// The machine's load before.
    pub load1: Option<f64>,
    /// Whether the bounds hold: search p50 15 ms, context p50 10 ms, 30 MB beyond a gateway without personal memory, two
    /// seconds of a minute in which the upkeep wakes.
    pub holds: bool,
}

/// A gateway that nobody calls.
#[derive(Debug, Clone, Serialize)]
pub struct Idle {
    /// Resident memory.
    pub resident_mb: Option<f64>,
    /// The seconds of a minute in which the thread of reminders and commits woke.
    pub upkeep_wakes_per_minute: Option<f64>,
    /// The seconds of a minute in which any thread woke.
    pub wakes_per_minute: Option<f64>,
}

/// Runs the whole benchmark and returns what it is to print last.
///
/// # Errors
/// When a file cannot be read or written.
pub fn run(options: &Options) -> Result<Report> {
    let load1 = procfs::load1();
    let dir = tempfile::tempdir()?;
    let (root, empty, repository) = (dir.path().join("me"), dir.path().join("empty"), dir.path().join("demo"));
    let mut words = ZipfWords::new(SEED);
    let personal = Personal::new(&root, Clock::system());
    personal.set_up(&Default::default())?;
    Personal::new(&empty, Clock::system()).set_up(&Default::default())?;
    fs::create_dir(&repository)?;
    write(&root, options, &mut words).with_context(at(&root))?;

    progress("first index");
    let first = SearchOptions { kind: None, since: None, limit: FOUND };
    let queries = words.queries(QUERIES);
    let (first_index, found) = timed(|| personal.search(&queries[0], &first));
    ensure!(!found?.is_empty(), "nothing is found");
    drop(personal);
    let supervisor = Supervisor::default();
    let personal = Personal::new(&root, Clock::system());
    personal.watch(&supervisor);
    let (reopen, found) = timed(|| personal.search(&queries[0], &first));
    found?;
    // Until the folders are watched, where the system can do so.
    (0..QUERIES).find(|_| timed(|| personal.search(&queries[0], &first)).0 < 5.0);

    progress("searches");
    let mut searches: Vec<f64> = queries.iter().map(|query| timed(|| personal.search(query, &first)).0).collect();
    let mut contexts: Vec<f64> = (0..CONTEXTS).map(|_| timed(|| personal.context()).0).collect();
    let mut notes = Vec::new();
    for number in 0..NOTES {
        let name = format!("quokka{number}");
        let (time, found) = timed(|| -> Result<bool> {
            personal.log("bench", &format!("the {name} sleeps"), EntryMetadata::default())?;
            let found = personal.search(&format!("where does {name} sleep"), &first)?;
            Ok(found.first().is_some_and(|found| found.content.contains(&name)))
        });
        ensure!(found?, "the note {name} is not found");
        notes.push(time);
    }

    progress("idle gateways");
    let of = |text: String| format!("[context]\nenabled = true\n[personal]\n{text}\n");
    let with_reminders = home();
    let firings = Firings::open(&with_reminders.state_dir())?;
    for number in 0..REMINDERS {
        firings.remind(&personal, reminder(number), Maker::Person)?;
    }
    drop(firings);
    let configurations = [
        (home(), of("enabled = false".to_owned())),
        (home(), of(format!("path = {}", json!(empty)))),
        (with_reminders, of(format!("path = {}", json!(root)))),
    ];
    let [gateway, with_empty, with_all] = idle(&repository, configurations, options.idle);
    let percentile = |values: &mut Vec<f64>, q| percentile(values, q).map(rounded);
    let mut report = Report {
        entries: options.entries,
        entities: options.entities,
        first_index_s: rounded(first_index / 1e3),
        reopen_s: rounded(reopen / 1e3),
        search_p50_ms: percentile(&mut searches, 0.5),
        search_p99_ms: percentile(&mut searches, 0.99),
        note_and_search_p50_ms: percentile(&mut notes, 0.5),
        context_p50_ms: percentile(&mut contexts, 0.5),
        context_p99_ms: percentile(&mut contexts, 0.99),
        gateway,
        with_empty,
        with_all,
        load1,
        holds: false,
    };
    report.holds = report.is_within_bounds();
    Ok(report)
}

impl Report {
    fn is_within_bounds(&self) -> bool {
        let at_most = |value: Option<f64>, most: f64| value.is_some_and(|value| value <= most);
        let beyond = |idle: &Idle| Some(idle.resident_mb? - self.gateway.resident_mb?);
        at_most(self.search_p50_ms, SEARCH_MS)
            && at_most(self.context_p50_ms, CONTEXT_MS)
            && at_most(beyond(&self.with_all), IDLE_MB)
            && at_most(self.with_all.upkeep_wakes_per_minute, WAKES_PER_MINUTE)
    }
}

fn write(root: &Path, options: &Options, words: &mut ZipfWords) -> Result<()> {
    let journal = root.join("journal");
    fs::create_dir_all(&journal)?;
    let a_day = options.entries.div_ceil(DAYS).max(1);
    let mut day = date(2022, 1, 1);
    let mut left = options.entries;
    while left > 0 {
        let count = left.min(a_day);
        let mut file = fs::File::create(journal.join(format!("{day}.jsonl")))?;
        for number in 0..count {
            let entry = json!({
                "timestamp": format!("{day}T{:02}:{:02}:00.000Z", number / 60 % 24, number % 60),
                "topic": words.words(1)[0],
                "content": words.words(WORDS_OF_AN_ENTRY).join(" "),
            });
            writeln!(file, "{entry}")?;
        }
        left -= count;
        day = day.checked_add(1.day())?;
    }
    for number in 0..options.entities {
        let folder = root.join("entities").join(["people", "projects"][number % 2]);
        fs::create_dir_all(&folder)?;
        let text = words.words(WORDS_OF_AN_ENTITY);
        let lines: Vec<String> = text.chunks(12).map(|line| line.join(" ")).collect();
        fs::write(folder.join(format!("e{number}.md")), format!("# E{number}\n\n{}\n", lines.join("\n")))?;
    }
    Ok(())
}

/// A reminder that is not due while the benchmark runs.
fn reminder(number: usize) -> NewReminder {
    NewReminder {
        id: format!("r{number}"),
        kind: ReminderKind::Cron,
        expression: format!("{} 3 1 1 *", number % 60),
        description: "A reminder".to_owned(),
        payload: "of the benchmark".to_owned(),
        extras: ReminderExtras::default(),
    }
}

/// Gateways with these configurations, after a time without calls.
fn idle(repository: &Path, configurations: [(TestEnv, String); 3], seconds: u64) -> [Idle; 3] {
    let gateways =
        configurations.map(|(home, configuration)| GatewayProcess::start_in(home, repository, &configuration));
    gateways.iter().for_each(|gateway| settle(gateway.id()));
    thread::sleep(RELEASED);
    let mut awake = [Some((0, 0)); 3];
    let waits = || gateways.each_ref().map(|gateway| waits(gateway.id()));
    let mut before = waits();
    for _ in 0..seconds {
        thread::sleep(Duration::from_secs(1));
        let after = waits();
        for (awake, waits) in awake.iter_mut().zip(before.into_iter().zip(after)) {
            *awake = awake.zip(waits.0.zip(waits.1)).map(|((upkeep, all), (before, after))| {
                (upkeep + u32::from(after.0 > before.0), all + u32::from(after.1 > before.1))
            });
        }
        before = after;
    }
    #[expect(clippy::cast_precision_loss, reason = "a few hundred seconds")]
    let per_minute = |count: u32| rounded(f64::from(count) * 60.0 / seconds as f64);
    let mut awake = awake.into_iter();
    gateways.each_ref().map(|gateway| {
        let awake = awake.next().flatten();
        Idle {
            resident_mb: procfs::resident_mb(gateway.id()).map(rounded),
            upkeep_wakes_per_minute: awake.map(|(upkeep, _)| per_minute(upkeep)),
            wakes_per_minute: awake.map(|(_, all)| per_minute(all)),
        }
    })
}

/// Waits until a process has done what its start brings: it computes for less than a tenth of a second in ten.
fn settle(process: u32) {
    let pause = || thread::sleep(Duration::from_secs(10));
    pause();
    for _ in 0..30 {
        let before = CpuTimes::of(process);
        pause();
        let spent = CpuTimes::of(process).zip(before).map(|(now, before)| now.since(&before));
        if spent.is_none_or(|nanoseconds| nanoseconds < 100_000_000) {
            return;
        }
    }
}

/// The voluntary waits of the upkeep's thread and of all threads of a process.
fn waits(process: u32) -> Option<(u64, u64)> {
    let (mut upkeep, mut all) = (0, 0);
    for task in fs::read_dir(format!("/proc/{process}/task")).ok()?.flatten() {
        let status = fs::read_to_string(task.path().join("status")).ok()?;
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let waits: u64 = field("voluntary_ctxt_switches:")?.parse().ok()?;
        all += waits;
        if field("Name:")?.starts_with("muninn-reminder") {
            upkeep += waits;
        }
    }
    Some((upkeep, all))
}

/// The milliseconds that a call takes, and its result.
fn timed<T>(call: impl FnOnce() -> T) -> (f64, T) {
    let started = Instant::now();
    let result = call();
    (millis(started.elapsed()), result)
}
