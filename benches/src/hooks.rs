//! The processes that clients start for each prompt and for each session: `muninn hook` and `muninn mcp`, with a daemon that
//! holds the index and without one.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use muninn_tests::{TestEnv, wait_within};
use serde::Serialize;
use serde_json::{Value, json};

use crate::command_line::progress;
use crate::gateway_process::{home, muninn};
use crate::localization::report::Percentiles;
use crate::procfs;
use crate::report::rounded;
use crate::scale::{corpus, queries};
use crate::stats::millis;

/// The longest wait for an index.
const INDEX_LIMIT: Duration = Duration::from_mins(10);
/// Tool calls of the MCP client.
const CALLS: usize = 20;

/// Measures whole processes, from their start to their end, on a copy of a tree.
///
/// Progress goes to stderr; the last line on stdout is one JSON object.
#[derive(Debug, Clone, Parser)]
#[command(name = "hooks")]
pub struct Options {
    /// The tree: a repository, which is cloned, or any directory, which is copied and becomes one there.
    #[arg(long, value_name = "DIR")]
    pub root: PathBuf,
    /// Copy no more than it takes to have so many lines.
    #[arg(long, value_name = "NUMBER")]
    pub lines: Option<usize>,
    /// Keep the copy here from run to run.
    #[arg(long, value_name = "DIR")]
    pub work: Option<PathBuf>,
    /// Prompts of each kind.
    #[arg(long, default_value_t = 40)]
    pub prompts: usize,
}

/// The report, which is printed last. Times are milliseconds from the start of a process to its end. Memory is in MB of
/// 10^6 bytes.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Files that the engine can read.
    pub files: usize,
    /// Their lines.
    pub lines: usize,
    /// A process that does nothing.
    pub nothing_ms: Percentiles,
    /// `muninn hook UserPromptSubmit` that reads the stored index itself.
    pub cold: Prompts,
    /// The same with a daemon that holds the index.
    pub warm: Prompts,
    /// `muninn mcp` as a client of that daemon.
    pub mcp: Mcp,
    /// The daemon.
    pub daemon_mb: Option<f64>,
    /// The machine's load average over a minute, at the start and at the end.
    pub load1: [Option<f64>; 2],
}

/// Prompts, each in a session of its own.
#[derive(Debug, Clone, Serialize)]
pub struct Prompts {
    /// The time of a process.
    pub ms: Percentiles,
    /// The longest.
    pub max_ms: Option<f64>,
    /// Prompts that got context.
    pub answered: usize,
    /// All prompts.
    pub prompts: usize,
}

/// An MCP server on the standard streams.
#[derive(Debug, Clone, Serialize)]
pub struct Mcp {
    /// From the start of the process to the answer to its first request.
    pub first_answer_ms: Percentiles,
    /// Its memory then.
    pub first_answer_mb: Option<f64>,
    /// A call of `find_context`.
    pub call_ms: Percentiles,
    /// Its memory after the calls.
    pub after_calls_mb: Option<f64>,
}

/// Runs the benchmark.
///
/// # Errors
/// When the tree cannot be copied or indexed, or a process fails.
pub fn run(options: &Options) -> Result<Report> {
    let load = procfs::load1();
    let temporary = tempfile::tempdir()?;
    let root = options.work.as_deref().unwrap_or(temporary.path()).join("tree");
    if !root.exists() {
        corpus::copy(&options.root, &root, options.lines)?;
    }
    let (files, lines) = corpus::size(&root)?;
    progress(&format!("{files} files, {lines} lines"));
    let bench = Bench { home: home(), root };
    // The default deadlines hold, so a process that takes too long answers nothing.
    bench.home.write_config("[hooks]\ndaemon_idle_minutes = 0\n");
    let started = Instant::now();
    ensure!(bench.muninn(&["index"]).status()?.success(), "the tree is not indexed");
    progress(&format!("indexed in {:.1} s", started.elapsed().as_secs_f64()));
    let questions = queries::sample(&bench.root, options.prompts)?;
    let mut nothing = Vec::new();
    for _ in 0..options.prompts {
        let started = Instant::now();
        bench.muninn(&["--version"]).stdout(Stdio::null()).status()?;
        nothing.push(millis(started.elapsed()));
    }
    let cold = bench.prompts(&questions, "cold")?;
    bench.home.write_config("");
    let daemon = bench.daemon()?;
    bench.prompts(&questions, "first")?;
    let warm = bench.prompts(&questions, "warm")?;
    let mcp = bench.mcp(&questions)?;
    let daemon_mb = procfs::resident_mb(daemon.0.id()).map(rounded);
    Ok(Report {
        files,
        lines,
        nothing_ms: Percentiles::of(nothing),
        cold,
        warm,
        mcp,
        daemon_mb,
        load1: [load, procfs::load1()],
    })
}

