//! A thousand slow streams at once, half of them passed on and half converted.
//!
//! Each stream is one request whose answer takes a minute. Every word carries the moment at which
//! the mock sent it, so that what the gateway adds is known word by word. Some streams go to the mock
//! itself: what they add is what client and mock cost on this machine in the same minute.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Parser;
use serde::Serialize;

use crate::answer::Sample;
use crate::bodies::Body;
use crate::client::{Crew, Load};
use crate::command_line::progress;
use crate::format::Format;
use crate::gateway_process::GatewayProcess;
use crate::limits;
use crate::procfs::{self, CpuTimes};
use crate::report::rounded;
use crate::stand::{self};
use crate::stats::percentile;
use crate::upstream::Upstream;

/// Open files beside those of the streams.
const OTHER_FILES: u64 = 200;

/// Holds many slow streams open at once and measures what the gateway adds to each event.
///
/// Progress goes to stderr; the last line on stdout is one JSON object.
#[derive(Debug, Clone, Parser)]
#[command(name = "streams")]
pub struct Options {
    /// Concurrent streams through the gateway.
    #[arg(long, default_value_t = 1_000)]
    pub streams: usize,
    /// Streams beside them that go to the mock itself.
    #[arg(long, default_value_t = 50)]
    pub direct: usize,
    /// Milliseconds between events; an answer has about 65.
    #[arg(long, default_value_t = 1_000)]
    pub pace_ms: u64,
    /// The format that the gateway speaks to the mock. Half of the streams have it too.
    #[arg(long, value_enum, default_value_t = Format::Chat)]
    pub backend: Format,
    /// The formats of the other half, divided evenly; the backend's own is left out.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Format::ALL)]
    pub converted: Vec<Format>,
    /// Leaves out the streams that are converted, so that all have the backend's format.
    #[arg(long)]
    pub native_only: bool,
    /// Lets the gateway add context.
    #[arg(long)]
    pub context: bool,
    /// Request body in bytes.
    #[arg(long, default_value_t = 2_000)]
    pub body: usize,
}

/// The report, on the last line of stdout. Times are milliseconds, memory is MB of 10^6 bytes.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// Streams through the gateway.
    pub streams: usize,
    /// Milliseconds between events.
    pub pace_ms: u64,
    /// Whether the gateway could add context.
    pub context: bool,
    /// Seconds from the first request to the last answer's end.
    pub seconds: f64,
    /// Streams that failed, direct ones too.
    pub errors: usize,
    /// The first failures.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub first_errors: Vec<String>,
    /// All streams through the gateway.
    pub all: Times,
    /// Those that were passed on.
    pub native: Times,
    /// Those that were converted.
    pub converted: Times,
    /// Those that went to the mock itself.
    pub direct: Times,
    /// The gateway's resident memory before the first stream, the repository indexed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rss_idle_mb: Option<f64>,
    /// The highest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rss_peak_mb: Option<f64>,
    /// The gateway's share of one core while streams were open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_cores: Option<f64>,
    /// The soft limit on open files of client, mock and gateway.
    pub open_files_limit: u64,
    /// The machine's load average over a minute, at the start and at the end.
    pub load1: [Option<f64>; 2],
}

/// The times of some of the streams, over all their words.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Times {
    /// Whole answers.
    pub streams: u64,
    /// Words timed.
    pub words: usize,
    /// The time between two words at the client, less that at the mock, median.
    pub added_gap_p50_ms: f64,
    /// The same, 99th percentile.
    pub added_gap_p99_ms: f64,
    /// The same, the highest.
    pub added_gap_max_ms: f64,
    /// Time of a word from the mock to the client, median.
    pub delay_p50_ms: f64,
    /// The same, 99th percentile.
    pub delay_p99_ms: f64,
    /// The same, the highest.
    pub delay_max_ms: f64,
    /// Time from the request to the first byte of the answer's body, median.
    pub first_p50_ms: f64,
    /// The same, 99th percentile.
    pub first_p99_ms: f64,
}

