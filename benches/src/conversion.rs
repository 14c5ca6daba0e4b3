//! The cost of converting a stream, against passing it on.
//!
//! There is a gateway for each format, which speaks only that one to the mock. A client of another
//! format makes it convert; the same client at the gateway of its own format gets its bytes passed
//! on. Both are measured in the same rounds, so that what differs is the conversion, and the answer
//! that the mock gives: its text is the same in all formats, its events are each format's own.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use anyhow::Result;
use clap::Parser;
use serde::Serialize;

use crate::bodies::Body;
use crate::client::Load;
use crate::command_line::progress;
use crate::format::Format;
use crate::gateway_process::GatewayProcess;
use crate::measure::{Measured, Target, measure_rounds};
use crate::options::seconds;
use crate::procfs;
use crate::report::{Figures, rounded};
use crate::stand::{self};
use crate::upstream::Upstream;

/// Length of one measurement of a quick run.
const QUICK_TIME: Duration = Duration::from_millis(300);

/// Measures streams that the gateway converts beside streams that it passes on.
///
/// Progress goes to stderr; the last line on stdout is one JSON object.
#[derive(Debug, Clone, Parser)]
#[command(name = "conversion")]
pub struct Options {
    /// Seconds of each measurement: every target of every cell is measured once per round.
    #[arg(long, default_value = "1.0", value_parser = seconds)]
    pub seconds: Duration,
    /// Rounds over the targets of a cell; reported are medians over rounds.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
    /// One short round: to see that all is well, not to be quoted.
    #[arg(long)]
    pub quick: bool,
    /// Body sizes in bytes.
    #[arg(long, value_delimiter = ',', default_values_t = [2_000, 100_000])]
    pub bodies: Vec<usize>,
    /// Formats of clients.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Format::ALL)]
    pub clients: Vec<Format>,
    /// Formats of backends.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Format::ALL)]
    pub backends: Vec<Format>,
}

/// The load of a pair of formats; each is best for one figure.
#[derive(Debug, Clone, Copy)]
struct Shape {
    clients: usize,
    pace_ms: u64,
}

/// One client, all at once: the time to the first byte without a queue.
const FIRST: Shape = Shape { clients: 1, pace_ms: 0 };
/// Few clients, 5 ms between events: the time between events.
const GAP: Shape = Shape { clients: 4, pace_ms: 5 };
/// As many clients as keep both cores busy: requests per second.
const THROUGHPUT: Shape = Shape { clients: 32, pace_ms: 0 };

/// The report, on the last line of stdout. Times are milliseconds, memory is MB of 10^6 bytes.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// Each client's format, backend's format and body size.
    pub pairs: Vec<Pair>,
    /// The highest of the pairs' additions and the lowest of their shares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worst: Option<Cost>,
    /// Highest resident memory of each gateway, by the format that it speaks.
    pub rss_peak_mb: BTreeMap<&'static str, Option<f64>>,
    /// The machine's load average over a minute, at the start and at the end.
    pub load1: [Option<f64>; 2],
}

/// The cost of a conversion.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Cost {
    /// Added to the median time to the first byte; one client, unpaced.
    pub added_first_p50_ms: f64,
    /// Added to the median time between events; four clients, 5 ms between events.
    pub added_gap_p50_ms: f64,
    /// Added to the median time that a word takes from the mock to the client, in the same streams.
    pub added_delay_p50_ms: f64,
    /// Requests per second as a share of those in the same format; 32 clients, unpaced.
    pub rps_ratio: f64,
    /// Added to the CPU time of the gateway per request, in microseconds, in the same requests.
    pub added_cpu_us: f64,
}

/// A client's format against a backend's.
#[derive(Debug, Clone, Serialize)]
pub struct Pair {
    /// The client's format.
    pub client: &'static str,
    /// The format between gateway and mock.
    pub backend: &'static str,
    /// Request body in bytes.
    pub body: usize,
    /// Converted against passed on.
    #[serde(flatten)]
    pub cost: Cost,
    /// Passed on, by the gateway of the client's own format.
    pub same: Shapes,
    /// Converted.
    pub converted: Shapes,
}

