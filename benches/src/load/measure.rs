//! Measuring targets in turn.
//!
//! In each round every target is measured in turn, and figures are medians over rounds: a machine that slows down for a
//! while then slows down all targets, not one.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde::Serialize;

use super::answer::Sample;
use super::client::{Crew, Load, Until};
use super::format::Format;
use super::mock::Seen;
use crate::harness::procfs::CpuTimes;
use crate::harness::stats::{median, percentile, rounded};

/// The length and the number of measurements; a quick run has one short round.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    time: Duration,
    rounds: u32,
}

impl Effort {
    pub(crate) fn new(quick: bool, time: Duration, rounds: u32) -> Self {
        if quick { Self { time: Duration::from_millis(300), rounds: 1 } } else { Self { time, rounds } }
    }
}

/// The target of requests: the mock itself, or a gateway.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    /// The gateway's process, if it is ours.
    pub(crate) pid: Option<u32>,
    /// The format that must reach the mock.
    pub(crate) upstream: Format,
}

#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) figures: Figures,
    /// By how much bodies were longer at the mock, on average.
    pub(crate) added_bytes: f64,
}

#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Figures {
    pub(crate) first_p50_ms: f64,
    pub(crate) first_p99_ms: f64,
    pub(crate) gap_p50_ms: f64,
    pub(crate) gap_p99_ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) delay_p50_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) delay_p99_ms: Option<f64>,
    pub(crate) rps: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cpu_us_per_request: Option<f64>,
}

impl Figures {
    fn of(sample: &mut Sample, cpu_ns: Option<u64>) -> Self {
        let mut first = |q| percentile(&mut sample.firsts_ms, q).unwrap_or_default();
        Self {
            first_p50_ms: first(0.5),
            first_p99_ms: first(0.99),
            gap_p50_ms: sample.gaps.percentile(0.5).unwrap_or_default(),
            gap_p99_ms: sample.gaps.percentile(0.99).unwrap_or_default(),
            delay_p50_ms: percentile(&mut sample.delays_ms, 0.5),
            delay_p99_ms: percentile(&mut sample.delays_ms, 0.99),
            rps: sample.rps,
            cpu_us_per_request: cpu_ns.map(|ns| ns as f64 / 1e3 / sample.requests as f64),
        }
    }

    /// The median over rounds of each figure.
    pub(crate) fn medians(rounds: &[Measured]) -> Self {
        let of_some = |field: fn(&Self) -> Option<f64>| {
            median(rounds.iter().filter_map(|one| field(&one.figures)).collect()).map(rounded)
        };
        let of = |field: fn(&Self) -> f64| {
            median(rounds.iter().map(|one| field(&one.figures)).collect()).map(rounded).unwrap_or_default()
        };
        Self {
            first_p50_ms: of(|one| one.first_p50_ms),
            first_p99_ms: of(|one| one.first_p99_ms),
            gap_p50_ms: of(|one| one.gap_p50_ms),
            gap_p99_ms: of(|one| one.gap_p99_ms),
            delay_p50_ms: of_some(|one| one.delay_p50_ms),
            delay_p99_ms: of_some(|one| one.delay_p99_ms),
            rps: of(|one| one.rps),
            cpu_us_per_request: of_some(|one| one.cpu_us_per_request),
        }
    }
}

/// Measures all targets in each round, and returns a list of rounds for each target.
pub(crate) async fn measure_rounds(
    seen: &Seen,
    targets: &[Target],
    load: &Load,
    effort: Effort,
) -> Result<Vec<Vec<Measured>>> {
    let mut measured: Vec<Vec<Measured>> = targets.iter().map(|_| Vec::new()).collect();
    for _ in 0..effort.rounds {
        for (target, measured) in targets.iter().zip(&mut measured) {
            measured.push(measure_once(seen, target, load, effort.time).await?);
        }
    }
    Ok(measured)
}

async fn measure_once(seen: &Seen, target: &Target, load: &Load, time: Duration) -> Result<Measured> {
    let Target { address, pid, upstream } = *target;
    let crew = Crew::assemble(address, load).await?;
    let cpu_before = pid.and_then(CpuTimes::of);
    let [answered, paced, bytes] = seen.counts(upstream);
    let (_, mut sample) = crew.run(Until::Elapsed(time)).await?;
    let cpu_after = pid.and_then(CpuTimes::of);
    let [answered_after, paced_after, bytes_after] = seen.counts(upstream);
    ensure!(load.pace_ms == 0 || paced_after > paced, "{address} did not pass on the pace");
    ensure!(answered_after > answered, "{address} sent nothing to the mock in the format {upstream}");
    let cpu_ns = cpu_before.zip(cpu_after).map(|(before, after)| after.since(&before));
    Ok(Measured {
        figures: Figures::of(&mut sample, cpu_ns),
        added_bytes: ((bytes_after - bytes) as f64 - sample.body_bytes as f64) / sample.requests as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_medians_of_each_field() {
        let rounds = [(1.0, 30.0, Some(5.0)), (3.0, 10.0, None), (2.0, 20.000_01, Some(7.0))];
        let rounds = rounds.map(|(first_p50_ms, rps, cpu_us_per_request)| Measured {
            figures: Figures { first_p50_ms, rps, cpu_us_per_request, ..Figures::default() },
            added_bytes: 0.0,
        });
        let figures = Figures::medians(&rounds);
        assert_eq!((figures.first_p50_ms, figures.rps, figures.cpu_us_per_request), (2.0, 20.0, Some(5.0)));
    }
}
