//! The client's side of one request, on connections that are used again.

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use muninn_tests::http::Connection;
use serde_json::Value;

use super::backend::{self, Fault};
use super::conversation::Request;
use crate::format::Format;
use crate::sse;

/// For how long a client uses an idle connection again. The vendors' clients for Python say 5 seconds, those for
/// JavaScript 4; a gateway that closes an idle connection later than that does not fail their next request.
const KEPT: Duration = Duration::from_secs(5);

/// All clients together.
pub(super) struct Client {
    gateway: SocketAddr,
    /// With when each was last used, the latest last.
    idle: Mutex<Vec<(Instant, Connection)>>,
}

impl Client {
    pub(super) fn new(gateway: SocketAddr) -> Self {
        Self { gateway, idle: Mutex::default() }
    }

    /// Closes the connections that are idle.
    pub(super) fn leave(&self) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Sends a request and reads its answer, which must be the whole one.
    ///
    /// # Errors
    /// A description of the fault in the answer.
    pub(super) fn ask(&self, request: &Request, fault: Option<Fault>) -> Result<()> {
        let mut connection = match self.kept() {
            Some(connection) => connection,
            None => Connection::try_open(self.gateway).context("the connection broke")?,
        };
        let mut headers = vec![
            ("content-type", "application/json"),
            ("x-session-id", request.session.as_str()),
            (backend::REQUEST, request.id.as_str()),
        ];
        headers.extend(fault.map(|fault| (backend::FAULT, fault.name())));
        connection.send("POST", request.format.path(), &headers, request.body.as_bytes());
        let answer = connection.receive(usize::MAX).context("the connection broke")?;
        if answer.headers.get("connection") != Some("close") {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            idle.push((Instant::now(), connection));
        }
        check(request.format, request.streamed, answer.status, &answer.body)
    }

    /// A connection that may be used again.
    fn kept(&self) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let (used, connection) = idle.pop()?;
        if used.elapsed() < KEPT {
            return Some(connection);
        }
        // The others have been idle for longer.
        idle.clear();
        None
    }
}

/// Whether this is the backend's whole answer, in the client's format.
fn check(format: Format, streamed: bool, status: u16, body: &[u8]) -> Result<()> {
    let start = String::from_utf8_lossy(&body[..body.len().min(300)]);
    ensure!(status == 200, "status {status}: {start}");
    if streamed {
        // Signs of life are no events of the answer.
        return sse::check(format, body).map(drop);
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

#[cfg(test)]
mod tests {
    use muninn_tests::answers;

    use super::*;

    #[test]
    fn whole_answers_pass_and_halves_fail() {
        for format in Format::ALL {
            let stream = sse::events(format, sse::plain_word).concat();
            check(format, true, 200, stream.as_bytes()).unwrap();
            assert!(check(format, true, 200, &stream.as_bytes()[..stream.len() / 2]).is_err());
            let whole = answers::whole(format.path());
            check(format, false, 200, whole.as_bytes()).unwrap();
            assert!(check(format, false, 502, whole.as_bytes()).is_err());
        }
    }
}
