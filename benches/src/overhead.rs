//! The overhead benchmark from options to report.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::client::{Crew, Until};
use crate::command_line::progress;
use crate::format::Format;
use crate::gateway_process::GatewayProcess;
use crate::matrix::{Bench, Cell};
use crate::options::Options;
use crate::procfs;
use crate::report::{Growth, Report, Run, rounded};
use crate::stand::{self};
use crate::upstream::Upstream;

/// How long a gateway beside may take until it answers: some look for their backend only every few
/// seconds.
const BESIDE_LIMIT: Duration = Duration::from_secs(60);

/// Length of one measurement of a quick run.
const QUICK_TIME: Duration = Duration::from_millis(300);

/// Clients of the section on memory; divides its numbers of requests.
const MEMORY_CLIENTS: usize = 20;

/// Runs the whole benchmark and returns what it is to print.
///
/// # Errors
/// When anything could not be started, or any request failed.
pub fn run(options: &Options) -> Result<Report> {
    let port = options.upstream_port;
    let upstream = stand::upstream(port)?;
    let root = stand::repository()?;
    let runtime = stand::runtime()?;
    let gateway = match options.gateway {
        Some(target) => Gateway::Running(target.0),
        None => Gateway::Ours(GatewayProcess::indexed(&root, &upstream, Format::Chat)),
    };
    let bench = bench(options, &upstream, &gateway, &root);

    let mut report = Report::default();
    report.load1[0] = procfs::load1();
    report.rss_idle_mb = gateway.memory(procfs::resident_mb);
    report.runs = runtime.block_on(measure_all(&bench, options)).inspect_err(|_| gateway.show_log())?;
    report.rss_peak_mb = gateway.memory(procfs::peak_mb);

    if matches!(gateway, Gateway::Ours(_)) && !options.quick && !options.no_memory {
        drop(gateway);
        // A fresh gateway each: one that has served the matrix has grown as far as it will.
        let growth = |context| -> Result<Option<Growth>> {
            let gateway = GatewayProcess::indexed(&root, &upstream, Format::Chat);
            runtime.block_on(memory_growth(&bench, &gateway, context))
        };
        report.growth = growth(false)?;
        report.growth_context_on = growth(true)?;
    }
    report.load1[1] = procfs::load1();
    Ok(report)
}

/// The gateway under test.
enum Gateway {
    /// Started by us: its process can be looked into.
    Ours(GatewayProcess),
    /// Somebody else's.
    Running(SocketAddr),
}

impl Gateway {
    fn address(&self) -> SocketAddr {
        match self {
            Self::Ours(process) => process.address,
            Self::Running(address) => *address,
        }
    }

    fn pid(&self) -> Option<u32> {
        match self {
            Self::Ours(process) => Some(process.id()),
            Self::Running(_) => None,
        }
    }

    fn memory(&self, read: fn(u32) -> Option<f64>) -> Option<f64> {
        self.pid().and_then(read).map(rounded)
    }

    fn show_log(&self) {
        if let Self::Ours(process) = self {
            process.show_log();
        }
    }
}

fn bench<'a>(options: &Options, upstream: &'a Upstream, gateway: &Gateway, root: &Path) -> Bench<'a> {
    let beside = options.beside.iter();
    Bench {
        upstream: upstream.address(),
        seen: upstream.seen(),
        gateway: gateway.address(),
        gateway_pid: gateway.pid(),
        beside: beside.map(|one| (one.name.clone(), one.target.0)).collect(),
        time: if options.quick { QUICK_TIME } else { options.seconds },
        rounds: if options.quick { 1 } else { options.rounds },
        directory: root.to_string_lossy().into_owned(),
        next_question: Arc::new(AtomicU64::new(0)),
    }
}

async fn measure_all(bench: &Bench<'_>, options: &Options) -> Result<Vec<Run>> {
    let cells = Cell::all(options.contexts(), &options.bodies, &options.clients, &options.paces);
    if let Some(&first) = cells.first() {
        for (_, address) in &bench.beside {
            wait_until_answering(bench, first, *address).await?;
        }
    }
    progress(" body clients pace context | target            p50 ms   p99 ms  gap p99    req/s  cpu us");
    let mut runs = Vec::with_capacity(cells.len());
    for cell in cells {
        let run = bench.measure(cell).await?;
        progress(&lines(&run));
        runs.push(run);
    }
    Ok(runs)
}

/// Asks a gateway beside until it answers: it may have started before its backend, the mock.
async fn wait_until_answering(bench: &Bench<'_>, cell: Cell, address: SocketAddr) -> Result<()> {
    let load = bench.load(Cell { clients: 1, ..cell });
    let deadline = Instant::now() + BESIDE_LIMIT;
    loop {
        match Crew::assemble(address, &load).await {
            Ok(_) => return Ok(()),
            Err(error) if Instant::now() > deadline => return Err(error),
            Err(_) => tokio::time::sleep(Duration::from_millis(200)).await,
        }
    }
}

/// Sends 10,000 unpaced requests of 2 kB to a fresh gateway; `None` where memory cannot be read.
async fn memory_growth(bench: &Bench<'_>, gateway: &GatewayProcess, context: bool) -> Result<Option<Growth>> {
    let load = bench.load(Cell { body: 2_000, clients: MEMORY_CLIENTS, pace_ms: 0, context });
    let per_client = |requests: u64| Until::Requests(requests / MEMORY_CLIENTS as u64);
    let resident = || procfs::resident_mb(gateway.id()).map(rounded);
    let crew = Crew::assemble(gateway.address, &load).await?;
    let (crew, _) = crew.run(per_client(2_000)).await?;
    let early = resident();
    crew.run(per_client(8_000)).await?;
    let growth = early.zip(resident()).map(|(early, late)| Growth { rss_at_2000_mb: early, rss_at_10000_mb: late });
    progress(&format!("memory, context {context}: {growth:?}"));
    Ok(growth)
}

/// A cell's figures for human eyes, a line per target.
fn lines(run: &Run) -> String {
    let cell = format!("{:>5} {:>7} {:>4} {:>7}", run.body, run.clients, run.pace_ms, run.context);
    let beside = run.beside.iter().map(|(name, one)| (name.as_str(), one));
    let lines: Vec<String> = [("direct", &run.direct), ("gateway", &run.gateway)]
        .into_iter()
        .chain(beside)
        .map(|(name, one)| {
            let cpu = one.cpu_us_per_request.map_or(String::new(), |us| format!("{us:.0}"));
            format!(
                "{cell} | {name:<14} {:>8.3} {:>8.3} {:>8.3} {:>8.1} {cpu:>7}",
                one.first_p50_ms, one.first_p99_ms, one.gap_p99_ms, one.rps
            )
        })
        .collect();
    lines.join("\n")
}