/// A home and a tree.
struct Bench {
    home: TestEnv,
    root: PathBuf,
}

/// A process that is ended when it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

impl Bench {
    fn muninn(&self, arguments: &[&str]) -> Command {
        let mut command = muninn(&self.home);
        command.current_dir(&self.root).args(arguments).stdin(Stdio::null());
        command
    }

    /// A daemon whose index is ready.
    fn daemon(&self) -> Result<Running> {
        let mut command = self.muninn(&["daemon", "run"]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let log = self.home.state_dir().join("daemon.log");
        let is_ready = || {
            let log = std::fs::read_to_string(&log).unwrap_or_default();
            log.contains("index ready").then_some(())
        };
        wait_within(INDEX_LIMIT, "a ready index", is_ready);
        Ok(Running(child))
    }

    fn prompts(&self, questions: &[String], name: &str) -> Result<Prompts> {
        let (mut times, mut answered) = (Vec::new(), 0);
        for (at, question) in questions.iter().enumerate() {
            let event = json!({"session_id": format!("{name}-{at}"), "cwd": self.root, "prompt": question});
            let started = Instant::now();
            let mut child = self.muninn(&["hook", "UserPromptSubmit"]);
            let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
            let mut input = child.stdin.take().context("no stdin")?;
            input.write_all(event.to_string().as_bytes())?;
            drop(input);
            let output = child.wait_with_output()?;
            times.push(millis(started.elapsed()));
            answered += usize::from(!output.stdout.is_empty());
        }
        let prompts = Prompts {
            max_ms: times.iter().copied().reduce(f64::max).map(rounded),
            ms: Percentiles::of(times),
            answered,
            prompts: questions.len(),
        };
        progress(&format!("{name}: {prompts:?}, load {:?}", procfs::load1()));
        Ok(prompts)
    }

    fn mcp(&self, questions: &[String]) -> Result<Mcp> {
        let (mut first, mut memory) = (Vec::new(), Vec::new());
        for _ in 0..questions.len() {
            let started = Instant::now();
            let server = Server::greeted(self)?;
            first.push(millis(started.elapsed()));
            memory.extend(procfs::resident_mb(server.process.0.id()));
        }
        let mut server = Server::greeted(self)?;
        let mut calls = Vec::new();
        for question in questions.iter().take(CALLS) {
            let started = Instant::now();
            let parameters = json!({"name": "find_context", "arguments": {"question": question}});
            let answer = server.request("tools/call", &parameters)?;
            calls.push(millis(started.elapsed()));
            ensure!(answer["result"]["isError"] == false, "a call failed: {answer}");
        }
        Ok(Mcp {
            first_answer_ms: Percentiles::of(first),
            first_answer_mb: memory.into_iter().reduce(f64::max).map(rounded),
            call_ms: Percentiles::of(calls),
            after_calls_mb: procfs::resident_mb(server.process.0.id()).map(rounded),
        })
    }
}

/// `muninn mcp`.
struct Server {
    process: Running,
    output: BufReader<std::process::ChildStdout>,
}

impl Server {
    fn greeted(bench: &Bench) -> Result<Server> {
        let mut command = bench.muninn(&["mcp"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let output = BufReader::new(child.stdout.take().context("no stdout")?);
        let mut server = Server { process: Running(child), output };
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"}});
        server.request("initialize", &hello)?;
        server.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(server)
    }

    fn write(&mut self, message: &Value) -> Result<()> {
        let input = self.process.0.stdin.as_mut().context("no stdin")?;
        Ok(writeln!(input, "{message}")?)
    }

    fn request(&mut self, method: &str, parameters: &Value) -> Result<Value> {
        self.write(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}))?;
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            bail!("the server ended");
        }
        Ok(serde_json::from_str(&line)?)
    }
}
