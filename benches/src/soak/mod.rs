//! Soak test: mixed clients for half an hour, with a backend that fails at random.
//!
//! Requests start at a fixed rate, whether or not earlier ones are answered. Each belongs to a conversation: a question
//! about the repository, turns of tools, a retry, a side request, and then the next question. A header of some requests
//! makes the backend fail. All other requests must succeed, and each block of a conversation must be in each later
//! request of it, byte for byte.

mod backend;
mod conversation;
mod exchange;
mod minutes;

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Parser;
use muninn_tests::git;
use serde::Serialize;

use crate::command_line::progress;
use crate::format::Format;
use crate::gateway_process::{GatewayProcess, wait_until_indexed};
use crate::stand::{self};
use crate::{limits, procfs};
use backend::{Backend, Fault};
use conversation::{Conversation, Step};
use exchange::Client;
use minutes::{Minute, Minutes};

/// Open files of client, backend and gateway together.
const FILES: u64 = 4_000;
/// From the last request until descriptors are counted: longer than the backend keeps an idle connection.
const SETTLING: Duration = Duration::from_secs(6);
/// The number of failures in the report.
const SHOWN: usize = 20;

/// Sends mixed requests at a fixed rate and checks the gateway's promises.
///
/// Progress goes to stderr; the last line on stdout is one JSON object.
#[derive(Debug, Clone, Parser)]
#[command(name = "soak")]
pub struct Options {
    /// The length of the run.
    #[arg(long, default_value_t = 30.0)]
    pub minutes: f64,
    /// Requests per second, of which one in ten brings a new question.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub rate: u32,
    /// Percent of the requests that the backend fails.
    #[arg(long, default_value_t = 5.0)]
    pub faults: f64,
    /// Seed of what is drawn.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// The report that the benchmark prints. Times are milliseconds, memory is MB of 10^6 bytes.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// Whether all bounds hold.
    pub holds: bool,
    /// Requests that were sent.
    pub requests: u64,
    /// Those with a new question.
    pub questions: u64,
    /// Requests that the backend was told to fail.
    pub faults: u64,
    /// Faults that the client saw; the gateway retried the others.
    pub faults_seen: u64,
    /// Requests that failed though the backend did not. To be 0.
    pub failed: u64,
    /// Blocks that the gateway added.
    pub blocks: u64,
    /// Requests in which an earlier block was missing, or another one. To be 0.
    pub replay_broken: u64,
    /// The first failures and broken replays.
    pub first_errors: Vec<String>,
    /// Resident memory at the end of the tenth minute, or of the first third of a shorter run.
    pub rss_early_mb: Option<f64>,
    /// Resident memory at the end.
    pub rss_end_mb: Option<f64>,
    /// The latter over the former. To stay below 1.1.
    pub rss_ratio: Option<f64>,
    /// Descriptors that were open when nothing was in progress, before the first request and after the last.
    pub descriptors_idle: [Option<usize>; 2],
    /// Each minute.
    pub minutes: Vec<Minute>,
    /// The machine's load average over a minute, at the start and at the end.
    pub load1: [Option<f64>; 2],
}

/// The state that all requests of a run share.
struct Shared {
    client: Client,
    backend: Backend,
    idle: Mutex<VecDeque<Conversation>>,
    tally: Mutex<Tally>,
}

/// The counts so far.
#[derive(Default)]
struct Tally {
    report: Report,
    minutes: Minutes,
}

/// Runs the whole benchmark and returns what it is to print.
///
/// # Errors
/// When anything could not be started.
pub fn run(options: &Options) -> Result<Report> {
    limits::allow_open_files(FILES)?;
    let (folder, root) = repository()?;
    let backend = Backend::start();
    let gateway = GatewayProcess::start(&root, &configuration(&backend.url()));
    wait_until_indexed(&gateway);
    let shared =
        Shared { client: Client::new(gateway.address), backend, idle: Mutex::default(), tally: Mutex::default() };
    let descriptors = procfs::open_files(gateway.id());
    let load = procfs::load1();
    drive(options, &shared, &gateway, &root.to_string_lossy());
    let mut tally = shared.tally.lock().unwrap_or_else(PoisonError::into_inner);
    let mut report = std::mem::take(&mut tally.report);
    report.minutes = std::mem::take(&mut tally.minutes).into_list();
    report.load1 = [load, procfs::load1()];
    report.descriptors_idle = [descriptors, procfs::open_files(gateway.id())];
    judge(&mut report);
    if !report.holds {
        gateway.show_log();
    }
    drop(folder);
    Ok(report)
}

/// A clone of this repository, so that nothing that happens to it is asked about.
fn repository() -> Result<(tempfile::TempDir, std::path::PathBuf)> {
    let from = stand::repository()?;
    let folder = tempfile::tempdir()?;
    let source = from.to_string_lossy();
    git(folder.path(), &["clone", "--quiet", "--no-hardlinks", &source, "repository"])?;
    let root = folder.path().join("repository");
    Ok((folder, root))
}

/// One backend for each format. What it fails is asked once more by the gateway, and does not count against it.
fn configuration(backend: &str) -> String {
    let backends = Format::ALL.map(|format| {
        format!(
            "[[backends]]\nname = \"{format}\"\nurl = \"{backend}\"\ndialect = \"{format}\"\n\
             [[routes]]\nmodel = \"{format}\"\nbackend = \"{format}\"\n"
        )
    });
    let limits = "[limits]\ncircuit_failures = 0\nkeep_alive_ms = 1000\nfirst_byte_timeout_ms = 3000\nstream_idle_timeout_ms = 3000\n";
    format!("{}{limits}", backends.concat())
}

