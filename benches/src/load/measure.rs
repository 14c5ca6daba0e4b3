//! Measuring targets in turn.
//!
//! In each round every target is measured in turn, and figures are medians over rounds: a machine
//! that slows down for a while then slows down all targets, not one.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::answer::Sample;
use crate::client::{Crew, Load, Until};
use crate::format::Format;
use crate::procfs::CpuTimes;
use crate::report::Figures;
use crate::stats::percentile;
use crate::upstream::Seen;

/// The target of requests.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The mock itself, or a gateway.
    pub address: SocketAddr,
    /// The gateway's process, if it is ours.
    pub pid: Option<u32>,
    /// The format that must reach the mock.
    pub upstream: Format,
}

/// One measurement: its figures, and by how much bodies were longer at the mock, on average.
#[derive(Debug)]
pub struct Measured {
    /// The figures.
    pub figures: Figures,
    /// Bytes that the target added to a body.
    pub added_bytes: f64,
}

/// Measures each target for `time` in each round; a list of rounds for each target.
///
/// # Errors
/// The first failed request, or a pace or format that did not reach the mock.
pub async fn measure_rounds(
    seen: &Seen,
    targets: &[Target],
    load: &Load,
    time: Duration,
    rounds: u32,
) -> Result<Vec<Vec<Measured>>> {
    let mut measured: Vec<Vec<Measured>> = targets.iter().map(|_| Vec::new()).collect();
    for _ in 0..rounds {
        for (target, measured) in targets.iter().zip(&mut measured) {
            measured.push(measure_once(seen, target, load, time).await?);
        }
    }
    Ok(measured)
}

async fn measure_once(seen: &Seen, target: &Target, load: &Load, time: Duration) -> Result<Measured> {
    let crew = Crew::assemble(target.address, load).await?;
    let counts = || (seen.paced(), seen.body_bytes(), seen.answered(target.upstream));
    let cpu_before = target.pid.and_then(CpuTimes::of);
    let (paced, bytes, answered) = counts();
    let (_, mut sample) = crew.run(Until::Elapsed(time)).await?;
    let cpu_after = target.pid.and_then(CpuTimes::of);
    let (paced_after, bytes_after, answered_after) = counts();
    let arrived = (bytes_after - bytes) as f64;
    let address = target.address;
    ensure!(load.pace_ms == 0 || paced_after > paced, "{address} did not pass on the pace");
    ensure!(answered_after > answered, "{address} sent nothing to the mock in the format {}", target.upstream);
    let cpu_ns = cpu_before.zip(cpu_after).map(|(before, after)| after.since(&before));
    Ok(Measured {
        figures: figures(&mut sample, cpu_ns),
        added_bytes: (arrived - sample.body_bytes as f64) / sample.requests as f64,
    })
}

fn figures(sample: &mut Sample, cpu_ns: Option<u64>) -> Figures {
    let first = |sample: &mut Sample, q| percentile(&mut sample.firsts_ms, q).unwrap_or_default();
    Figures {
        first_p50_ms: first(sample, 0.5),
        first_p99_ms: first(sample, 0.99),
        gap_p50_ms: sample.gaps.percentile(0.5).unwrap_or_default(),
        gap_p99_ms: sample.gaps.percentile(0.99).unwrap_or_default(),
        delay_p50_ms: percentile(&mut sample.delays_ms, 0.5),
        delay_p99_ms: percentile(&mut sample.delays_ms, 0.99),
        rps: sample.rps,
        cpu_us_per_request: cpu_ns.map(|ns| ns as f64 / 1e3 / sample.requests as f64),
    }
}
