//! The cost of a gateway for streamed answers, against no gateway in the same run.

use std::collections::BTreeMap;
use std::net::{SocketAddr, ToSocketAddrs};
use std::str::FromStr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use clap::{Parser, ValueEnum};
use serde::Serialize;

use crate::gateway::{GatewayProcess, runtime};
use crate::harness::stats::{median, rounded};
use crate::harness::{our_repository, procfs, progress, progress_row};
use crate::load::client::{Crew, Load, Requests, Until};
use crate::load::format::Format;
use crate::load::measure::{Effort, Figures, Target, measure_rounds};
use crate::load::mock::Mock;

/// The time limit for the first answer of a gateway beside: some look for their backend only every few seconds.
const BESIDE_LIMIT: Duration = Duration::from_secs(60);

/// Clients of the section on memory; divides its numbers of requests.
const MEMORY_CLIENTS: u16 = 20;

/// Measures what a gateway adds to streamed chat completions, against no gateway in the same run.
#[derive(Debug, Clone, Parser)]
#[command(name = "overhead")]
pub(crate) struct Options {
    /// Seconds of each measurement: every target of every cell is measured once per round.
    #[arg(long, default_value = "1.0", value_parser = seconds)]
    seconds: Duration,
    /// Rounds over the targets of a cell; reported are medians over rounds.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// One short round, and no memory section: to see that all is well, not to be quoted.
    #[arg(long)]
    quick: bool,
    /// Leaves out the section on the growth of memory.
    #[arg(long)]
    no_memory: bool,
    /// Measure this running gateway instead of our own.
    #[arg(long, value_name = "URL", requires = "upstream_port")]
    gateway: Option<Gateway>,
    /// Port of the mock backend, for gateways that are configured beforehand; 0 takes a free one.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    upstream_port: u16,
    /// Measure another running gateway beside; may be given again. Needs --upstream-port.
    #[arg(long, value_name = "NAME=URL", requires = "upstream_port")]
    beside: Vec<Gateway>,
    /// Body sizes in bytes.
    #[arg(long, value_delimiter = ',', default_values_t = [2_000, 100_000])]
    bodies: Vec<usize>,
    /// Numbers of concurrent clients.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 32],
        value_parser = clap::value_parser!(u16).range(1..))]
    clients: Vec<u16>,
    /// Milliseconds between events; 0 sends them all at once.
    #[arg(long, value_delimiter = ',', default_values_t = [0, 5])]
    paces: Vec<u64>,
    /// With context, without, or both; a gateway given by --gateway is measured without unless
    /// this says otherwise.
    #[arg(long)]
    context: Option<ContextChoice>,
}

pub(crate) fn seconds(text: &str) -> Result<Duration> {
    let number: f64 = text.parse().context("expected a number")?;
    Ok(Duration::try_from_secs_f64(number)?)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ContextChoice {
    /// Only requests that ask the gateway to stay out.
    Off,
    /// Only requests that may be given context.
    On,
    /// Both.
    Both,
}

/// `URL`, or `NAME=URL` with the key in the report.
#[derive(Debug, Clone)]
struct Gateway {
    name: String,
    address: SocketAddr,
}

impl FromStr for Gateway {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, url) = text.split_once('=').unwrap_or((text, text));
        let rest = url.strip_prefix("http://").context("only http:// is measured")?;
        let host = rest.strip_suffix('/').unwrap_or(rest);
        let mut addresses = host.to_socket_addrs().with_context(|| format!("{host:?} is no HOST:PORT"))?;
        Ok(Self { name: name.to_owned(), address: addresses.next().context("the host has no address")? })
    }
}

/// Times are milliseconds, memory is MB of 10^6 bytes. A figure that could not be taken is left out.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Report {
    runs: Vec<Run>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rss_idle_mb: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rss_peak_mb: Option<f64>,
    #[serde(flatten)]
    growth: Option<Growth>,
    #[serde(skip_serializing_if = "Option::is_none")]
    growth_context_on: Option<Growth>,
    load1: [Option<f64>; 2],
}

/// Resident memory of a fresh gateway after so many requests of 2 kB.
#[derive(Debug, Clone, Copy, Serialize)]
struct Growth {
    rss_at_2000_mb: f64,
    rss_at_10000_mb: f64,
}

#[derive(Debug, Clone, Serialize)]
struct Run {
    body: usize,
    clients: u16,
    pace_ms: u64,
    context: &'static str,
    direct: Figures,
    gateway: Figures,
    added_first_p50_ms: f64,
    rps_ratio: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    added_body_bytes: Option<f64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    beside: BTreeMap<String, Figures>,
}