/// The figures of one target under each load.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Shapes {
    /// One client, unpaced.
    pub first: Figures,
    /// Four clients, 5 ms between events.
    pub gap: Figures,
    /// 32 clients, unpaced.
    pub throughput: Figures,
}

/// Selects the figures of a shape.
type Place = fn(&mut Shapes) -> &mut Figures;

/// Runs the whole benchmark and returns what it is to print.
///
/// # Errors
/// When anything could not be started, or any request failed.
pub fn run(options: &Options) -> Result<Report> {
    let upstream = stand::upstream(0)?;
    let root = stand::repository()?;
    let runtime = stand::runtime()?;
    let bench = Bench::start(options, &upstream, &root);

    let mut report = Report::default();
    report.load1[0] = procfs::load1();
    report.pairs = runtime.block_on(bench.measure_all(options)).inspect_err(|_| bench.show_logs())?;
    report.worst = report.pairs.iter().map(|pair| pair.cost).reduce(Cost::worse);
    for (format, gateway) in &bench.gateways {
        let peak = procfs::peak_mb(gateway.id()).map(rounded);
        report.rss_peak_mb.insert(format.name(), peak);
    }
    report.load1[1] = procfs::load1();
    Ok(report)
}

struct Bench<'a> {
    upstream: &'a Upstream,
    gateways: BTreeMap<Format, GatewayProcess>,
    time: Duration,
    rounds: u32,
    directory: String,
    next_question: Arc<AtomicU64>,
}

impl<'a> Bench<'a> {
    fn start(options: &Options, upstream: &'a Upstream, root: &Path) -> Self {
        let mut gateways = BTreeMap::new();
        for &format in options.clients.iter().chain(&options.backends) {
            if let Entry::Vacant(place) = gateways.entry(format) {
                place.insert(GatewayProcess::indexed(root, upstream, format));
            }
        }
        Self {
            upstream,
            gateways,
            time: if options.quick { QUICK_TIME } else { options.seconds },
            rounds: if options.quick { 1 } else { options.rounds },
            directory: root.to_string_lossy().into_owned(),
            next_question: Arc::new(AtomicU64::new(0)),
        }
    }

    fn show_logs(&self) {
        for (format, gateway) in &self.gateways {
            progress(&format!("the gateway that speaks {format}:"));
            gateway.show_log();
        }
    }

    async fn measure_all(&self, options: &Options) -> Result<Vec<Pair>> {
        let mut pairs = Vec::new();
        for &client in &options.clients {
            let others: Vec<Format> = options.backends.iter().copied().filter(|one| *one != client).collect();
            for &body in &options.bodies {
                for pair in self.measure(client, &others, body).await? {
                    progress(&pair.line());
                    pairs.push(pair);
                }
            }
        }
        Ok(pairs)
    }

    /// One client's format and body against the backends of all other formats, in the same rounds.
    async fn measure(&self, client: Format, others: &[Format], body: usize) -> Result<Vec<Pair>> {
        let content = Arc::new(Body::of_agent(client, body, &self.directory));
        let targets = self.targets(client, others);
        let mut shapes: Vec<Shapes> = targets.iter().map(|_| Shapes::default()).collect();
        let places: [(Shape, Place); 3] = [
            (FIRST, |shapes| &mut shapes.first),
            (GAP, |shapes| &mut shapes.gap),
            (THROUGHPUT, |shapes| &mut shapes.throughput),
        ];
        for (shape, place) in places {
            let load = Load {
                format: client,
                clients: shape.clients,
                pace_ms: shape.pace_ms,
                context: false,
                body: Arc::clone(&content),
                next_question: Arc::clone(&self.next_question),
            };
            let rounds = measure_rounds(self.upstream.seen(), &targets, &load, self.time, self.rounds).await?;
            for (target, shapes) in rounds.iter().zip(&mut shapes) {
                *place(shapes) = medians(target);
            }
        }
        let mut shapes = shapes.into_iter();
        let same = shapes.next().unwrap_or_default();
        let pair = |(backend, converted): (&Format, Shapes)| Pair {
            client: client.name(),
            backend: backend.name(),
            body,
            cost: Cost::of(&same, &converted),
            same: same.clone(),
            converted,
        };
        Ok(others.iter().zip(shapes).map(pair).collect())
    }

