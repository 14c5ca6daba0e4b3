//! Soak test: mixed clients for half an hour, with a backend that fails at random.
//!
//! Requests start at a fixed rate, whether or not earlier ones are answered. Each belongs to a conversation: a question
//! about the repository, turns of tools, a retry, a side request, and then the next question. A header of some requests
//! makes the backend fail. All other requests must succeed, and each block of a conversation must be in each later request
//! of it, byte for byte.

mod backend;
mod client;
mod conversation;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Parser;
use parking_lot::Mutex;
use serde::Serialize;

use self::backend::{Backend, FAULTS};
use self::client::Client;
use self::conversation::{Conversation, Step};
use crate::gateway::{GatewayProcess, home, wait_until_indexed};
use crate::harness::stats::{millis, percentile, rounded};
use crate::harness::{corpus, our_repository, procfs, progress, progress_row};
use crate::load::format::Format;

/// Open files of client, backend and gateway together.
const FILES: u64 = 4_000;
/// From the last request until descriptors are counted: longer than the backend keeps an idle connection.
const SETTLING: Duration = Duration::from_secs(6);
const SHOWN: usize = 20;

/// Sends mixed requests at a fixed rate and checks the gateway's promises.
#[derive(Debug, Clone, Parser)]
#[command(name = "soak")]
pub(crate) struct Options {
    /// The length of the run.
    #[arg(long, default_value_t = 30.0)]
    minutes: f64,
    /// Requests per second, of which one in ten brings a new question.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    rate: u32,
    /// Percent of the requests that the backend fails.
    #[arg(long, default_value_t = 5.0)]
    faults: f64,
    /// Seed of what is drawn.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Times are milliseconds, memory is MB of 10^6 bytes.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Report {
    holds: bool,
    requests: u64,
    questions: u64,
    faults: u64,
    /// Faults that the client saw; the gateway retried the others.
    faults_seen: u64,
    failed: u64,
    blocks: u64,
    replay_broken: u64,
    first_errors: Vec<String>,
    rss_early_mb: Option<f64>,
    rss_end_mb: Option<f64>,
    rss_ratio: Option<f64>,
    descriptors_idle: [Option<usize>; 2],
    minutes: Vec<Minute>,
    load1: [Option<f64>; 2],
}

/// One minute. Latencies are from the time at which a request was due to the end of its answer, without requests that the
/// backend was told to fail.
#[derive(Debug, Clone, Default, Serialize)]
struct Minute {
    answered: usize,
    p50_ms: f64,
    p95_ms: f64,
    p99_ms: f64,
    question_p50_ms: f64,
    question_p99_ms: f64,
    /// At the minute's end.
    rss_mb: Option<f64>,
    descriptors: Option<usize>,
}

struct Shared {
    client: Client,
    backend: Backend,
    pub(crate) idle: Mutex<VecDeque<Conversation>>,
    tally: Mutex<Tally>,
}

/// The counts so far, with the latencies of the current minute.
#[derive(Default)]
struct Tally {
    report: Report,
    all: Vec<f64>,
    questions: Vec<f64>,
}

pub(crate) fn run(options: &Options) -> Result<Report> {
    procfs::allow_open_files(FILES)?;
    let home = home();
    // A clone of our repository, which nobody changes during the run.
    let root = home.path("repositories").join("repository");
    corpus::copy(&our_repository()?, &root, None)?;
    let backend = Backend::start();
    home.write_config(&configuration(&backend.url()));
    let gateway = GatewayProcess::start(home, &root);
    wait_until_indexed(&gateway);
    let shared =
        Shared { client: Client::new(gateway.address), backend, idle: Mutex::default(), tally: Mutex::default() };
    let descriptors = procfs::open_files(gateway.id());
    let load = procfs::load1();
    drive(options, &shared, &gateway, &root.to_string_lossy());
    let tally = shared.tally.into_inner();
    let mut report = tally.report;
    report.load1 = [load, procfs::load1()];
    report.descriptors_idle = [descriptors, procfs::open_files(gateway.id())];
    report.judge();
    if !report.holds {
        gateway.show_log();
    }
    Ok(report)
}

