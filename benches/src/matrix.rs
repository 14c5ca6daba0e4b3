//! The cells of the overhead benchmark's matrix.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use anyhow::Result;

use crate::bodies::Body;
use crate::client::Load;
use crate::format::Format;
use crate::measure::{Measured, Target, measure_rounds};
use crate::report::{Figures, Run, rounded};
use crate::stats::median;
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
                    cells.extend(paces.iter().map(|&pace_ms| Self { body, clients: clients.into(), pace_ms, context }));
                }
            }
        }
        cells
    }

    /// The name of the context setting in reports.
    pub fn context_name(&self) -> &'static str {
        if self.context { "on" } else { "off" }
    }
}

/// The settings that all cells of a run share.
#[derive(Debug)]
pub struct Bench<'a> {
    /// The mock.
    pub upstream: SocketAddr,
    /// The mock's counters.
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

impl Bench<'_> {
    /// Measures one cell over all targets.
    ///
    /// # Errors
    /// The first failed request, or a pace that did not reach the mock.
    pub async fn measure(&self, cell: Cell) -> Result<Run> {
        let load = self.load(cell);
        let target = |address, pid| Target { address, pid, upstream: load.format };
        let mut targets = vec![target(self.upstream, None), target(self.gateway, self.gateway_pid)];
        if !cell.context {
            targets.extend(self.beside.iter().map(|(_, address)| target(*address, None)));
        }
        let rounds = measure_rounds(self.seen, &targets, &load, self.time, self.rounds).await?;
        Ok(self.run_of(cell, &rounds))
    }

    /// The requests of this cell.
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

    /// The report of a cell from its rounds: direct, the gateway, the others.
    fn run_of(&self, cell: Cell, rounds: &[Vec<Measured>]) -> Run {
        let medians = |target: &Vec<Measured>| Figures::medians(target.iter().map(|one| &one.figures));
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