/// Runs the whole benchmark and returns what it is to print.
///
/// # Errors
/// When anything could not be started, or a connection failed before its stream began.
pub fn run(options: &Options) -> Result<Report> {
    // Both ends of the mock's connections are in this process, or one end of each of the gateway's two.
    let needed = 2 * (options.streams + options.direct) as u64 + OTHER_FILES;
    let open_files_limit = limits::allow_open_files(needed)?;
    let upstream = stand::upstream(0)?;
    let root = stand::repository()?;
    let runtime = stand::runtime()?;
    let gateway = GatewayProcess::indexed(&root, &upstream, options.backend);
    let mut report = Report {
        streams: options.streams,
        pace_ms: options.pace_ms,
        context: options.context,
        rss_idle_mb: procfs::resident_mb(gateway.id()).map(rounded),
        open_files_limit,
        load1: [procfs::load1(), None],
        ..Report::default()
    };
    runtime.block_on(hold(options, &upstream, &gateway, &root, &mut report)).inspect_err(|_| gateway.show_log())?;
    report.rss_peak_mb = procfs::peak_mb(gateway.id()).map(rounded);
    report.load1[1] = procfs::load1();
    Ok(report)
}

/// The streams of a crew.
#[derive(Debug, Clone, Copy)]
struct Part {
    format: Format,
    count: usize,
    direct: bool,
}

/// The crews: half native, the rest in the two other formats, and the direct ones.
fn parts(options: &Options) -> Vec<Part> {
    let part = |format, count, direct| Part { format, count, direct };
    let mut others = options.converted.clone();
    others.retain(|one| *one != options.backend && !options.native_only);
    let mut converted = if others.is_empty() { 0 } else { options.streams / 2 };
    let mut parts = vec![part(options.backend, options.streams - converted, false)];
    for (index, &format) in others.iter().enumerate() {
        let share = converted.div_ceil(others.len() - index);
        parts.push(part(format, share, false));
        converted -= share;
    }
    parts.push(part(options.backend, options.direct, true));
    parts.retain(|one| one.count > 0);
    parts
}

async fn hold(
    options: &Options,
    upstream: &Upstream,
    gateway: &GatewayProcess,
    root: &Path,
    report: &mut Report,
) -> Result<()> {
    let next_question = Arc::new(AtomicU64::new(0));
    let mut crews = Vec::new();
    for part in parts(options) {
        let load = Load {
            format: part.format,
            clients: part.count,
            pace_ms: options.pace_ms,
            context: options.context,
            body: Arc::new(Body::of_agent(part.format, options.body, &root.to_string_lossy())),
            next_question: Arc::clone(&next_question),
        };
        let target: SocketAddr = if part.direct { upstream.address() } else { gateway.address };
        crews.push((part, Crew::assemble(target, &load).await?));
        progress(&format!("{} connections in {}, direct: {}", part.count, part.format, part.direct));
    }
    let spread = Duration::from_millis(options.pace_ms);
    let cpu = CpuTimes::of(gateway.id());
    let start = Instant::now();
    let mut tasks = Vec::new();
    for (part, crew) in crews {
        tasks.push((part, tokio::spawn(crew.run_once(spread))));
    }
    let mut held = Held::default();
    for (part, task) in tasks {
        let (sample, failures) = task.await??;
        progress(&format!(
            "{}, direct: {}: {} whole, {} failed",
            part.format,
            part.direct,
            sample.requests,
            failures.len()
        ));
        held.add(part, options.backend, sample, failures);
    }
    report.seconds = rounded(start.elapsed().as_secs_f64());
    let used = cpu.zip(CpuTimes::of(gateway.id())).map(|(before, after)| after.since(&before));
    report.cpu_cores = used.map(|ns| rounded(ns as f64 / 1e9 / report.seconds));
    held.into_report(report);
    Ok(())
}

