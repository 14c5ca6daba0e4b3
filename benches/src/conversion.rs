//! The cost of converting a stream, against passing it on.
//!
//! There is a gateway for each format, which speaks only that one to the mock. A client of another format makes it convert;
//! the same client at the gateway of its own format gets its bytes passed on. Both are measured in the same rounds, so that
//! what differs is the conversion, and the answer that the mock gives: its text is the same in all formats, its events are
//! each format's own.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use clap::Parser;
use serde::Serialize;

use crate::gateway::{GatewayProcess, runtime};
use crate::harness::stats::rounded;
use crate::harness::{our_repository, procfs, progress, progress_row};
use crate::load::client::Requests;
use crate::load::format::Format;
use crate::load::measure::{Effort, Figures, Target, measure_rounds};
use crate::load::mock::Mock;
use crate::overhead::seconds;

/// Measures streams that the gateway converts beside streams that it passes on.
#[derive(Debug, Clone, Parser)]
#[command(name = "conversion")]
pub(crate) struct Options {
    /// Seconds of each measurement: every target of every cell is measured once per round.
    #[arg(long, default_value = "1.0", value_parser = seconds)]
    seconds: Duration,
    /// Rounds over the targets of a cell; reported are medians over rounds.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// One short round: to see that all is well, not to be quoted.
    #[arg(long)]
    quick: bool,
    /// Body sizes in bytes.
    #[arg(long, value_delimiter = ',', default_values_t = [2_000, 100_000])]
    bodies: Vec<usize>,
    /// Formats of clients.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Format::ALL)]
    clients: Vec<Format>,
    /// Formats of backends.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Format::ALL)]
    backends: Vec<Format>,
}

/// Times are milliseconds, memory is MB of 10^6 bytes.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Report {
    pairs: Vec<Pair>,
    /// The highest of the pairs' additions and the lowest of their shares.
    #[serde(skip_serializing_if = "Option::is_none")]
    worst: Option<Cost>,
    rss_peak_mb: BTreeMap<&'static str, Option<f64>>,
    load1: [Option<f64>; 2],
}

#[derive(Debug, Clone, Copy, Serialize)]
struct Cost {
    added_first_p50_ms: f64,
    added_gap_p50_ms: f64,
    added_delay_p50_ms: f64,
    rps_ratio: f64,
    added_cpu_us: f64,
}

#[derive(Debug, Clone, Serialize)]
struct Pair {
    client: &'static str,
    backend: &'static str,
    body: usize,
    #[serde(flatten)]
    cost: Cost,
    /// Passed on, by the gateway of the client's own format.
    same: Shapes,
    converted: Shapes,
}

/// The figures of one target under three loads, each of which is best for one figure.
#[derive(Debug, Clone, Default, Serialize)]
struct Shapes {
    /// One client, unpaced: the time to the first byte without a queue.
    first: Figures,
    /// Four clients, 5 ms between events: the time between events.
    gap: Figures,
    /// 32 clients, unpaced, which keep both cores busy: requests per second.
    throughput: Figures,
}

pub(crate) fn run(options: &Options) -> Result<Report> {
    let mock = Mock::start(0)?;
    let root = our_repository()?;
    let runtime = runtime()?;
    let mut gateways = BTreeMap::new();
    for &format in options.clients.iter().chain(&options.backends) {
        gateways.entry(format).or_insert_with(|| GatewayProcess::indexed(&root, &mock, format));
    }
    let bench = Bench { options, mock: &mock, gateways, requests: Requests::about(&root) };
    let mut report = Report { load1: [procfs::load1(), None], ..Report::default() };
    report.pairs = runtime.block_on(bench.measure_all()).inspect_err(|_| bench.show_logs())?;
    report.worst = report.pairs.iter().map(|pair| pair.cost).reduce(Cost::worse);
    for (format, gateway) in &bench.gateways {
        report.rss_peak_mb.insert(format.name(), procfs::peak_mb(gateway.id()));
    }
    report.load1[1] = procfs::load1();
    Ok(report)
}

struct Bench<'a> {
    options: &'a Options,
    mock: &'a Mock,
    gateways: BTreeMap<Format, GatewayProcess>,
    requests: Requests,
}

impl Bench<'_> {
    fn show_logs(&self) {
        for (format, gateway) in &self.gateways {
            progress(&format!("the gateway that speaks {format}:"));
            gateway.show_log();
        }
    }

    async fn measure_all(&self) -> Result<Vec<Pair>> {
        let mut pairs = Vec::new();
        for &client in &self.options.clients {
            for &body in &self.options.bodies {
                for pair in self.measure(client, body).await? {
                    progress_row(&pair);
                    pairs.push(pair);
                }
            }
        }
        Ok(pairs)
    }

    /// One client's format and body against the backends of all other formats, in the same rounds.
    async fn measure(&self, client: Format, body: usize) -> Result<Vec<Pair>> {
        let others = self.options.backends.iter().copied().filter(|backend| *backend != client);
        let backends: Vec<Format> = std::iter::once(client).chain(others).collect();
        let targets: Vec<Target> = backends
            .iter()
            .filter_map(|backend| {
                let gateway = self.gateways.get(backend)?;
                Some(Target { address: gateway.address, pid: Some(gateway.id()), upstream: *backend })
            })
            .collect();
        let effort = Effort::new(self.options.quick, self.options.seconds, self.options.rounds);
        let mut loads = Vec::new();
        for (clients, pace_ms) in [(1, 0), (4, 5), (32, 0)] {
            let load = self.requests.load(client, body, clients, pace_ms, false);
            let rounds = measure_rounds(&self.mock.seen, &targets, &load, effort).await?;
            loads.push(rounds.iter().map(|rounds| Figures::medians(rounds)).collect::<Vec<_>>());
        }
        let shapes = |target: usize| {
            let [first, gap, throughput] = [0, 1, 2].map(|load| loads[load][target].clone());
            Shapes { first, gap, throughput }
        };
        let same = shapes(0);
        let pair = |(target, backend): (usize, &Format)| {
            let converted = shapes(target);
            Pair {
                client: client.name(),
                backend: backend.name(),
                body,
                cost: Cost::of(&same, &converted),
                same: same.clone(),
                converted,
            }
        };
        Ok(backends.iter().enumerate().skip(1).map(pair).collect())
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_is_the_difference_and_worst_takes_each_maximum() {
        let shapes = |first_p50_ms, gap_p50_ms, delay, rps| Shapes {
            first: Figures { first_p50_ms, ..Figures::default() },
            gap: Figures { gap_p50_ms, delay_p50_ms: Some(delay), ..Figures::default() },
            throughput: Figures { rps, ..Figures::default() },
        };
        let same = shapes(1.0, 5.0, 0.2, 1000.0);
        let slow_first = Cost::of(&same, &shapes(1.5, 5.0, 0.3, 900.0));
        let worst = slow_first.worse(Cost::of(&same, &shapes(1.25, 5.5, 0.2, 500.0)));
        let figures = [worst.added_first_p50_ms, worst.added_gap_p50_ms, worst.added_delay_p50_ms, worst.rps_ratio];
        assert_eq!(figures, [0.5, 0.5, 0.1, 0.5]);
    }
}
