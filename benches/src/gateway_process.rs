//! The gateway under test as a child process, with a home of its own.
//!
//! It sees no environment but `PATH`: neither the developer's configuration nor a proxy setting may
//! change what is measured, and its ledger must not land in the developer's state directory.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::format::Format;
use crate::gateway_role::ROLE;
use crate::http1::{BodyDecoder, Head, HttpError};

/// How long the gateway may take to bind.
const BIND_LIMIT: Duration = Duration::from_secs(30);

/// How long it may take to index the repository.
const READY_LIMIT: Duration = Duration::from_secs(120);

/// What the gateway prints on stdout once it is bound, before its address.
const ANNOUNCED: &str = "listening on http://";

/// The child's stderr, within its home.
const LOG: &str = "stderr.log";

/// Why the gateway is not there to be measured.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// Its directory could not be made, or the process not started.
    #[error("cannot start the gateway")]
    Start(#[source] io::Error),
    /// It said nothing, or something else than its address; holds the end of its log.
    #[error("the gateway announced no address; its log ends:\n{0}")]
    NoAddress(String),
    /// It could not be told to stop.
    #[error("cannot stop the gateway")]
    Stop(#[source] io::Error),
    /// It did not answer a request for its health.
    #[error("GET {1} at {0}")]
    Health(SocketAddr, &'static str, #[source] io::Error),
    /// Its index did not become ready in time; holds the last state that it gave.
    #[error("the index is still not ready; its state is {0}")]
    NotReady(String),
}

/// A running gateway; killed when dropped, and its home removed.
#[derive(Debug)]
pub struct GatewayProcess {
    child: Child,
    address: SocketAddr,
    /// Kept open: a gateway that prints once more must not die of it.
    _stdout: BufReader<ChildStdout>,
    home: PathBuf,
    /// Removed with the process, unless the home is the caller's.
    _own_home: Option<TempDir>,
}

impl GatewayProcess {
    /// Starts this very program in the gateway's role, serving `root`, with the mock on
    /// `upstream_port` as its only backend, and waits until it has bound. `speaks` is the only
    /// format that the gateway may speak to the mock: requests in another one it must convert.
    ///
    /// # Errors
    /// When it cannot be started, or announces no address in time.
    pub fn start(root: &Path, upstream_port: u16, speaks: Format) -> Result<Self, GatewayError> {
        Self::configured(root, &configuration(upstream_port, speaks))
    }

    /// The same, with a whole configuration.
    ///
    /// # Errors
    /// When it cannot be started, or announces no address in time.
    pub fn configured(root: &Path, configuration: &str) -> Result<Self, GatewayError> {
        let home = tempfile::Builder::new()
            .prefix("muninn-bench-")
            .tempdir()
            .map_err(GatewayError::Start)?;
        let mut gateway = Self::serve(home.path(), root, configuration)?;
        gateway._own_home = Some(home);
        Ok(gateway)
    }

    /// [`Self::start`] with a home that stays, and may have been used before.
    ///
    /// # Errors
    /// Those of [`Self::start`].
    pub fn start_in(home: &Path, root: &Path, upstream_port: u16, speaks: Format) -> Result<Self, GatewayError> {
        Self::serve(home, root, &configuration(upstream_port, speaks))
    }

    fn serve(home: &Path, root: &Path, configuration: &str) -> Result<Self, GatewayError> {
        let program = std::env::current_exe().map_err(GatewayError::Start)?;
        let mut command = Command::new(program);
        command.arg(ROLE).arg("serve").arg("--root").arg(root);
        command.args(["--listen", "127.0.0.1:0"]);
        Self::spawn(command, home, configuration)
    }

    /// The state directory of a gateway with this home.
    pub fn state_dir(home: &Path) -> PathBuf {
        home.join("state").join("muninn")
    }

    /// Sends SIGTERM, and returns how long the process took to end.
    ///
    /// # Errors
    /// When it cannot be sent, or the process not be waited for.
    pub fn stop(mut self) -> Result<Duration, GatewayError> {
        let started = Instant::now();
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let sent = pid.map_or(Ok(()), |pid| kill_process(pid, Signal::TERM));
        sent.map_err(|error| GatewayError::Stop(error.into()))?;
        self.child.wait().map_err(GatewayError::Stop)?;
        Ok(started.elapsed())
    }

    fn spawn(mut command: Command, home: &Path, configuration: &str) -> Result<Self, GatewayError> {
        let log = home.join(LOG);
        settle(&mut command, home, configuration)
            .and_then(|()| {
                let stderr = File::create(&log)?;
                command.stderr(stderr).stdin(Stdio::null());
                Ok(())
            })
            .map_err(GatewayError::Start)?;
        let mut child = command.stdout(Stdio::piped()).spawn().map_err(GatewayError::Start)?;
        match child.stdout.take().and_then(announced) {
            Some((address, stdout)) => Ok(Self {
                child,
                address,
                _stdout: stdout,
                home: home.to_owned(),
                _own_home: None,
            }),
            None => {
                end(&mut child);
                Err(GatewayError::NoAddress(tail(&log)))
            }
        }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The last lines of its log.
    pub fn log_tail(&self) -> String {
        tail(&self.home.join(LOG))
    }

    /// Waits until `GET /healthz` says that the index is ready.
    ///
    /// # Errors
    /// When there is no answer, or the index is not ready in time.
    pub fn wait_until_indexed(&self) -> Result<(), GatewayError> {
        let deadline = Instant::now() + READY_LIMIT;
        loop {
            let path = "/healthz";
            let body = get(self.address, path).map_err(|error| GatewayError::Health(self.address, path, error))?;
            let health: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
            let state = &health["index"]["state"];
            if state == "ready" {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(GatewayError::NotReady(state.to_string()));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for GatewayProcess {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

fn end(child: &mut Child) {
    // Either fails only when the process has ended already.
    drop(child.kill());
    drop(child.wait());
}

fn configuration(upstream_port: u16, speaks: Format) -> String {
    format!(
        "[[backends]]\nname = \"mock\"\nurl = \"http://127.0.0.1:{upstream_port}\"\n\
         dialect = \"{speaks}\"\n"
    )
}

/// Writes the configuration and points every directory of the child into `home`.
fn settle(command: &mut Command, home: &Path, configuration: &str) -> io::Result<()> {
    let config = home.join("muninn.toml");
    fs::write(&config, configuration)?;
    command.env_clear().env("HOME", home);
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    for (variable, name) in [
        ("XDG_CONFIG_HOME", "config"),
        ("XDG_STATE_HOME", "state"),
        ("XDG_CACHE_HOME", "cache"),
        ("XDG_DATA_HOME", "data"),
    ] {
        let directory: PathBuf = home.join(name);
        fs::create_dir_all(&directory)?;
        command.env(variable, directory);
    }
    command.env("MUNINN_CONFIG", config);
    Ok(())
}

/// The address in the first line of stdout. Read on a thread of its own, for a pipe has no timeout.
fn announced(stdout: ChildStdout) -> Option<(SocketAddr, BufReader<ChildStdout>)> {
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        let mut stdout = BufReader::new(stdout);
        let mut line = String::new();
        let read = stdout.read_line(&mut line);
        // Nobody listens any more after the limit.
        drop(send.send(read.ok().map(|_| (line, stdout))));
    });
    let (line, stdout) = receive.recv_timeout(BIND_LIMIT).ok()??;
    let address = line.trim().strip_prefix(ANNOUNCED)?.parse().ok()?;
    Some((address, stdout))
}

/// The last lines of a log.
fn tail(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}

/// The body of a plain GET, on a connection of its own.
fn get(address: SocketAddr, path: &str) -> io::Result<Vec<u8>> {
    let invalid = |error: HttpError| io::Error::new(io::ErrorKind::InvalidData, error);
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let (head, length) = Head::parse(&answer)
        .map_err(invalid)?
        .ok_or(io::ErrorKind::UnexpectedEof)?;
    let mut decoder = head.body(BodyDecoder::UntilClose).map_err(invalid)?;
    let mut body = Vec::new();
    decoder
        .feed(&answer[length..], |part| body.extend_from_slice(part))
        .map_err(invalid)?;
    Ok(body)
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::upstream::Upstream;

    fn shell(script: &str) -> Result<GatewayProcess, GatewayError> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        let home = tempfile::tempdir().unwrap();
        GatewayProcess::spawn(command, home.path(), &configuration(1234, Format::Messages))
    }

    #[test]
    fn the_announced_address_is_taken() {
        let script = "grep -q 'url = \"http://127.0.0.1:1234\"' \"$MUNINN_CONFIG\" || exit 1
            grep -q 'dialect = \"messages\"' \"$MUNINN_CONFIG\" || exit 1
            test -d \"$XDG_STATE_HOME\" && echo 'listening on http://127.0.0.1:4747'; exec cat";
        let gateway = shell(script).unwrap();
        assert_eq!(gateway.address().to_string(), "127.0.0.1:4747");
    }

    #[test]
    fn a_gateway_that_fails_is_reported_with_its_log() {
        let error = shell("echo 'no such backend' >&2; exit 2").unwrap_err();
        assert!(error.to_string().contains("no such backend"), "{error}");
    }

    #[test]
    fn a_plain_get_reads_the_body() {
        let upstream = Upstream::start(0).unwrap();
        let body = get(upstream.address(), "/health").unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["status"], "ok");
    }
}