/// The results of the crews, by kind.
#[derive(Debug, Default)]
struct Held {
    native: Sample,
    converted: Sample,
    direct: Sample,
    failures: Vec<anyhow::Error>,
}

impl Held {
    fn add(&mut self, part: Part, backend: Format, sample: Sample, failures: Vec<anyhow::Error>) {
        let kind = match part {
            Part { direct: true, .. } => &mut self.direct,
            Part { format, .. } if format == backend => &mut self.native,
            Part { .. } => &mut self.converted,
        };
        kind.merge(sample);
        self.failures.extend(failures);
    }

    fn into_report(mut self, report: &mut Report) {
        report.errors = self.failures.len();
        report.first_errors = self.failures.iter().take(3).map(|error| format!("{error:#}")).collect();
        report.native = Times::of(&mut self.native);
        report.converted = Times::of(&mut self.converted);
        report.direct = Times::of(&mut self.direct);
        let mut all = self.native;
        all.merge(self.converted);
        report.all = Times::of(&mut all);
    }
}

impl Times {
    fn of(sample: &mut Sample) -> Self {
        let at = |values: &mut Vec<f64>, q| percentile(values, q).map(rounded).unwrap_or_default();
        let (gaps, delays, firsts) = (&mut sample.added_gaps_ms, &mut sample.delays_ms, &mut sample.firsts_ms);
        Self {
            streams: sample.requests,
            words: delays.len(),
            added_gap_p50_ms: at(gaps, 0.5),
            added_gap_p99_ms: at(gaps, 0.99),
            added_gap_max_ms: at(gaps, 1.0),
            delay_p50_ms: at(delays, 0.5),
            delay_p99_ms: at(delays, 0.99),
            delay_max_ms: at(delays, 1.0),
            first_p50_ms: at(firsts, 0.5),
            first_p99_ms: at(firsts, 0.99),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(args: &[&str]) -> Vec<(Format, usize, bool)> {
        let options = Options::try_parse_from(std::iter::once(&"streams").chain(args)).unwrap();
        parts(&options).into_iter().map(|one| (one.format, one.count, one.direct)).collect()
    }

    #[test]
    fn half_of_the_streams_are_converted() {
        use Format::{Chat, Messages, Responses};
        let whole = [(Chat, 500, false), (Messages, 250, false), (Responses, 250, false), (Chat, 50, true)];
        assert_eq!(counts(&[]), whole);
        let odd = [(Messages, 4, false), (Chat, 2, false), (Responses, 1, false)];
        assert_eq!(counts(&["--streams", "7", "--direct", "0", "--backend", "messages"]), odd);
        let one_kind = [(Chat, 4, false), (Responses, 3, false)];
        assert_eq!(counts(&["--streams", "7", "--direct", "0", "--converted", "responses"]), one_kind);
        let native = [(Chat, 7, false)];
        assert_eq!(counts(&["--streams", "7", "--direct", "0", "--native-only"]), native);
    }

    #[test]
    fn kinds_are_separated_and_failures_counted() {
        let sample = |delay| Sample { delays_ms: vec![delay], requests: 1, ..Sample::default() };
        let part = |format, direct| Part { format, count: 1, direct };
        let mut held = Held::default();
        let failure = anyhow::anyhow!("the pace is lost");
        held.add(part(Format::Chat, false), Format::Chat, sample(1.0), vec![]);
        held.add(part(Format::Messages, false), Format::Chat, sample(3.0), vec![failure]);
        held.add(part(Format::Chat, true), Format::Chat, sample(0.5), vec![]);
        let mut report = Report::default();
        held.into_report(&mut report);
        assert_eq!(report.native.delay_max_ms, 1.0);
        assert_eq!(report.converted.delay_max_ms, 3.0);
        assert_eq!(report.direct.delay_max_ms, 0.5);
        assert_eq!((report.all.words, report.all.delay_max_ms), (2, 3.0));
        assert_eq!((report.errors, report.first_errors.len()), (1, 1));
    }
}