pub(crate) fn run(options: &Options) -> Result<Report> {
    let mock = Mock::start(options.upstream_port)?;
    let root = our_repository()?;
    let runtime = runtime()?;
    let start = || GatewayProcess::indexed(&root, &mock, Format::Chat);
    let (ours, address) = match &options.gateway {
        Some(gateway) => (None, gateway.address),
        None => {
            let ours = start();
            let address = ours.address;
            (Some(ours), address)
        }
    };
    let pid = ours.as_ref().map(|gateway| gateway.id());
    let gateway = Target { address, pid, upstream: Format::Chat };
    let bench = Bench { options, mock: &mock, gateway, requests: Requests::about(&root) };
    let mut report = Report { load1: [procfs::load1(), None], ..Report::default() };
    report.rss_idle_mb = pid.and_then(procfs::resident_mb);
    let runs = runtime.block_on(bench.measure_all());
    report.runs = runs.inspect_err(|_| ours.iter().for_each(GatewayProcess::show_log))?;
    report.rss_peak_mb = pid.and_then(procfs::peak_mb);
    if ours.is_some() && !options.quick && !options.no_memory {
        drop(ours);
        // Fresh gateways: one that has served the matrix has grown as far as it will.
        report.growth = runtime.block_on(bench.memory_growth(&start(), false))?;
        report.growth_context_on = runtime.block_on(bench.memory_growth(&start(), true))?;
    }
    report.load1[1] = procfs::load1();
    Ok(report)
}

struct Bench<'a> {
    options: &'a Options,
    mock: &'a Mock,
    gateway: Target,
    requests: Requests,
}

#[derive(Clone, Copy)]
struct Cell {
    body: usize,
    clients: u16,
    pace_ms: u64,
    context: bool,
}

impl Bench<'_> {
    fn cells(&self) -> Vec<Cell> {
        let default = if self.options.gateway.is_some() { ContextChoice::Off } else { ContextChoice::Both };
        let contexts: &[bool] = match self.options.context.unwrap_or(default) {
            ContextChoice::Off => &[false],
            ContextChoice::On => &[true],
            ContextChoice::Both => &[false, true],
        };
        let mut cells = Vec::new();
        for &context in contexts {
            for &body in &self.options.bodies {
                for &clients in &self.options.clients {
                    let paces = self.options.paces.iter();
                    cells.extend(paces.map(|&pace_ms| Cell { body, clients, pace_ms, context }));
                }
            }
        }
        cells
    }

    fn load(&self, cell: Cell) -> Load {
        self.requests.load(Format::Chat, cell.body, cell.clients.into(), cell.pace_ms, cell.context)
    }

    async fn measure_all(&self) -> Result<Vec<Run>> {
        let cells = self.cells();
        if let Some(&first) = cells.first() {
            for gateway in &self.options.beside {
                self.wait_until_answering(first, gateway.address).await?;
            }
        }
        let mut runs = Vec::with_capacity(cells.len());
        for cell in cells {
            let run = self.measure(cell).await?;
            progress_row(&run);
            runs.push(run);
        }
        Ok(runs)
    }

    /// Asks a gateway beside until it answers: it may have started before its backend, the mock.
    async fn wait_until_answering(&self, cell: Cell, address: SocketAddr) -> Result<()> {
        let load = self.load(Cell { clients: 1, ..cell });
        let deadline = Instant::now() + BESIDE_LIMIT;
        loop {
            match Crew::assemble(address, &load).await {
                Ok(_) => return Ok(()),
                Err(error) if Instant::now() > deadline => return Err(error),
                Err(_) => tokio::time::sleep(Duration::from_millis(200)).await,
            }
        }
    }

    /// Measures one cell over all targets. Gateways beside know nothing of context, and are left out if it is on.
    async fn measure(&self, cell: Cell) -> Result<Run> {
        let other = |address| Target { address, pid: None, upstream: Format::Chat };
        let mut targets = vec![other(self.mock.address), self.gateway];
        if !cell.context {
            targets.extend(self.options.beside.iter().map(|beside| other(beside.address)));
        }
        let effort = Effort::new(self.options.quick, self.options.seconds, self.options.rounds);
        let rounds = measure_rounds(&self.mock.seen, &targets, &self.load(cell), effort).await?;
        let mut figures = rounds.iter().map(|rounds| Figures::medians(rounds));
        let (direct, gateway) = (figures.next().unwrap_or_default(), figures.next().unwrap_or_default());
        let added = rounds[1].iter().map(|one| one.added_bytes).collect();
        Ok(Run {
            body: cell.body,
            clients: cell.clients,
            pace_ms: cell.pace_ms,
            context: if cell.context { "on" } else { "off" },
            added_first_p50_ms: rounded(gateway.first_p50_ms - direct.first_p50_ms),
            rps_ratio: rounded(gateway.rps / direct.rps),
            added_body_bytes: cell.context.then(|| median(added).map(rounded)).flatten(),
            direct,
            gateway,
            beside: self.options.beside.iter().map(|beside| beside.name.clone()).zip(figures).collect(),
        })
    }

    /// Sends 10,000 unpaced requests of 2 kB to a fresh gateway; `None` if memory cannot be read.
    async fn memory_growth(&self, gateway: &GatewayProcess, context: bool) -> Result<Option<Growth>> {
        let load = self.load(Cell { body: 2_000, clients: MEMORY_CLIENTS, pace_ms: 0, context });
        let per_client = |requests: u64| Until::Requests(requests / u64::from(MEMORY_CLIENTS));
        let crew = Crew::assemble(gateway.address, &load).await?;
        let (crew, _) = crew.run(per_client(2_000)).await?;
        let early = procfs::resident_mb(gateway.id());
        crew.run(per_client(8_000)).await?;
        let both = early.zip(procfs::resident_mb(gateway.id()));
        let growth = both.map(|(early, late)| Growth { rss_at_2000_mb: early, rss_at_10000_mb: late });
        progress(&format!("memory, context {context}: {growth:?}"));
        Ok(growth)
    }
}
