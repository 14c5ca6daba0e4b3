//! A thousand slow streams at once, half of them passed on and half converted.
//!
//! Each stream is one request whose answer takes a minute. Every word carries the moment at which the mock sent it, so that
//! what the gateway adds is known word by word. Some streams go to the mock itself: what they add is what client and mock
//! cost on this machine in the same minute.

use std::time::{Duration, Instant};

use anyhow::{Error, Result};
use clap::Parser;
use serde::Serialize;

use crate::gateway::{GatewayProcess, runtime};
use crate::harness::procfs::{self, CpuTimes};
use crate::harness::stats::{percentile, rounded};
use crate::harness::{our_repository, progress};
use crate::load::answer::Sample;
use crate::load::client::{Crew, Requests, Until};
use crate::load::format::Format;
use crate::load::mock::Mock;

/// Open files beside those of the streams.
const OTHER_FILES: u64 = 200;

/// Holds many slow streams open at once and measures what the gateway adds to each event.
#[derive(Debug, Clone, Parser)]
#[command(name = "streams")]
pub(crate) struct Options {
    /// Concurrent streams through the gateway.
    #[arg(long, default_value_t = 1_000)]
    streams: usize,
    /// Streams beside them that go to the mock itself.
    #[arg(long, default_value_t = 50)]
    direct: usize,
    /// Milliseconds between events; an answer has about 65.
    #[arg(long, default_value_t = 1_000)]
    pace_ms: u64,
    /// The format that the gateway speaks to the mock. Half of the streams have it too.
    #[arg(long, value_enum, default_value_t = Format::Chat)]
    backend: Format,
    /// The formats of the other half, divided evenly; the backend's own is left out.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Format::ALL)]
    converted: Vec<Format>,
    /// Leaves out the streams that are converted, so that all have the backend's format.
    #[arg(long)]
    native_only: bool,
    /// Lets the gateway add context.
    #[arg(long)]
    context: bool,
    /// Request body in bytes.
    #[arg(long, default_value_t = 2_000)]
    body: usize,
}

/// Times are milliseconds, memory is MB of 10^6 bytes.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Report {
    streams: usize,
    pace_ms: u64,
    context: bool,
    /// From the first request to the last answer's end.
    seconds: f64,
    /// Failed streams, direct ones too.
    errors: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    first_errors: Vec<String>,
    all: Times,
    native: Times,
    converted: Times,
    direct: Times,
    #[serde(skip_serializing_if = "Option::is_none")]
    rss_idle_mb: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rss_peak_mb: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_cores: Option<f64>,
    open_files_limit: u64,
    load1: [Option<f64>; 2],
}

/// The times of some of the streams, over all their words.
#[derive(Debug, Clone, Copy, Default, Serialize)]
struct Times {
    streams: u64,
    words: usize,
    added_gap_p50_ms: f64,
    added_gap_p99_ms: f64,
    added_gap_max_ms: f64,
    delay_p50_ms: f64,
    delay_p99_ms: f64,
    delay_max_ms: f64,
    first_p50_ms: f64,
    first_p99_ms: f64,
}

pub(crate) fn run(options: &Options) -> Result<Report> {
    // Both ends of the mock's connections are in this process, or one end of each of the gateway's two.
    let needed = 2 * (options.streams + options.direct) as u64 + OTHER_FILES;
    let open_files_limit = procfs::allow_open_files(needed)?;
    let mock = Mock::start(0)?;
    let root = our_repository()?;
    let gateway = GatewayProcess::indexed(&root, &mock, options.backend);
    let mut report = Report {
        streams: options.streams,
        pace_ms: options.pace_ms,
        context: options.context,
        rss_idle_mb: procfs::resident_mb(gateway.id()),
        open_files_limit,
        load1: [procfs::load1(), None],
        ..Report::default()
    };
    let held = hold(options, &mock, &gateway, Requests::about(&root), &mut report);
    runtime()?.block_on(held).inspect_err(|_| gateway.show_log())?;
    report.rss_peak_mb = procfs::peak_mb(gateway.id());
    report.load1[1] = procfs::load1();
    Ok(report)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Native,
    Converted,
    Direct,
}

