//! A model server whose model is a script.
//!
//! It stands at a socket, so that the whole way of a model's answer is measured: the request's bytes, the connection, the
//! client's reading. It records when each request had arrived and when its answer began.

use std::io::{ErrorKind, Result, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use memchr::memmem;
use muninn_tests::{Recorded, Reply, Upstream, until_closed};
use parking_lot::{Mutex, MutexGuard};

use super::Policy;
use super::answer::{Answer, body};
use super::conversation::Conversation;

pub(crate) struct ModelServer {
    upstream: Upstream,
    script: Arc<Script>,
}

struct Script {
    policy: Mutex<Policy>,
    log: Mutex<Log>,
    forbidden: Vec<String>,
    closes: bool,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Log {
    pub(crate) exchanges: Vec<Exchange>,
    pub(crate) escaped: usize,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Exchange {
    /// When the request's last byte had arrived.
    pub(crate) asked: Instant,
    /// When the first byte of the answer was about to be sent.
    pub(crate) answered: Instant,
}

impl ModelServer {
    /// Starts a server whose answers are errors until [`ModelServer::play`]. It looks for the `forbidden` texts in each
    /// request. If it `closes`, it closes each connection after one answer, so that none is idle.
    pub(crate) fn start(forbidden: Vec<String>, closes: bool) -> Self {
        let policy: Policy = Arc::new(|_| Answer::Status(503));
        let script = Arc::new(Script { policy: Mutex::new(policy), log: Mutex::default(), forbidden, closes });
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
    pub(crate) fn play(&self, policy: Policy) {
        *locked(&self.script.policy) = policy;
        *locked(&self.script.log) = Log::default();
        drop(self.upstream.take_requests());
    }

    pub(crate) fn log(&self) -> Log {
        locked(&self.script.log).clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.upstream.open_connections()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

impl Script {
    fn answer(&self, request: &Recorded) -> Reply {
        let asked = Instant::now();
        let escaped = self.forbidden.iter().any(|text| memmem::find(&request.body, text.as_bytes()).is_some());
        let conversation = Conversation::read(&request.body).unwrap_or_default();
        let policy = Arc::clone(&*locked(&self.policy));
        let reply = match policy(&conversation) {
            Answer::Turn { text, calls } => Reply::json(200, body(&text, &calls, &conversation)),
            Answer::Status(status) => {
                Reply::json(status, r#"{"error":{"message":"as the script says","type":"server_error"}}"#)
            }
            Answer::Silence => Reply::written(until_closed),
            Answer::Drip => Reply::written(drip),
            Answer::Break => Reply::raw([HEAD, &" ".repeat(2_000)].concat()),
        };
        let mut log = locked(&self.log);
        log.escaped += usize::from(escaped);
        log.exchanges.push(Exchange { asked, answered: Instant::now() });
        if self.closes { reply.header("connection", "close").then_close() } else { reply }
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
