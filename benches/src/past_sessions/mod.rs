//! Latency of questions, and the times of a start and a stop, by the number of past sessions.

mod ask;
mod past;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Parser;
use muninn_memory::records::{MAIN, SESSIONS};
use muninn_tests::{Gateway, TestEnv, git};
use serde::Serialize;

pub use self::past::Past;

use self::ask::Asked;
use crate::command_line::{at, progress};
use crate::format::Format;
use crate::gateway_process::{configuration, home, serve, wait_until_indexed};
use crate::localization::report::Percentiles;
use crate::memory_scale::corpus::Corpus;
use crate::procfs;
use crate::report::rounded;
use crate::stand::{self};
use crate::stats::millis;
use crate::upstream::Upstream;

/// Records of the team's memory.
const RECORDS: usize = 1_000;
/// Questions of a round that are not counted.
const WARM_UP: usize = 10;
/// How long moving the folders of an earlier version may take.
const MOVE_LIMIT: Duration = Duration::from_secs(600);
/// The largest case may be slower by so many percent.
const MOST_SLOWER: f64 = 10.0;
/// A stop may take so long, in milliseconds.
const MOST_STOP_MS: f64 = 1_000.0;

/// Measures a gateway after many sessions.
///
/// In each round every case has a new process, and the cases take turns, question by question: on a busy machine they differ
/// less from each other than one does from itself. Progress goes to stderr; stdout has one JSON object.
#[derive(Debug, Clone, Parser)]
#[command(name = "past-sessions")]
pub struct Options {
    /// The numbers of past sessions.
    #[arg(long, value_delimiter = ',', default_values_t = [0, 1_000, 20_000, 100_000])]
    pub sizes: Vec<usize>,
    /// The kind of past sessions.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Past::Folders, Past::Recorded])]
    pub past: Vec<Past>,
    /// The number of rounds.
    #[arg(long, default_value_t = 7)]
    pub rounds: usize,
    /// Questions of a round, one after the other; as many again by eight clients at once.
    #[arg(long, default_value_t = 40)]
    pub questions: usize,
    /// Conversations that are open when the gateway stops.
    #[arg(long, default_value_t = 50)]
    pub open: usize,
}

/// The measurements for one number of past sessions, of all rounds together. All times are milliseconds.
#[derive(Debug, Clone, Serialize)]
pub struct Case {
    /// Past sessions.
    pub sessions: usize,
    /// The kind of past sessions.
    pub past: Past,
    /// From the start of the process until it listens, the first time.
    pub first_start_ms: f64,
    /// From then until no folder of an earlier version is left.
    pub moved_ms: f64,
    /// A question, until the first byte of its answer.
    pub question_ms: Percentiles,
    /// Percent of these to which nothing was added.
    pub none: f64,
    /// A question of eight at once.
    pub of_eight_ms: Percentiles,
    /// Percent of these to which nothing was added.
    pub none_of_eight: f64,
    /// From SIGTERM to the end of the process.
    pub stop_ms: Percentiles,
    /// Conversations that were open at all stops together, and segments that these wrote.
    pub open: usize,
    /// Those segments.
    pub segments: usize,
    /// Sessions whose records wait for the next start.
    pub waiting: usize,
}

/// All cases.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// By kind of past and number of sessions.
    pub cases: Vec<Case>,
    /// By how many percent a question to the largest case is slower than the same question to the smallest, in the median of
    /// all questions, for each kind of past.
    pub slower_percent: Vec<(Past, Option<f64>)>,
    /// Load average over the last minute, at the end.
    pub load1: Option<f64>,
    /// Whether the largest case is at most 10 percent slower, and the median stop of each takes less than a second.
    pub holds: bool,
}

/// Runs the whole benchmark and returns what it is to print.
///
/// # Errors
/// When anything could not be started, or any request failed.
pub fn run(options: &Options) -> Result<Report> {
    let upstream = stand::upstream(0)?;
    let mut aged: Vec<Aged> = Vec::new();
    for past in &options.past {
        for sessions in &options.sizes {
            progress(&format!("making {sessions} sessions, {past:?}"));
            aged.push(Aged::make(*past, *sessions, &upstream)?);
        }
    }
    for round in 0..options.rounds {
        progress(&format!("round {} of {}", round + 1, options.rounds));
        measure(&mut aged, round, options)?;
    }
    let cases: Vec<Case> = aged.iter().map(Aged::case).collect();
    let slower = |past: &Past| {
        let of_kind = || aged.iter().filter(|case| case.past == *past);
        let least = of_kind().min_by_key(|case| case.sessions)?;
        let most = of_kind().max_by_key(|case| case.sessions)?;
        let pairs = least.alone.iter().zip(&most.alone);
        let ratios = pairs.map(|(least, most)| millis(most.took) / millis(least.took));
        Some(rounded((Percentiles::of(ratios.collect()).p50? - 1.0) * 100.0))
    };
    let slower_percent: Vec<_> = options.past.iter().map(|past| (*past, slower(past))).collect();
    let is_quick = |case: &Case| case.stop_ms.p50.is_some_and(|stop| stop < MOST_STOP_MS);
    let holds = cases.iter().all(is_quick)
        && slower_percent
            .iter()
            .all(|(_, slower)| slower.is_some_and(|slower| slower <= MOST_SLOWER));
    Ok(Report {
        cases,
        slower_percent,
        load1: procfs::load1(),
        holds,
    })
}