/// Starts requests at their times, and takes the gateway's measures at the end of each minute.
fn drive(options: &Options, shared: &Shared, gateway: &GatewayProcess, directory: &str) {
    let interval = Duration::from_secs(1) / options.rate;
    let total = (options.minutes * 60.0 * f64::from(options.rate)) as u64;
    let per_minute = u64::from(options.rate) * 60;
    let mut random = fastrand::Rng::with_seed(options.seed);
    let mut made = 0;
    let start = Instant::now();
    std::thread::scope(|scope| {
        for number in 0..total {
            let due = start + interval * u32::try_from(number).unwrap_or(u32::MAX);
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let (conversation, step) = shared.next_step(&mut made, directory);
            let fault = (random.f64() * 100.0 < options.faults).then(|| Fault::ALL[random.usize(..Fault::ALL.len())]);
            scope.spawn(move || shared.ask(conversation, step, fault, due));
            if (number + 1) % per_minute == 0 || number + 1 == total {
                measure(shared, gateway);
            }
        }
    });
    // The clients leave, and the backend closes what is idle, as servers do: the gateway's workers notice with the next
    // request of each.
    shared.client.leave();
    std::thread::sleep(SETTLING);
    for _ in 0..8 {
        let (conversation, step) = shared.next_step(&mut made, directory);
        shared.ask(conversation, step, None, Instant::now());
        shared.client.leave();
    }
}

fn measure(shared: &Shared, gateway: &GatewayProcess) {
    let mut tally = shared.tally.lock().unwrap_or_else(PoisonError::into_inner);
    let (rss, files) = (procfs::resident_mb(gateway.id()), procfs::open_files(gateway.id()));
    let (failed, broken) = (tally.report.failed, tally.report.replay_broken);
    let line = tally.minutes.end(rss, files);
    progress(&format!("{line}, {failed} failed, {broken} replays broken"));
}

impl Shared {
    /// The conversation that has waited for longest, and its next step; a new one where all others are busy or over.
    fn next_step(&self, made: &mut u64, directory: &str) -> (Conversation, Step) {
        loop {
            let waiting = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let mut conversation = waiting.unwrap_or_else(|| {
                *made += 1;
                Conversation::new(*made, directory)
            });
            if let Some(step) = conversation.next() {
                return (conversation, step);
            }
        }
    }

    /// Sends a request of a conversation, and puts the conversation back.
    fn ask(&self, mut conversation: Conversation, step: Step, fault: Option<Fault>, due: Instant) {
        let request = conversation.request(step);
        let answered = self.client.ask(&request, fault);
        let took = due.elapsed();
        let blocks = self.backend.blocks_of(&request.id);
        let replay = match &blocks {
            Some(blocks) => conversation.check(step, blocks),
            None => Ok(0),
        };
        let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        let Tally { report, minutes } = &mut *tally;
        report.requests += 1;
        report.questions += u64::from(step == Step::Question);
        report.faults += u64::from(fault.is_some());
        let mut errors = Vec::new();
        match replay {
            Ok(added) => report.blocks += added,
            Err(error) => {
                report.replay_broken += 1;
                errors.push(error);
            }
        }
        match (answered, fault) {
            (Ok(()), None) => minutes.add(step == Step::Question, took),
            (Ok(()), Some(_)) => {}
            (Err(_), Some(_)) => report.faults_seen += 1,
            (Err(error), None) => {
                report.failed += 1;
                errors.push(format!("{error:#}"));
            }
        }
        for error in errors {
            if report.first_errors.len() < SHOWN {
                let minute = minutes.done() + 1;
                let told = format!("minute {minute}, {}, {step:?}: {error}", request.kind);
                progress(&told);
                report.first_errors.push(told);
            }
        }
        drop(tally);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push_back(conversation);
    }
}

/// Compares the end with the tenth minute, and says whether all holds.
fn judge(report: &mut Report) {
    let early = match report.minutes.len() {
        count @ ..20 => count.div_ceil(3),
        _ => 10,
    };
    report.rss_early_mb = early.checked_sub(1).and_then(|at| report.minutes.get(at)?.rss_mb);
    report.rss_end_mb = report.minutes.last().and_then(|minute| minute.rss_mb);
    report.rss_ratio =
        (report.rss_end_mb.zip(report.rss_early_mb)).map(|(end, early)| crate::report::rounded(end / early));
    let steady = matches!(report.descriptors_idle, [Some(before), Some(after)] if after <= before + 32);
    report.holds = report.failed == 0
        && report.replay_broken == 0
        && report.blocks > 0
        && steady
        && report.rss_ratio.is_some_and(|ratio| ratio <= 1.1);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(rss: &[f64], failed: u64) -> Report {
        let minute = |rss: &f64| Minute { rss_mb: Some(*rss), ..Minute::default() };
        let mut report = Report {
            failed,
            blocks: 1,
            descriptors_idle: [Some(20), Some(30)],
            minutes: rss.iter().map(minute).collect(),
            ..Report::default()
        };
        judge(&mut report);
        report
    }

    #[test]
    fn memory_is_compared_with_the_tenth_minute() {
        let mut rss = [100.0; 30];
        rss[29] = 109.0;
        assert!(report(&rss, 0).holds);
        rss[29] = 111.0;
        assert!(!report(&rss, 0).holds);
        assert_eq!(report(&[50.0, 100.0, 105.0], 0).rss_early_mb, Some(50.0));
    }

    #[test]
    fn one_failure_fails_the_soak() {
        assert!(!report(&[100.0; 30], 1).holds);
    }
}
