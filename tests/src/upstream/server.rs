use std::io::{Result, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::exchange::{Kind, Recorded, Reply, Shared};
use super::script::{Control, Script, script};
use super::{answers, connection};
use crate::wait_until;

impl Reply {
    /// A whole answer with this content type.
    #[must_use]
    pub fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Reply {
        Reply {
            kind: Kind::Whole {
                status,
                headers: vec![("content-type".to_owned(), content_type.to_owned())],
                body: body.into(),
            },
            close: false,
        }
    }

    /// A whole JSON answer.
    #[must_use]
    pub fn json(status: u16, body: impl Into<Vec<u8>>) -> Reply {
        Reply::new(status, "application/json", body)
    }

    /// Adds a header to a whole answer.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Reply {
        if let Kind::Whole { headers, .. } = &mut self.kind {
            headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    /// The body of a whole answer; empty for other replies.
    #[must_use]
    pub fn body(self) -> Vec<u8> {
        match self.kind {
            Kind::Whole { body, .. } => body,
            _ => Vec::new(),
        }
    }

    /// An answer whose steps the test controls.
    #[must_use]
    pub fn scripted(script: Script) -> Reply {
        Reply { kind: Kind::Scripted(script), close: true }
    }

    /// Writes these bytes, which include the head, and closes the connection.
    #[must_use]
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Reply {
        let bytes = bytes.into();
        Reply::written(move |mut socket| socket.write_all(&bytes))
    }

    /// Calls `write` to write the whole answer including its head, and closes the connection. If `write` fails, the
    /// connection is dropped without a shutdown, as [`reset`](super::reset) needs.
    #[must_use]
    pub fn written(write: impl FnOnce(&TcpStream) -> Result<()> + Send + 'static) -> Reply {
        Reply { kind: Kind::Written(Box::new(write)), close: true }
    }

    /// Writes `begin`, which includes the head, and then repeats `piece` until the other side closes.
    #[must_use]
    pub fn endless(begin: impl Into<Vec<u8>>, piece: impl Into<Vec<u8>>) -> Reply {
        let (begin, piece) = (begin.into(), piece.into());
        Reply::written(move |mut socket| {
            socket.write_all(&begin)?;
            loop {
                socket.write_all(&piece)?;
            }
        })
    }

    /// Closes the connection instead of answering.
    #[must_use]
    pub fn hangup() -> Reply {
        Reply { kind: Kind::Hangup, close: true }
    }

    /// Closes the connection after the answer, without a header that announces it.
    #[must_use]
    pub fn then_close(mut self) -> Reply {
        self.close = true;
        self
    }

    /// Keeps the connection open after the answer.
    #[must_use]
    pub fn then_keep(mut self) -> Reply {
        self.close = false;
        self
    }
}

/// The recording backend. Dropping it closes its listener.
pub struct Upstream {
    /// The address on which it listens.
    pub address: SocketAddr,
    shared: Arc<Shared>,
    listener: TcpListener,
}

impl Upstream {
    /// Starts a backend that answers every request with [`answers::ok`].
    #[must_use]
    pub fn start() -> Upstream {
        Upstream::start_with(answers::ok)
    }

    /// Starts a backend that answers the first POST request with a script, and all others as [`Upstream::start`] does.
    #[must_use]
    pub fn start_scripted() -> (Upstream, Control) {
        let (control, script) = script();
        let script = Mutex::new(Some(script));
        let upstream = Upstream::start_with(move |request| {
            let script = (request.method == "POST").then(|| script.lock().take()).flatten();
            script.map_or_else(|| answers::ok(request), Reply::scripted)
        });
        (upstream, control)
    }

    /// Starts a backend that answers with `responder`.
    ///
    /// # Panics
    /// If no port can be bound.
    #[must_use]
    pub fn start_with(responder: impl Fn(&Recorded) -> Reply + Send + Sync + 'static) -> Upstream {
        Upstream::start_idling(None, responder)
    }

    /// Starts a backend that answers with `responder`, and closes connections after the time `idle` without a request.
    ///
    /// # Panics
    /// If no port can be bound.
    #[must_use]
    pub fn start_idling(
        idle: Option<Duration>,
        responder: impl Fn(&Recorded) -> Reply + Send + Sync + 'static,
    ) -> Upstream {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            responder: Box::new(responder),
            idle,
            requests: Mutex::default(),
            connections: AtomicUsize::new(0),
            closed: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
        });
        std::thread::spawn({
            let (listener, shared) = (listener.try_clone().unwrap(), Arc::clone(&shared));
            move || accept(&listener, &shared)
        });
        Upstream { address, shared, listener }
    }

    /// Makes the listener look like one of another user. Only root may do this.
    #[cfg(unix)]
    pub fn give_to(&self, user: u32) -> Result<()> {
        std::os::unix::fs::fchown(&self.listener, Some(user), None)
    }

    /// The base URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A `[[backends]]` entry for this backend with the dialects `openai` and `anthropic`.
    #[must_use]
    pub fn backend(&self, name: &str) -> String {
        format!(
            "[[backends]]\nname = \"{name}\"\nurl = \"{}\"\ndialect = [\"openai\", \"anthropic\"]\ndefault_model = \"mock-1\"\n",
            self.url()
        )
    }

    /// All received requests, in order.
    ///
    /// # Panics
    /// If a connection's thread panicked.
    #[must_use]
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.requests.lock().clone()
    }

    /// Removes and returns the received requests, in order.
    ///
    /// # Panics
    /// If a connection's thread panicked.
    pub fn take_requests(&self) -> Vec<Recorded> {
        std::mem::take(&mut *self.shared.requests.lock())
    }

    /// The newest request.
    ///
    /// # Panics
    /// If none was received.
    #[must_use]
    pub fn last(&self) -> Recorded {
        self.requests().pop().expect("the backend got no request")
    }

    /// Waits until at least `count` requests were received, and returns them.
    pub fn wait_for(&self, count: usize) -> Vec<Recorded> {
        wait_until("a request at the backend", || Some(self.requests()).filter(|requests| requests.len() >= count))
    }

    /// The number of accepted connections.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// The number of open connections.
    #[must_use]
    pub fn open_connections(&self) -> usize {
        let closed = self.shared.closed.load(Ordering::SeqCst);
        self.connections() - closed
    }

    /// Waits until at least `count` connections were closed, by either side.
    pub fn wait_closed(&self, count: usize) {
        wait_until("a closed connection at the backend", || {
            (self.shared.closed.load(Ordering::SeqCst) >= count).then_some(())
        });
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        // The connection wakes the listener, which then stops.
        drop(TcpStream::connect(self.address));
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for socket in listener.incoming() {
        if shared.stopped.load(Ordering::SeqCst) {
            return;
        }
        let Ok(socket) = socket else { continue };
        let number = shared.connections.fetch_add(1, Ordering::SeqCst);
        let shared = Arc::clone(shared);
        std::thread::spawn(move || {
            // An error is ignored, because tests break connections on purpose.
            drop(connection::serve(socket, number, &shared));
            shared.closed.fetch_add(1, Ordering::SeqCst);
        });
    }
}