/// The streams of a crew.
type Part = (Kind, Format, usize);

/// The crews: half native, the rest in the two other formats, and the direct ones.
fn parts(options: &Options) -> Vec<Part> {
    let mut others = options.converted.clone();
    others.retain(|one| *one != options.backend && !options.native_only);
    let mut converted = if others.is_empty() { 0 } else { options.streams / 2 };
    let mut parts = vec![(Kind::Native, options.backend, options.streams - converted)];
    for (index, &format) in others.iter().enumerate() {
        let share = converted.div_ceil(others.len() - index);
        parts.push((Kind::Converted, format, share));
        converted -= share;
    }
    parts.push((Kind::Direct, options.backend, options.direct));
    parts.retain(|(_, _, count)| *count > 0);
    parts
}

async fn hold(
    options: &Options,
    mock: &Mock,
    gateway: &GatewayProcess,
    requests: Requests,
    report: &mut Report,
) -> Result<()> {
    let mut crews = Vec::new();
    for (kind, format, clients) in parts(options) {
        let load = requests.load(format, options.body, clients, options.pace_ms, options.context);
        let target = if kind == Kind::Direct { mock.address } else { gateway.address };
        let crew = Crew::assemble(target, &load).await?;
        crews.push((kind, format, crew.spread_over(Duration::from_millis(options.pace_ms))));
        progress(&format!("{clients} connections, {kind:?}, {format}"));
    }
    let cpu = CpuTimes::of(gateway.id());
    let start = Instant::now();
    let tasks = crews.into_iter();
    let tasks = tasks.map(|(kind, format, crew)| (kind, format, tokio::spawn(crew.run_on(Until::Requests(1)))));
    let mut held = Vec::new();
    for (kind, format, task) in tasks.collect::<Vec<_>>() {
        let (_, sample, failures) = task.await??;
        progress(&format!("{kind:?}, {format}: {} whole, {} failed", sample.requests, failures.len()));
        held.push((kind, sample, failures));
    }
    report.seconds = rounded(start.elapsed().as_secs_f64());
    let used = cpu.zip(CpuTimes::of(gateway.id())).map(|(before, after)| after.since(&before));
    report.cpu_cores = used.map(|ns| rounded(ns as f64 / 1e9 / report.seconds));
    report.add(held);
    Ok(())
}

impl Report {
    fn add(&mut self, held: Vec<(Kind, Sample, Vec<Error>)>) {
        let times = |kinds: &[Kind]| {
            let mut all = Sample::default();
            held.iter().filter(|(kind, ..)| kinds.contains(kind)).for_each(|(_, sample, _)| all.merge(sample.clone()));
            Times::of(&mut all)
        };
        self.all = times(&[Kind::Native, Kind::Converted]);
        self.native = times(&[Kind::Native]);
        self.converted = times(&[Kind::Converted]);
        self.direct = times(&[Kind::Direct]);
        let failures: Vec<&Error> = held.iter().flat_map(|(_, _, failures)| failures).collect();
        self.errors = failures.len();
        self.first_errors = failures.iter().take(3).map(|error| format!("{error:#}")).collect();
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

    #[test]
    fn half_of_the_streams_are_converted() {
        use Format::{Chat, Messages, Responses};
        use Kind::{Converted, Direct, Native};
        let parts = |args: &[&str]| parts(&Options::try_parse_from([&["streams"], args].concat()).unwrap());
        let all = [(Native, Chat, 500), (Converted, Messages, 250), (Converted, Responses, 250), (Direct, Chat, 50)];
        assert_eq!(parts(&[]), all);
        let odd = [(Native, Messages, 4), (Converted, Chat, 2), (Converted, Responses, 1)];
        assert_eq!(parts(&["--streams", "7", "--direct", "0", "--backend", "messages"]), odd);
        assert_eq!(parts(&["--streams", "7", "--direct", "0", "--native-only"]), [(Native, Chat, 7)]);
    }
}
