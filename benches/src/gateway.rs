//! The gateway under test: this program once more, as a process with a home of its own.
//!
//! A benchmark starts itself again and becomes `muninn`, so that the measured gateway is always built from the same
//! sources with the same profile. It must be a process of its own, or its memory and CPU time could not be told from the
//! benchmark's.

use std::ffi::OsString;
use std::ops::Deref;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Parser;
use muninn_tests::{Gateway, TestEnv, output, wait_within};
use serde::Serialize;
use serde_json::Value;

use crate::command_line::{self, progress};
use crate::format::Format;
use crate::upstream::Upstream;

/// The environment variable that makes a benchmark the gateway.
const ROLE: &str = "BENCH_IS_GATEWAY";

/// How long indexing the repository may take.
const READY_LIMIT: Duration = Duration::from_secs(120);

/// A running gateway; killed when dropped, and its home removed.
pub struct GatewayProcess {
    gateway: Gateway,
    _home: TestEnv,
}

impl GatewayProcess {
    /// Starts the gateway for `root` with this configuration.
    #[must_use]
    pub fn start(root: &Path, configuration: &str) -> Self {
        Self::start_in(home(), root, configuration)
    }

    /// Starts the gateway for `root` in a home that holds state already.
    #[must_use]
    pub fn start_in(home: TestEnv, root: &Path, configuration: &str) -> Self {
        home.write_config(configuration);
        Self { gateway: serve(&home, root), _home: home }
    }

    /// Starts the gateway for `root` over the mock, to which it `speaks` this one format, and waits for its index.
    #[must_use]
    pub fn indexed(root: &Path, upstream: &Upstream, speaks: Format) -> Self {
        let start = Instant::now();
        let process = Self::start(root, &configuration(upstream, speaks));
        wait_until_indexed(&process);
        let seconds = start.elapsed().as_secs_f64();
        progress(&format!("gateway that speaks {speaks} indexed after {seconds:.2} s"));
        process
    }

    /// Shows the end of the gateway's log on stderr.
    pub fn show_log(&self) {
        let log = self.stderr();
        let lines: Vec<&str> = log.lines().collect();
        let end = lines[lines.len().saturating_sub(20)..].join("\n");
        progress(&format!("the gateway's log ends:\n{end}"));
    }
}

impl Deref for GatewayProcess {
    type Target = Gateway;

    fn deref(&self) -> &Gateway {
        &self.gateway
    }
}

/// A home for gateways, which is empty.
#[must_use]
pub fn home() -> TestEnv {
    let program = std::env::current_exe().unwrap_or_default();
    TestEnv::new(&program.to_string_lossy())
}

/// `muninn` in a home, without arguments.
#[must_use]
pub fn muninn(home: &TestEnv) -> Command {
    let mut command = home.muninn();
    command.env(ROLE, "1");
    command
}

/// Starts the gateway for `root` in a home.
#[must_use]
pub fn serve(home: &TestEnv, root: &Path) -> Gateway {
    home.serve_with(root, &[], |command| {
        command.env(ROLE, "1");
    })
}

/// Waits until the gateway's index is ready.
pub fn wait_until_indexed(gateway: &Gateway) {
    wait_within(READY_LIMIT, "a ready index", || (gateway.health()["index"]["state"] == "ready").then_some(()));
}

/// Waits until the gateway's index, history and vectors are ready.
pub fn wait_until_settled(gateway: &Gateway) {
    wait_within(READY_LIMIT, "a settled index", || (gateway.health()["index"]["settled"] == true).then_some(()));
}

/// The receipt of a request, which is written a moment after the answer.
#[must_use]
pub fn why(home: &TestEnv, id: &str) -> Value {
    wait_within(READY_LIMIT, "the receipt", || {
        let mut command = muninn(home);
        command.args(["why", id, "--json"]);
        serde_json::from_slice(&output(command).stdout).ok()
    })
}

/// The configuration of a gateway whose only backend is the mock, to which it speaks this format.
#[must_use]
pub fn configuration(upstream: &Upstream, speaks: Format) -> String {
    let url = upstream.url();
    format!("[[backends]]\nname = \"mock\"\nurl = \"{url}\"\ndialect = \"{speaks}\"\n")
}

/// The `main` of a benchmark that may have to become the gateway.
pub fn main<O: Parser, R: Serialize>(name: &str, run: fn(&O) -> Result<R>) -> ExitCode {
    if std::env::var_os(ROLE).is_none() {
        return command_line::main(name, run);
    }
    muninn_gateway::run(std::iter::once(OsString::from("muninn")).chain(std::env::args_os().skip(1)))
}
