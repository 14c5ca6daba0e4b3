//! The processes that clients start for each prompt and for each session: `muninn hook` and `muninn mcp`, with a daemon that
//! holds the index and without one.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use muninn_team::records::MAIN;
use muninn_tests::{TestEnv, wait_within};
use serde::Serialize;
use serde_json::{Value, json};

use crate::gateway::{home, muninn};
use crate::harness::corpus::Corpus;
use crate::harness::stats::{Percentiles, millis, rounded};
use crate::harness::{procfs, progress, questions};

const INDEX_LIMIT: Duration = Duration::from_mins(10);
const CALLS: usize = 20;

/// Measures whole processes, from their start to their end, on a copy of a tree.
#[derive(Debug, Clone, Parser)]
#[command(name = "hooks")]
pub(crate) struct Options {
    /// The tree: a repository, which is cloned, or any directory, which is copied and becomes one there.
    #[arg(long, value_name = "DIR")]
    root: PathBuf,
    /// Copy no more than it takes to have so many lines.
    #[arg(long, value_name = "NUMBER")]
    lines: Option<usize>,
    /// Keep the copy here from run to run.
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    /// Prompts of each kind.
    #[arg(long, default_value_t = 40)]
    prompts: usize,
    /// Notes in the memory, made of lines of the tree.
    #[arg(long, default_value_t = 0)]
    notes: usize,
    /// The folder of MiniLM's weights, which are installed first.
    #[arg(long, value_name = "DIR")]
    model: Option<PathBuf>,
}

/// Times are milliseconds from the start of a process to its end. Memory is MB of 10^6 bytes.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Report {
    files: usize,
    lines: usize,
    nothing_ms: Percentiles,
    cold: Prompts,
    warm: Prompts,
    mcp: Mcp,
    daemon_mb: Option<f64>,
    load1: [Option<f64>; 2],
}

/// Prompts, each in a session of its own.
#[derive(Debug, Clone, Serialize)]
struct Prompts {
    ms: Percentiles,
    max_ms: Option<f64>,
    /// Prompts that got context.
    answered: usize,
    prompts: usize,
}

#[derive(Debug, Clone, Serialize)]
struct Mcp {
    first_answer_ms: Percentiles,
    first_answer_mb: Option<f64>,
    call_ms: Percentiles,
    after_calls_mb: Option<f64>,
}

pub(crate) fn run(options: &Options) -> Result<Report> {
    let load = procfs::load1();
    let corpus = Corpus::of(&options.root, options.work.as_deref(), options.lines)?;
    let bench = Bench { home: home(), root: corpus.root.clone() };
    // The default deadlines hold, so a process that takes too long answers nothing.
    bench.home.write_config("[hooks]\ndaemon_idle_minutes = 0\n");
    if let Some(model) = &options.model {
        let model = model.to_str().context("not UTF-8")?;
        ensure!(bench.muninn(&["model", "pull", "--from", model]).status()?.success(), "the weights are not installed");
    }
    if options.notes > 0 {
        bench.remember(options.notes)?;
    }
    let started = Instant::now();
    ensure!(bench.muninn(&["index"]).status()?.success(), "the tree is not indexed");
    progress(&format!("indexed in {:.1} s", started.elapsed().as_secs_f64()));
    let questions = questions::sample(&bench.root, options.prompts)?;
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
    Ok(Report {
        files: corpus.files,
        lines: corpus.lines,
        nothing_ms: Percentiles::of(nothing),
        cold,
        warm,
        mcp,
        daemon_mb: procfs::resident_mb(daemon.0.id()),
        load1: [load, procfs::load1()],
    })
}

struct Bench {
    home: TestEnv,
    root: PathBuf,
}

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

    fn remember(&self, notes: usize) -> Result<()> {
        let texts = questions::sample(&self.root, notes)?;
        let lines = texts.iter().enumerate().map(|(at, text)| {
            let record =
                json!({"id": format!("{at:026}"), "ts": "2026-01-01T00:00:00Z", "type": "learning", "text": text});
            format!("{record}\n")
        });
        let main = self.root.join(MAIN);
        std::fs::create_dir_all(main.parent().context("no folder")?)?;
        Ok(std::fs::write(main, lines.collect::<String>())?)
    }

    fn daemon(&self) -> Result<Running> {
        let mut command = self.muninn(&["daemon", "run"]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let log = self.home.state_dir().join("daemon.log");
        wait_within(INDEX_LIMIT, "a ready index", || {
            let log = std::fs::read_to_string(&log).unwrap_or_default();
            log.contains("index ready").then_some(())
        });
        Ok(Running(child))
    }

    fn prompts(&self, questions: &[String], name: &str) -> Result<Prompts> {
        let (mut times, mut answered) = (Vec::new(), 0);
        for (at, question) in questions.iter().enumerate() {
            let event = json!({"session_id": format!("{name}-{at}"), "cwd": self.root, "prompt": question});
            let started = Instant::now();
            let mut child = self.muninn(&["hook", "UserPromptSubmit"]);
            let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
            child.stdin.take().context("no stdin")?.write_all(event.to_string().as_bytes())?;
            let output = child.wait_with_output()?;
            times.push(millis(started.elapsed()));
            answered += usize::from(!output.stdout.is_empty());
        }
        let max_ms = times.iter().copied().reduce(f64::max).map(rounded);
        let prompts = Prompts { max_ms, ms: Percentiles::of(times), answered, prompts: questions.len() };
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
            first_answer_mb: memory.into_iter().reduce(f64::max),
            call_ms: Percentiles::of(calls),
            after_calls_mb: procfs::resident_mb(server.process.0.id()),
        })
    }
}

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
