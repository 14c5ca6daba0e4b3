//! `muninn run -- COMMAND`: runs a command with a gateway of its own, which stops with it.
//!
//! Only the child gets the gateway's address, so no setting points at a gateway that has stopped. The child owns the
//! terminal; the gateway logs to `run.log` in the state directory.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Args;
use muninn_config::presence::client_variables;
use muninn_http::Server;

use super::{CliError, Common, Exit, examples, log, mcp, output};

/// Run a coding agent, or any command, with a gateway of its own
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn run -- claude", "Claude Code, with context from this repository"),
    ("muninn run -- codex exec \"Fix the failing test\"", "Codex, with its own arguments after the command"),
    ("muninn run --root ../api -- opencode", "With context from another repository"),
]))]
pub(crate) struct Run {
    /// The command and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl Run {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        let mut config = common.configuration(Some("127.0.0.1:0".to_owned()))?;
        // Access keys protect a shared gateway. This gateway is the user's own, and the command knows no key.
        config.keys.clear();
        log::to_state("run.log", "info,rmcp=warn");
        let mounts = mcp::mounts(&config)?;
        let server = Server::start(config, &common.directory()?, mounts)?;
        server.app().index_in_background();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        // Above what the command prints.
        runtime.block_on(output::announce_servers(&server.app().settings().router));
        let code = runtime.block_on(supervise(&self.command, &format!("http://{}", server.address())));
        server.shut_down();
        code
    }
}

async fn supervise(command: &[OsString], url: &str) -> Result<ExitCode, CliError> {
    let name = command[0].to_string_lossy().into_owned();
    // Installed before the child starts, so that no signal ends the gateway without reaching the child.
    let mut signals = Signals::install()?;
    let mut child = tokio::process::Command::new(&command[0])
        .args(&command[1..])
        .envs(client_variables(url))
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| CliError::new(Exit::NotFound, format!("cannot start `{name}`: {error}")))?;
    loop {
        tokio::select! {
            status = child.wait() => return Ok(exit_code(status?)),
            signal = signals.next() => send_signal(&child, signal).await,
        }
    }
}

/// The signals that the child handles.
#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hang_up: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn install() -> std::io::Result<Signals> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next signal to send to the child, and returns its name. An interrupt reaches the child through the
    /// terminal.
    async fn next(&mut self) -> &'static str {
        loop {
            tokio::select! {
                _ = self.interrupt.recv() => {}
                _ = self.terminate.recv() => return "TERM",
                _ = self.hang_up.recv() => return "HUP",
            }
        }
    }
}

/// Sends a signal with the system's `kill`, which needs no unsafe code here.
#[cfg(unix)]
async fn send_signal(child: &tokio::process::Child, signal: &str) {
    if let Some(id) = child.id() {
        let mut kill = tokio::process::Command::new("kill");
        kill.arg(format!("-{signal}")).arg(id.to_string()).status().await.ok();
    }
}

/// On systems without signals, only the child's end is waited for.
#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn install() -> std::io::Result<Signals> {
        Ok(Signals)
    }

    async fn next(&mut self) -> &'static str {
        std::future::pending().await
    }
}

#[cfg(not(unix))]
async fn send_signal(_: &tokio::process::Child, _: &str) {}

/// The child's exit code, or 128 plus the number of the signal that ended it, as in shells.
fn exit_code(status: std::process::ExitStatus) -> ExitCode {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return ExitCode::from(128_u8.saturating_add(u8::try_from(signal).unwrap_or(0)));
    }
    ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}
