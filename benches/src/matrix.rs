//! The cells of the matrix, and how one is measured.
//!
//! In each round every target is measured in turn, and figures are medians over rounds: a machine
//! that slows down for a while then slows down all targets, not one.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use crate::bodies::Body;
use crate::client::{ClientError, Crew, Load, Sample, Until};
use crate::format::Format;
use crate::procfs::CpuTimes;
use crate::report::{Figures, Run, rounded};
use crate::stats::{median, percentile};
use crate::upstream::Seen;

/// One combination of what is varied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// Request body in bytes.
    pub body: usize,
    /// Concurrent clients.
    pub clients: usize,
    /// Milliseconds between events; 0 for all at once.
    pub pace_ms: u64,
    /// Whether the gateway may add context.
    pub context: bool,
}

impl Cell {
    /// All combinations, in the order that the report has them.
    pub fn all(contexts: &[bool], bodies: &[usize], clients: &[u16], paces: &[u64]) -> Vec<Self> {
        let mut cells = Vec::new();
        for &context in contexts {
            for &body in bodies {
                for &clients in clients {
                    cells.extend(paces.iter().map(|&pace_ms| Self {
                        body,
                        clients: clients.into(),
                        pace_ms,
                        context,
                    }));
                }
            }
        }
        cells
    }

    /// How the report names the context.
    pub fn context_name(&self) -> &'static str {
        if self.context { "on" } else { "off" }
    }
}

/// What does not vary between the cells of a run.
#[derive(Debug)]
pub struct Bench<'a> {
    /// The mock.
    pub upstream: SocketAddr,
    /// What the mock has seen.
    pub seen: &'a Seen,
    /// The gateway under test.
    pub gateway: SocketAddr,
    /// Its process, if it is ours.
    pub gateway_pid: Option<u32>,
    /// Other gateways by name; they know nothing of context, and are left out where it is on.
    pub beside: Vec<(String, SocketAddr)>,
    /// Length of one measurement.
    pub time: Duration,
    /// Rounds per cell.
    pub rounds: u32,
    /// The directory that request bodies speak of.
    pub directory: String,
    /// Number of the next question.
    pub next_question: Arc<AtomicU64>,
}

/// One measurement: its figures, and by how much bodies were longer at the mock, on average.
struct Measured {
    figures: Figures,
    added_bytes: f64,
}

impl Bench<'_> {
    /// Measures one cell over all targets.
    ///
    /// # Errors
    /// The first failed request, or a pace that did not reach the mock.
    pub async fn measure(&self, cell: Cell) -> Result<Run, ClientError> {
        let load = self.load(cell);
        let mut targets = vec![(self.upstream, None), (self.gateway, self.gateway_pid)];
        if !cell.context {
            targets.extend(self.beside.iter().map(|(_, address)| (*address, None)));
        }
        let mut rounds: Vec<Vec<Measured>> = targets.iter().map(|_| Vec::new()).collect();
        for _ in 0..self.rounds {
            for ((address, pid), measured) in targets.iter().zip(&mut rounds) {
                measured.push(self.measure_once(*address, *pid, &load).await?);
            }
        }
        Ok(self.run_of(cell, &rounds))
    }

    /// What a crew sends in this cell.
    pub fn load(&self, cell: Cell) -> Load {
        Load {
            format: Format::Chat,
            clients: cell.clients,
            pace_ms: cell.pace_ms,
            context: cell.context,
            body: Arc::new(Body::of_agent(Format::Chat, cell.body, &self.directory)),
            next_question: Arc::clone(&self.next_question),
        }
    }

    async fn measure_once(&self, target: SocketAddr, pid: Option<u32>, load: &Load) -> Result<Measured, ClientError> {
        let crew = Crew::assemble(target, load).await?;
        let cpu_before = pid.and_then(CpuTimes::of);
        let (paced, bytes) = self.counts();
        let (_, mut sample) = crew.run(Until::Elapsed(self.time)).await?;
        let cpu_after = pid.and_then(CpuTimes::of);
        let (paced_after, bytes_after) = self.counts();
        let arrived = (bytes_after - bytes) as f64;
        if load.pace_ms > 0 && paced_after == paced {
            return Err(ClientError::PaceLost(target));
        }
        let cpu_ns = cpu_before.zip(cpu_after).map(|(before, after)| after.since(&before));
        Ok(Measured {
            figures: figures(&mut sample, cpu_ns),
            added_bytes: (arrived - sample.body_bytes as f64) / sample.requests as f64,
        })
    }

    fn counts(&self) -> (u64, u64) {
        (self.seen.paced(), self.seen.body_bytes())
    }

    /// The report of a cell from its rounds: direct, the gateway, the others.
    fn run_of(&self, cell: Cell, rounds: &[Vec<Measured>]) -> Run {
        let medians = |target: &Vec<Measured>| {
            let figures: Vec<Figures> = target.iter().map(|one| one.figures.clone()).collect();
            Figures::medians(&figures)
        };
        let added = rounds[1].iter().map(|one| one.added_bytes).collect();
        let added_body_bytes = cell.context.then(|| median(added).map(rounded)).flatten();
        let (direct, gateway) = (medians(&rounds[0]), medians(&rounds[1]));
        let names = self.beside.iter().map(|(name, _)| name.clone());
        let mut beside: BTreeMap<String, Figures> = BTreeMap::new();
        for (name, target) in names.zip(&rounds[2..]) {
            beside.insert(name, medians(target));
        }
        Run {
            body: cell.body,
            clients: cell.clients,
            pace_ms: cell.pace_ms,
            context: cell.context_name(),
            added_first_p50_ms: rounded(gateway.first_p50_ms - direct.first_p50_ms),
            rps_ratio: rounded(gateway.rps / direct.rps),
            added_body_bytes,
            direct,
            gateway,
            beside,
        }
    }
}

fn figures(sample: &mut Sample, cpu_ns: Option<u64>) -> Figures {
    let first = |sample: &mut Sample, q| percentile(&mut sample.firsts_ms, q).unwrap_or_default();
    Figures {
        first_p50_ms: first(sample, 0.5),
        first_p99_ms: first(sample, 0.99),
        gap_p99_ms: sample.gaps.percentile(0.99).unwrap_or_default(),
        rps: sample.rps,
        cpu_us_per_request: cpu_ns.map(|ns| ns as f64 / 1e3 / sample.requests as f64),
    }
}