/// One backend for each format. Circuits stay closed, so that the backend's faults do not fail other requests.
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
            let fault = (random.f64() * 100.0 < options.faults).then(|| FAULTS[random.usize(..FAULTS.len())]);
            scope.spawn(move || shared.ask(conversation, step, fault, due));
            if (number + 1) % per_minute == 0 || number + 1 == total {
                shared.end_minute(gateway.id());
            }
        }
    });
    // The clients leave, and the backend closes idle connections, as servers do. The gateway's workers notice with the next
    // request of each.
    shared.client.leave();
    std::thread::sleep(SETTLING);
    for _ in 0..8 {
        let (conversation, step) = shared.next_step(&mut made, directory);
        shared.ask(conversation, step, None, Instant::now());
        shared.client.leave();
    }
}

impl Shared {
    /// The conversation that has waited for longest, and its next step; a new one if all others are busy or over.
    fn next_step(&self, made: &mut u64, directory: &str) -> (Conversation, Step) {
        loop {
            let waiting = self.idle.lock().pop_front();
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
    fn ask(&self, mut conversation: Conversation, step: Step, fault: Option<&str>, due: Instant) {
        let request = conversation.request(step);
        let answered = self.client.ask(&request, fault);
        let took = millis(due.elapsed());
        // A request that did not reach the backend breaks no replay.
        let arrived = self.backend.blocks_of(&request.id);
        let replay = arrived.map_or(Ok(0), |blocks| conversation.check(step, &blocks));
        let mut tally = self.tally.lock();
        let Tally { report, all, questions } = &mut *tally;
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
            (Ok(()), None) => {
                all.push(took);
                questions.extend((step == Step::Question).then_some(took));
            }
            (Ok(()), Some(_)) => {}
            (Err(_), Some(_)) => report.faults_seen += 1,
            (Err(error), None) => {
                report.failed += 1;
                errors.push(format!("{error:#}"));
            }
        }
        for error in errors {
            if report.first_errors.len() < SHOWN {
                let minute = report.minutes.len() + 1;
                let line = format!("minute {minute}, {}, {step:?}: {error}", request.kind);
                progress(&line);
                report.first_errors.push(line);
            }
        }
        drop(tally);
        self.idle.lock().push_back(conversation);
    }

    fn end_minute(&self, gateway: u32) {
        let mut tally = self.tally.lock();
        let (mut all, mut questions) = (std::mem::take(&mut tally.all), std::mem::take(&mut tally.questions));
        let at = |values: &mut [f64], q| percentile(values, q).map(rounded).unwrap_or_default();
        let minute = Minute {
            answered: all.len(),
            p50_ms: at(&mut all, 0.5),
            p95_ms: at(&mut all, 0.95),
            p99_ms: at(&mut all, 0.99),
            question_p50_ms: at(&mut questions, 0.5),
            question_p99_ms: at(&mut questions, 0.99),
            rss_mb: procfs::resident_mb(gateway),
            descriptors: procfs::open_files(gateway),
        };
        progress_row(&minute);
        let Report { failed, replay_broken, .. } = tally.report;
        progress(&format!("{failed} failed, {replay_broken} replays broken"));
        tally.report.minutes.push(minute);
    }
}

impl Report {
    /// Compares the end with the tenth minute, or with the first third of a shorter run.
    fn judge(&mut self) {
        let early = match self.minutes.len() {
            count @ ..20 => count.div_ceil(3),
            _ => 10,
        };
        self.rss_early_mb = early.checked_sub(1).and_then(|at| self.minutes.get(at)?.rss_mb);
        self.rss_end_mb = self.minutes.last().and_then(|minute| minute.rss_mb);
        self.rss_ratio = self.rss_end_mb.zip(self.rss_early_mb).map(|(end, early)| rounded(end / early));
        let steady = matches!(self.descriptors_idle, [Some(before), Some(after)] if after <= before + 32);
        self.holds = self.failed == 0
            && self.replay_broken == 0
            && self.blocks > 0
            && steady
            && self.rss_ratio.is_some_and(|ratio| ratio <= 1.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_compared_with_the_tenth_minute_and_one_failure_fails_the_soak() {
        let report = |rss: &[f64], failed| {
            let minutes = rss.iter().map(|rss| Minute { rss_mb: Some(*rss), ..Minute::default() }).collect();
            let descriptors_idle = [Some(20), Some(30)];
            let mut report = Report { failed, blocks: 1, descriptors_idle, minutes, ..Report::default() };
            report.judge();
            report
        };
        let mut rss = [100.0; 30];
        rss[29] = 109.0;
        assert!(report(&rss, 0).holds && !report(&rss, 1).holds);
        rss[29] = 111.0;
        assert!(!report(&rss, 0).holds);
        assert_eq!(report(&[50.0, 100.0, 105.0], 0).rss_early_mb, Some(50.0));
    }
}