    /// The gateway of the client's own format, then those of the others.
    fn targets(&self, client: Format, others: &[Format]) -> Vec<Target> {
        let target = |format: &Format| {
            self.gateways.get(format).map(|gateway| Target {
                address: gateway.address,
                pid: Some(gateway.id()),
                upstream: *format,
            })
        };
        std::iter::once(&client).chain(others).filter_map(target).collect()
    }
}

fn medians(rounds: &[Measured]) -> Figures {
    Figures::medians(rounds.iter().map(|one| &one.figures))
}

impl Cost {
    fn of(same: &Shapes, converted: &Shapes) -> Self {
        let delay = |shapes: &Shapes| shapes.gap.delay_p50_ms.unwrap_or_default();
        let cpu = |shapes: &Shapes| shapes.throughput.cpu_us_per_request.unwrap_or_default();
        Self {
            added_first_p50_ms: rounded(converted.first.first_p50_ms - same.first.first_p50_ms),
            added_gap_p50_ms: rounded(converted.gap.gap_p50_ms - same.gap.gap_p50_ms),
            added_delay_p50_ms: rounded(delay(converted) - delay(same)),
            rps_ratio: rounded(converted.throughput.rps / same.throughput.rps),
            added_cpu_us: rounded(cpu(converted) - cpu(same)),
        }
    }

    /// The worse of both in each figure.
    fn worse(self, other: Self) -> Self {
        Self {
            added_first_p50_ms: self.added_first_p50_ms.max(other.added_first_p50_ms),
            added_gap_p50_ms: self.added_gap_p50_ms.max(other.added_gap_p50_ms),
            added_delay_p50_ms: self.added_delay_p50_ms.max(other.added_delay_p50_ms),
            rps_ratio: self.rps_ratio.min(other.rps_ratio),
            added_cpu_us: self.added_cpu_us.max(other.added_cpu_us),
        }
    }
}

impl Pair {
    /// The pair's figures for human eyes.
    fn line(&self) -> String {
        let cost = &self.cost;
        format!(
            "{:>9} -> {:<9} {:>6} | first {:+.3} ms  gap {:+.3} ms  delay {:+.3} ms  req/s {:.1} of {:.1} ({:.0}%)  cpu {:+.0} us",
            self.client,
            self.backend,
            self.body,
            cost.added_first_p50_ms,
            cost.added_gap_p50_ms,
            cost.added_delay_p50_ms,
            self.converted.throughput.rps,
            self.same.throughput.rps,
            cost.rps_ratio * 100.0,
            cost.added_cpu_us,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes(first: f64, gap: f64, delay: f64, rps: f64) -> Shapes {
        Shapes {
            first: Figures { first_p50_ms: first, ..Figures::default() },
            gap: Figures { gap_p50_ms: gap, delay_p50_ms: Some(delay), ..Figures::default() },
            throughput: Figures { rps, ..Figures::default() },
        }
    }

    #[test]
    fn cost_is_the_difference_and_worst_takes_each_maximum() {
        let same = shapes(1.0, 5.0, 0.2, 1000.0);
        let slow_first = Cost::of(&same, &shapes(1.5, 5.0, 0.3, 900.0));
        let slow_after = Cost::of(&same, &shapes(1.25, 5.5, 0.2, 500.0));
        let worst = slow_first.worse(slow_after);
        assert_eq!(worst.added_first_p50_ms, 0.5);
        assert_eq!(worst.added_gap_p50_ms, 0.5);
        assert_eq!(worst.added_delay_p50_ms, 0.1);
        assert_eq!(worst.rps_ratio, 0.5);
    }

    #[test]
    fn format_pairs_can_be_selected() {
        let options = Options::try_parse_from(["conversion", "--clients", "messages", "--backends", "chat,responses"]);
        let options = options.unwrap();
        assert_eq!(options.clients, [Format::Messages]);
        assert_eq!(options.backends, [Format::Chat, Format::Responses]);
    }
}
