//! The client's side of one request, on connections that are used again.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use muninn_tests::http::Connection;
use parking_lot::Mutex;
use serde_json::Value;

use super::backend;
use super::conversation::Request;
use crate::load::events;
use crate::load::format::Format;

/// For how long a client uses an idle connection again. The vendors' clients for Python say 5 seconds, those for
/// JavaScript 4; a gateway that closes an idle connection later than that does not fail their next request.
const KEPT: Duration = Duration::from_secs(5);

pub(super) struct Client {
    gateway: SocketAddr,
    /// Each with the time of its last use, the latest last.
    idle: Mutex<Vec<(Instant, Connection)>>,
}

impl Client {
    pub(super) fn new(gateway: SocketAddr) -> Self {
        Self { gateway, idle: Mutex::default() }
    }

    pub(super) fn leave(&self) {
        self.idle.lock().clear();
    }

    /// Sends a request and checks that the answer is whole.
    pub(super) fn ask(&self, request: &Request, fault: Option<&str>) -> Result<()> {
        let mut connection = match self.kept() {
            Some(connection) => connection,
            None => Connection::try_open(self.gateway).context("the connection broke")?,
        };
        let mut headers = vec![
            ("content-type", "application/json"),
            ("x-session-id", request.session.as_str()),
            (backend::REQUEST, request.id.as_str()),
        ];
        headers.extend(fault.map(|fault| (backend::FAULT, fault)));
        connection.send("POST", request.format.path(), &headers, request.body.as_bytes());
        let answer = connection.receive(usize::MAX).context("the connection broke")?;
        if answer.headers.get("connection") != Some("close") {
            let mut idle = self.idle.lock();
            idle.push((Instant::now(), connection));
        }
        check(request.format, request.streamed, answer.status, &answer.body)
    }

    fn kept(&self) -> Option<Connection> {
        let mut idle = self.idle.lock();
        let (used, connection) = idle.pop()?;
        if used.elapsed() < KEPT {
            return Some(connection);
        }
        // The others have been idle for longer.
        idle.clear();
        None
    }
}

/// Checks that this is the backend's whole answer, in the client's format.
fn check(format: Format, streamed: bool, status: u16, body: &[u8]) -> Result<()> {
    let start = String::from_utf8_lossy(&body[..body.len().min(300)]);
    ensure!(status == 200, "status {status}: {start}");
    if streamed {
        return events::check(format, body).map(drop);
    }
    let answer: Value = serde_json::from_slice(body).with_context(|| start.clone().into_owned())?;
    let text = match format {
        Format::Chat => &answer["choices"][0]["message"]["content"],
        Format::Messages => &answer["content"][0]["text"],
        Format::Responses => &answer["output"][0]["content"][0]["text"],
    };
    ensure!(text == "ok", "no answer: {start}");
    Ok(())
}
