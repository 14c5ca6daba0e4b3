//! Latency of questions, and the times of a start and a stop, by the number of past sessions.

mod ask;
mod past;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use muninn_team::records::{MAIN, SESSIONS};
use muninn_tests::{Gateway, TestEnv, git};
use serde::Serialize;

use self::ask::{Asked, Client};
use self::past::Past;
use crate::gateway::{configuration, home, serve, wait_until_indexed};
use crate::harness::records::Lines;
use crate::harness::stats::{Percentiles, millis, percent_of, rounded};
use crate::harness::{at, our_repository, procfs, progress};
use crate::load::format::Format;
use crate::load::mock::Mock;

const RECORDS: usize = 1_000;
/// Questions of a round that are not counted.
const WARM_UP: usize = 10;
/// The time limit for moving the folders of an earlier version.
const MOVE_LIMIT: Duration = Duration::from_secs(600);
/// The most by which the largest case may be slower.
const MAX_SLOWER_PERCENT: f64 = 10.0;
const MAX_STOP_MS: f64 = 1_000.0;

/// Measures a gateway after many sessions.
///
/// In each round every case has a new process, and the cases take turns, question by question: on a busy machine they differ
/// less from each other than one does from itself. Progress goes to stderr; stdout has one JSON object.
#[derive(Debug, Clone, Parser)]
#[command(name = "past-sessions")]
pub(crate) struct Options {
    /// The numbers of past sessions.
    #[arg(long, value_delimiter = ',', default_values_t = [0, 1_000, 20_000, 100_000])]
    sizes: Vec<usize>,
    /// The kind of past sessions.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Past::Folders, Past::Recorded])]
    past: Vec<Past>,
    /// The number of rounds.
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Questions of a round, one after the other; as many again by eight clients at once.
    #[arg(long, default_value_t = 40)]
    questions: usize,
    /// Conversations that are open when the gateway stops.
    #[arg(long, default_value_t = 50)]
    open: usize,
}

/// The measurements for one number of past sessions, of all rounds together.
#[derive(Debug, Clone, Serialize)]
struct Case {
    sessions: usize,
    past: Past,
    first_start_ms: f64,
    moved_ms: f64,
    question_ms: Percentiles,
    none: f64,
    of_eight_ms: Percentiles,
    none_of_eight: f64,
    stop_ms: Percentiles,
    open: usize,
    segments: usize,
    waiting: usize,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Report {
    cases: Vec<Case>,
    slower_percent: Vec<(Past, Option<f64>)>,
    load1: Option<f64>,
    holds: bool,
}

pub(crate) fn run(options: &Options) -> Result<Report> {
    let mock = Mock::start(0)?;
    let mut aged: Vec<Aged> = Vec::new();
    for past in &options.past {
        for sessions in &options.sizes {
            progress(&format!("making {sessions} sessions, {past:?}"));
            aged.push(Aged::make(*past, *sessions, &mock)?);
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
        // Each question is compared with itself.
        let pairs = least.alone.iter().zip(&most.alone);
        let ratios = pairs.map(|(least, most)| millis(most.took) / millis(least.took));
        Some(rounded((Percentiles::of(ratios.collect()).p50? - 1.0) * 100.0))
    };
    let slower_percent: Vec<_> = options.past.iter().map(|past| (*past, slower(past))).collect();
    let holds = cases.iter().all(|case| case.stop_ms.p50.is_some_and(|stop| stop < MAX_STOP_MS))
        && slower_percent.iter().all(|(_, slower)| slower.is_some_and(|slower| slower <= MAX_SLOWER_PERCENT));
    Ok(Report { cases, slower_percent, load1: procfs::load1(), holds })
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
            let asked = cases[at].client(&gateways[at]).question(number)?;
            if number >= counted {
                cases[at].alone.push(asked);
            }
        }
    }
    for (case, gateway) in cases.iter_mut().zip(&gateways) {
        let asked = case.client(gateway).eight(together, options.questions)?;
        case.together.extend(asked);
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
    root: PathBuf,
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
    fn make(past: Past, sessions: usize, mock: &Mock) -> Result<Self> {
        let home = home();
        home.write_config(&configuration(mock, Format::Messages));
        let root = home.path("tree");
        make_repository(&root)?;
        let state = home.state_dir();
        let spool = past::make(past, sessions, &root, &state).with_context(at(&state))?;
        git(&root, &["add", "--all", "--force", ".muninn"])?;
        git(&root, &["commit", "--quiet", "-m", "memory"])?;
        let started = Instant::now();
        let gateway = serve(&home, &root);
        let first_start = started.elapsed();
        while past::has_folders(&spool).with_context(at(&spool))? {
            ensure!(started.elapsed() < MOVE_LIMIT, "the folders in {spool:?} are still there after {MOVE_LIMIT:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
        let moved = started.elapsed() - first_start;
        wait_until_indexed(&gateway);
        drop(gateway.stop());
        let (alone, together, stops) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { past, sessions, home, root, spool, first_start, moved, alone, together, stops, open: 0, segments: 0 })
    }

    fn start(&self) -> Gateway {
        let gateway = serve(&self.home, &self.root);
        wait_until_indexed(&gateway);
        gateway
    }

    fn client(&self, gateway: &Gateway) -> Client<'_> {
        Client { gateway: gateway.address, root: &self.root }
    }

    fn stop(&mut self, gateway: Gateway, round: usize, options: &Options) -> Result<()> {
        let before = self.count_segments()?;
        for number in round * options.open..(round + 1) * options.open {
            self.client(&gateway).conversation(number)?;
        }
        self.open += options.open;
        let stopping = Instant::now();
        drop(gateway.stop());
        self.stops.push(millis(stopping.elapsed()));
        self.segments += self.count_segments()? - before;
        Ok(())
    }

    fn count_segments(&self) -> Result<usize> {
        let dir = self.root.join(SESSIONS);
        Ok(std::fs::read_dir(&dir).with_context(at(&dir))?.count())
    }

    fn case(&self) -> Case {
        let latencies = |asked: &[Asked]| Percentiles::of(asked.iter().map(|one| millis(one.took)).collect());
        let none = |asked: &[Asked]| percent_of(asked.iter().filter(|one| one.is_none).count(), asked.len());
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
            waiting: std::fs::read_dir(self.spool.join("waiting")).map_or(0, Iterator::count),
        }
    }
}

fn make_repository(root: &Path) -> Result<()> {
    let name = root.to_string_lossy().into_owned();
    git(&our_repository()?, &["clone", "--quiet", "--no-local", "--depth", "1", ".", &name])?;
    git(root, &["checkout", "--quiet", "-B", "main"])?;
    let settings = "[memory]\nwrite = \"repo\"\ndefault_branch = \"main\"\n";
    let made = std::fs::create_dir_all(root.join(SESSIONS))
        .and_then(|()| Lines::read(root)?.write(&root.join(MAIN), RECORDS))
        .and_then(|()| std::fs::write(root.join(".muninn/config.toml"), settings));
    made.with_context(at(root))
}
