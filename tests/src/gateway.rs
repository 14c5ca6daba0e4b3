//! A running gateway.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::Mutex;
use serde_json::Value;

use crate::http::{self, Connection, Response};
use crate::wait_until;

/// A running `muninn serve` process. Dropping it kills the process by its id.
pub struct Gateway {
    /// The address on which it listens.
    pub address: SocketAddr,
    child: Child,
    stderr: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

/// The result of an ended gateway.
#[derive(Debug)]
pub struct Stopped {
    /// The exit status.
    pub status: ExitStatus,
    /// The complete log.
    pub stderr: String,
}

impl Gateway {
    /// Starts a command that prints `listening on http://ADDRESS`.
    ///
    /// # Errors
    /// [`Stopped`] if the command prints another line or ends.
    ///
    /// # Panics
    /// If the command cannot be started.
    pub fn spawn(mut command: Command) -> Result<Gateway, Stopped> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stderr = Arc::new(Mutex::new(String::new()));
        let mut pipe = BufReader::new(child.stderr.take().unwrap());
        let reader = std::thread::spawn({
            let stderr = Arc::clone(&stderr);
            move || {
                let mut line = Vec::new();
                while pipe.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                    stderr.lock().push_str(&String::from_utf8_lossy(&line));
                    line.clear();
                }
            }
        });
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://").and_then(|address| address.parse().ok());
        let Some(address) = address else {
            let status = child.wait().unwrap();
            reader.join().unwrap();
            let stderr = std::mem::take(&mut *stderr.lock());
            return Err(Stopped { status, stderr });
        };
        std::thread::spawn(move || {
            let mut ignored = Vec::new();
            stdout.read_to_end(&mut ignored).ok();
        });
        Ok(Gateway { address, child, stderr, reader: Some(reader) })
    }

    /// The process's id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The log so far.
    #[must_use]
    pub fn stderr(&self) -> String {
        self.stderr.lock().clone()
    }

    /// Sends a request on a new connection, and returns the response.
    #[must_use]
    pub fn request(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        http::request(self.address, method, target, headers, body)
    }

    /// Sends a JSON request on a new connection, and returns the response.
    #[must_use]
    pub fn post(&self, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        let mut all = vec![("Content-Type", "application/json")];
        all.extend_from_slice(headers);
        self.request("POST", target, &all, body)
    }

    /// The answer of `/healthz`.
    #[must_use]
    pub fn health(&self) -> Value {
        self.request("GET", "/healthz", &[], b"").json()
    }

    /// Waits until the repository is indexed with its history and vectors. Before that, a question may find less.
    ///
    /// # Panics
    /// If that takes longer than [`PATIENCE`](crate::PATIENCE).
    pub fn wait_ready(&self) {
        // One connection for all looks: the gateway reads the machine's table of sockets for each new one.
        let mut connection = Connection::open(self.address);
        wait_until("a ready index", || {
            connection.send("GET", "/healthz", &[], b"");
            (connection.response().json()["index"]["settled"] == true).then_some(())
        });
    }

    /// The targets of the process's file descriptors. Databases are excluded, because they are opened at their first
    /// use and stay open.
    ///
    /// # Panics
    /// If `/proc` is not available, as on systems other than Linux.
    #[must_use]
    pub fn descriptors(&self) -> Vec<String> {
        let entries = std::fs::read_dir(format!("/proc/{}/fd", self.id())).unwrap();
        // A descriptor may be closed meanwhile.
        let targets = entries.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
        let names = targets.map(|target| target.to_string_lossy().into_owned());
        names.filter(|name| !name.contains(".db")).collect()
    }

    /// The process's memory in MiB. `field` is `VmRSS` for the current use or `VmHWM` for the peak.
    ///
    /// # Panics
    /// If `/proc` is not available, as on systems other than Linux.
    #[must_use]
    pub fn memory_mb(&self, field: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
        let kilobytes = line.trim_start_matches(':').trim().trim_end_matches(" kB");
        kilobytes.parse::<u64>().unwrap() / 1024
    }

    /// The number of conversation requests in progress, from the metrics.
    ///
    /// # Panics
    /// If the metrics lack it.
    #[must_use]
    pub fn active_requests(&self) -> usize {
        let metrics = self.request("GET", "/metrics", &[], b"").text();
        let line = metrics.lines().find_map(|line| line.strip_prefix("muninn_active_requests "));
        line.unwrap().parse().unwrap()
    }

    /// Sends SIGTERM and does not wait.
    pub fn terminate(&self) {
        self.signal("-TERM");
    }

    /// Sends SIGHUP and does not wait.
    pub fn hang_up(&self) {
        self.signal("-HUP");
    }

    fn signal(&self, signal: &str) {
        let status = Command::new("kill").args([signal, &self.id().to_string()]).status();
        assert!(status.is_ok_and(|status| status.success()), "kill {signal}");
    }

    /// Waits until the log contains `words` at least `count` times.
    ///
    /// # Panics
    /// If it does not within [`PATIENCE`](crate::PATIENCE).
    pub fn wait_logged(&self, words: &str, count: usize) {
        wait_until(&format!("{count} times `{words}` in the log"), || {
            (self.stderr().matches(words).count() >= count).then_some(())
        });
    }

    /// Whether the process still runs.
    ///
    /// # Panics
    /// If the system cannot report its status.
    #[must_use]
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Sends SIGTERM and waits for the end.
    #[must_use]
    pub fn stop(self) -> Stopped {
        self.terminate();
        self.wait()
    }

    /// Sends SIGTERM and waits for the end.
    ///
    /// # Panics
    /// If the exit status is a failure, or the log contains a panic.
    pub fn stop_cleanly(self) -> Stopped {
        let stopped = self.stop();
        let clean = stopped.status.success() && !stopped.stderr.contains("panicked");
        assert!(clean, "{stopped:?}");
        stopped
    }

    /// Waits for the end.
    ///
    /// # Panics
    /// If the process does not end within [`PATIENCE`](crate::PATIENCE).
    #[must_use]
    pub fn wait(mut self) -> Stopped {
        let status = wait_until("the gateway's end", || self.child.try_wait().unwrap());
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
        Stopped { status, stderr: self.stderr() }
    }

    /// Kills the process with SIGKILL.
    ///
    /// # Panics
    /// If the process cannot be killed.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
