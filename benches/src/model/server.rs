//! A model server whose model is a script.
//!
//! It stands at a socket, so that the whole way of a model's answer is measured and tried: the request's bytes, the
//! connection, the client's reading. It records when each request had arrived and when its answer began, which is when
//! the model's time begins and ends.

use std::io::{ErrorKind, Result, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use memchr::memmem;
use muninn_tests::{Recorded, Reply, Upstream, until_closed};

use super::heard::Heard;
use super::said::{Policy, Said, body};

/// A server on loopback.
pub(crate) struct ModelServer {
    upstream: Upstream,
    script: Arc<Script>,
}

struct Script {
    policy: Mutex<Arc<dyn Policy>>,
    log: Mutex<Log>,
    /// Texts that no request may hold.
    forbidden: Vec<String>,
    /// Whether each connection is for one request.
    closes: bool,
}

/// The requests that came.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log {
    pub(crate) exchanges: Vec<Exchange>,
    /// Requests that held a forbidden text.
    pub(crate) escaped: usize,
}

/// A request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exchange {
    /// When its last byte was there.
    pub(crate) asked: Instant,
    /// When the first byte of the answer was about to be sent.
    pub(crate) answered: Instant,
}

impl ModelServer {
    /// Starts a server whose answers are errors until [`ModelServer::play`]. It looks for the `forbidden` texts in each
    /// request. If it `closes`, it closes each connection after one answer, so that none is idle.
    pub(crate) fn start(forbidden: Vec<String>, closes: bool) -> Self {
        let script = Arc::new(Script {
            policy: Mutex::new(Arc::new(|_: &Heard| Said::Status(503))),
            log: Mutex::default(),
            forbidden,
            closes,
        });
        let upstream = Upstream::start_with({
            let script = Arc::clone(&script);
            move |request| script.answer(request)
        });
        Self { upstream, script }
    }

    pub(crate) fn url(&self) -> String {
        self.upstream.url()
    }

    /// Answers requests by this policy from now on, and clears the log.
    pub(crate) fn play(&self, policy: Arc<dyn Policy>) {
        *locked(&self.script.policy) = policy;
        *locked(&self.script.log) = Log::default();
        drop(self.upstream.take_requests());
    }

    /// The requests since then.
    pub(crate) fn log(&self) -> Log {
        locked(&self.script.log).clone()
    }

    /// The number of open connections.
    pub(crate) fn connections(&self) -> usize {
        self.upstream.open_connections()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Script {
    fn answer(&self, request: &Recorded) -> Reply {
        let asked = Instant::now();
        let holds = |text: &String| memmem::find(&request.body, text.as_bytes()).is_some();
        let escaped = self.forbidden.iter().any(holds);
        let heard = Heard::read(&request.body).unwrap_or_default();
        let policy = Arc::clone(&*locked(&self.policy));
        let reply = reply(&policy.answer(&heard), &heard);
        let mut log = locked(&self.log);
        log.escaped += usize::from(escaped);
        log.exchanges.push(Exchange { asked, answered: Instant::now() });
        match self.closes {
            true => reply.header("connection", "close").then_close(),
            false => reply,
        }
    }
}

fn reply(said: &Said, heard: &Heard) -> Reply {
    match said {
        Said::Answer { text, calls } => Reply::json(200, body(text, calls, heard)),
        Said::Status(status) => {
            Reply::json(*status, r#"{"error":{"message":"as the script says","type":"server_error"}}"#)
        }
        Said::Silence => Reply::written(until_closed),
        Said::Drip => Reply::written(drip),
        Said::Break => Reply::raw([HEAD, &" ".repeat(2_000)].concat()),
    }
}

/// The head of an answer of 4,000 bytes, which never come.
const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 4000\r\n\r\n";

/// Sends a byte a second until the client closes the connection.
fn drip(mut socket: &TcpStream) -> Result<()> {
    socket.write_all(HEAD.as_bytes())?;
    socket.set_read_timeout(Some(Duration::from_secs(1)))?;
    loop {
        socket.write_all(b" ")?;
        match socket.peek(&mut [0]) {
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            closed => return closed.map(drop),
        }
    }
}