/// Measures one round of all cases.
fn measure(cases: &mut [Aged], round: usize, options: &Options) -> Result<()> {
    let gateways: Vec<Gateway> = cases.iter().map(Aged::start).collect();
    let first = round * (WARM_UP + 2 * options.questions);
    let counted = first + WARM_UP;
    let together = counted + options.questions;
    for number in first..together {
        // A case finds the caches as the one before it has left them, so each is the first in its turn.
        for at in 0..cases.len() {
            let at = (number + at) % cases.len();
            let asked = cases[at].ask(&gateways[at], number)?;
            if number >= counted {
                cases[at].alone.push(asked);
            }
        }
    }
    for (case, gateway) in cases.iter_mut().zip(&gateways) {
        let root = case.home.path("tree");
        case.together
            .extend(ask::eight(gateway.address, &root, together, options.questions)?);
    }
    for (case, gateway) in cases.iter_mut().zip(gateways) {
        case.stop(gateway, round, options)?;
    }
    Ok(())
}

/// A repository, and the state directory of a gateway that has served this many sessions. It stays until the end of the
/// benchmark: ext4 is slow for minutes after many files were deleted.
struct Aged {
    past: Past,
    sessions: usize,
    home: TestEnv,
    spool: PathBuf,
    first_start: Duration,
    moved: Duration,
    alone: Vec<Asked>,
    together: Vec<Asked>,
    stops: Vec<f64>,
    open: usize,
    segments: usize,
}

impl Aged {
    fn make(past: Past, sessions: usize, upstream: &Upstream) -> Result<Aged> {
        let home = home();
        home.write_config(&configuration(upstream, Format::Messages));
        let root = home.path("tree");
        repository(&root)?;
        let state = home.state_dir();
        let spool = past::make(past, sessions, &root, &state).with_context(at(&state))?;
        commit(&root)?;
        let started = Instant::now();
        let gateway = serve(&home, &root);
        let first_start = started.elapsed();
        let moved = wait_until_moved(&spool, started + first_start)?;
        wait_until_indexed(&gateway);
        drop(gateway.stop());
        Ok(Aged {
            past,
            sessions,
            home,
            spool,
            first_start,
            moved,
            alone: Vec::new(),
            together: Vec::new(),
            stops: Vec::new(),
            open: 0,
            segments: 0,
        })
    }

    fn start(&self) -> Gateway {
        let gateway = serve(&self.home, &self.home.path("tree"));
        wait_until_indexed(&gateway);
        gateway
    }

    fn ask(&self, gateway: &Gateway, number: usize) -> std::io::Result<Asked> {
        ask::question(gateway.address, &self.home.path("tree"), number)
    }

    fn stop(&mut self, gateway: Gateway, round: usize, options: &Options) -> Result<()> {
        let root = self.home.path("tree");
        let before = segments(&root)?;
        for number in round * options.open..(round + 1) * options.open {
            ask::conversation(gateway.address, &root, number)?;
        }
        self.open += options.open;
        let stopping = Instant::now();
        drop(gateway.stop());
        self.stops.push(millis(stopping.elapsed()));
        self.segments += segments(&root)? - before;
        Ok(())
    }

    fn case(&self) -> Case {
        let waiting = self.spool.join("waiting");
        Case {
            sessions: self.sessions,
            past: self.past,
            first_start_ms: rounded(millis(self.first_start)),
            moved_ms: rounded(millis(self.moved)),
            question_ms: latencies(&self.alone),
            none: none(&self.alone),
            of_eight_ms: latencies(&self.together),
            none_of_eight: none(&self.together),
            stop_ms: Percentiles::of(self.stops.clone()),
            open: self.open,
            segments: self.segments,
            waiting: std::fs::read_dir(waiting).map_or(0, |files| files.count()),
        }
    }
}

/// A clone of the repository that this benchmark belongs to, with a team's memory.
fn repository(root: &Path) -> Result<()> {
    let source = stand::repository()?;
    let name = root.to_string_lossy().into_owned();
    git(&source, &["clone", "--quiet", "--no-local", "--depth", "1", ".", &name])?;
    git(root, &["checkout", "--quiet", "-B", "main"])?;
    let made = std::fs::create_dir_all(root.join(SESSIONS));
    let written = made.and_then(|()| Corpus::read(root)?.write(&root.join(MAIN), RECORDS));
    written
        .and_then(|()| {
            std::fs::write(
                root.join(".muninn/config.toml"),
                "[memory]\nwrite = \"repo\"\ndefault_branch = \"main\"\n",
            )
        })
        .with_context(at(root))
}

fn commit(root: &Path) -> Result<()> {
    let all = [
        &["add", "--all", "--force", ".muninn"][..],
        &["commit", "--quiet", "-m", "memory"],
    ];
    for arguments in all {
        git(root, arguments)?;
    }
    Ok(())
}

fn wait_until_moved(spool: &Path, since: Instant) -> Result<Duration> {
    while past::has_folders(spool).with_context(at(spool))? {
        if since.elapsed() > MOVE_LIMIT {
            bail!("the folders in {spool:?} are still there after {MOVE_LIMIT:?}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(since.elapsed())
}

fn segments(root: &Path) -> Result<usize> {
    let dir = root.join(SESSIONS);
    Ok(std::fs::read_dir(&dir).with_context(at(&dir))?.count())
}

fn latencies(asked: &[Asked]) -> Percentiles {
    Percentiles::of(asked.iter().map(|asked| millis(asked.took)).collect())
}

fn none(asked: &[Asked]) -> f64 {
    let none = asked.iter().filter(|asked| asked.is_none).count();
    rounded(none as f64 * 100.0 / asked.len().max(1) as f64)
}
