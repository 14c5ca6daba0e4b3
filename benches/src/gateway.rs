//! The gateway under test: this program once more, as a process with a home of its own.
//!
//! The measured gateway is therefore built from the same sources with the same profile, and its memory and CPU time are
//! not the benchmark's.

use std::ffi::OsString;
use std::ops::Deref;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use muninn_tests::{Gateway, TestEnv, output, wait_within};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::harness::progress;
use crate::load::format::Format;
use crate::load::mock::Mock;

/// Makes this program the gateway. It is an environment variable because processes that the gateway starts inherit it.
const ROLE: &str = "BENCH_IS_GATEWAY";

const READY_LIMIT: Duration = Duration::from_secs(120);

/// Runs `muninn` with the arguments of this process, if it was started for that.
pub(crate) fn requested() -> Option<ExitCode> {
    std::env::var_os(ROLE)?;
    Some(muninn_gateway::run(std::iter::once(OsString::from("muninn")).chain(std::env::args_os().skip(1))))
}

/// A running gateway. Dropping it kills the process and removes the home.
pub(crate) struct GatewayProcess {
    gateway: Gateway,
    home: TestEnv,
}

impl GatewayProcess {
    pub(crate) fn start(home: TestEnv, root: &Path) -> Self {
        Self { gateway: serve(&home, root), home }
    }

    /// Starts a gateway that `speaks` this format to the mock, and waits for its index.
    pub(crate) fn indexed(root: &Path, mock: &Mock, speaks: Format) -> Self {
        let start = Instant::now();
        let home = home();
        home.write_config(&configuration(mock, speaks));
        let process = Self::start(home, root);
        wait_until_indexed(&process);
        progress(&format!("gateway that speaks {speaks} indexed after {:.2} s", start.elapsed().as_secs_f64()));
        process
    }

    /// The receipt of a request, which is written a moment after the answer.
    pub(crate) fn why(&self, id: &str) -> Value {
        wait_within(READY_LIMIT, "the receipt", || {
            let mut command = muninn(&self.home);
            command.args(["why", id, "--json"]);
            serde_json::from_slice(&output(command).stdout).ok()
        })
    }

    pub(crate) fn show_log(&self) {
        let log = self.stderr();
        let lines: Vec<&str> = log.lines().collect();
        progress(&format!("the gateway's log ends:\n{}", lines[lines.len().saturating_sub(20)..].join("\n")));
    }
}

impl Deref for GatewayProcess {
    type Target = Gateway;

    fn deref(&self) -> &Gateway {
        &self.gateway
    }
}

pub(crate) fn home() -> TestEnv {
    TestEnv::on_disk(&std::env::current_exe().unwrap_or_default().to_string_lossy())
}

pub(crate) fn muninn(home: &TestEnv) -> Command {
    let mut command = home.muninn();
    command.env(ROLE, "1");
    command
}

pub(crate) fn serve(home: &TestEnv, root: &Path) -> Gateway {
    home.serve_with(root, &[], |command| {
        command.env(ROLE, "1");
    })
}

pub(crate) fn wait_until_indexed(gateway: &Gateway) {
    wait_within(READY_LIMIT, "a ready index", || (gateway.health()["index"]["state"] == "ready").then_some(()));
}

pub(crate) fn wait_until_settled(gateway: &Gateway) {
    wait_within(READY_LIMIT, "a settled index", || (gateway.health()["index"]["settled"] == true).then_some(()));
}

/// The configuration of a gateway whose only backend is the mock, in this format.
pub(crate) fn configuration(mock: &Mock, speaks: Format) -> String {
    format!("[[backends]]\nname = \"mock\"\nurl = \"http://{}\"\ndialect = \"{speaks}\"\n", mock.address)
}

/// The load client's runtime, on one thread.
pub(crate) fn runtime() -> Result<Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().context("the client's runtime")
}
