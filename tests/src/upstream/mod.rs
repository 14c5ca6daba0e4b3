//! A backend that records requests and answers by a function or a script.

pub mod answers;
mod connection;
mod script;

use std::io::{Result, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::http::Headers;
use crate::wait_until;

#[cfg(unix)]
pub use connection::reset;
pub use connection::until_closed;
pub use script::{Control, Script, script};

/// A request as it came over the wire.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// The method.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// The headers.
    pub headers: Headers,
    /// The body, byte for byte.
    pub body: Vec<u8>,
    /// Which connection it came on, counted from 0.
    pub connection: usize,
}

impl Recorded {
    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// The reaction to a request.
pub struct Reply {
    pub(crate) kind: Kind,
    pub(crate) close: bool,
}

pub(crate) enum Kind {
    Whole {
        status: u16,
        headers: Vec<(String, String)>,
        body: Vec<u8>,
    },
    Scripted(Script),
    Written(Box<Writing>),
    Hangup,
}

impl Reply {
    /// A whole answer of this content type.
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

    /// The body of a whole answer, empty for any other.
    #[must_use]
    pub fn body(self) -> Vec<u8> {
        match self.kind {
            Kind::Whole { body, .. } => body,
            _ => Vec::new(),
        }
    }

    /// An answer in steps under the test's control.
    #[must_use]
    pub fn scripted(script: Script) -> Reply {
        Reply {
            kind: Kind::Scripted(script),
            close: true,
        }
    }

    /// Writes these bytes, head and all, and closes the connection.
    #[must_use]
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Reply {
        let bytes = bytes.into();
        Reply::written(move |mut socket| socket.write_all(&bytes))
    }

    /// Has `write` write the whole answer, head and all, and closes the connection. If it fails, nothing more is
    /// done with the connection, so that [`reset`](super::reset) decides how it ends.
    #[must_use]
    pub fn written(write: impl FnOnce(&TcpStream) -> Result<()> + Send + 'static) -> Reply {
        Reply {
            kind: Kind::Written(Box::new(write)),
            close: true,
        }
    }

    /// Writes `begin`, head and all, and then `piece` again and again until the other side closes.
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
        Reply {
            kind: Kind::Hangup,
            close: true,
        }
    }

    /// Closes the connection after the answer, without having said so in a header.
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

/// Writes an answer to a connection.
type Writing = dyn FnOnce(&TcpStream) -> Result<()> + Send;

type Responder = dyn Fn(&Recorded) -> Reply + Send + Sync;

struct Shared {
    responder: Box<Responder>,
    /// How long a connection may be idle.
    idle: Option<Duration>,
    requests: Mutex<Vec<Recorded>>,
    connections: AtomicUsize,
    closed: AtomicUsize,
    stopped: AtomicBool,
}

/// The backend; it stops accepting when dropped.
pub struct Upstream {
    /// The address on which it listens.
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

impl Upstream {
    /// Answers everything in the right shape with the text `ok`.
    #[must_use]
    pub fn start() -> Upstream {
        Upstream::start_with(answers::ok)
    }

    /// Answers the first conversation request by a script, and everything else as [`Upstream::start`] does.
    #[must_use]
    pub fn start_scripted() -> (Upstream, Control) {
        let (control, script) = script();
        let script = Mutex::new(Some(script));
        let upstream = Upstream::start_with(move |request| {
            let script = (request.method == "POST")
                .then(|| script.lock().unwrap().take())
                .flatten();
            script.map_or_else(|| answers::ok(request), Reply::scripted)
        });
        (upstream, control)
    }

    /// Answers by `responder`.
    ///
    /// # Panics
    /// When no port can be had.
    #[must_use]
    pub fn start_with(responder: impl Fn(&Recorded) -> Reply + Send + Sync + 'static) -> Upstream {
        Upstream::start_idling(None, responder)
    }

    /// Answers by `responder`, and closes connections that are `idle` for this long.
    ///
    /// # Panics
    /// When no port can be had.
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
            let shared = Arc::clone(&shared);
            move || accept(&listener, &shared)
        });
        Upstream { address, shared }
    }

    /// Its base address.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A `[[backends]]` entry for it that speaks both dialects.
    #[must_use]
    pub fn backend(&self, name: &str) -> String {
        format!(
            "[[backends]]\nname = \"{name}\"\nurl = \"{}\"\ndialect = [\"openai\", \"anthropic\"]\ndefault_model = \"mock-1\"\n",
            self.url()
        )
    }

    /// Everything that came so far, in order.
    ///
    /// # Panics
    /// When a connection's thread panicked.
    #[must_use]
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.requests.lock().unwrap().clone()
    }

    /// Takes the requests that came since they were last taken, in order.
    ///
    /// # Panics
    /// When a connection's thread panicked.
    pub fn take_requests(&self) -> Vec<Recorded> {
        std::mem::take(&mut *self.shared.requests.lock().unwrap())
    }

    /// The newest request.
    ///
    /// # Panics
    /// When none came.
    #[must_use]
    pub fn last(&self) -> Recorded {
        self.requests().pop().expect("the backend got no request")
    }

    /// Waits until `count` requests have come, and returns them.
    pub fn wait_for(&self, count: usize) -> Vec<Recorded> {
        wait_until("a request at the backend", || {
            Some(self.requests()).filter(|requests| requests.len() >= count)
        })
    }

    /// How many connections were accepted.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// How many connections are open.
    #[must_use]
    pub fn open_connections(&self) -> usize {
        let closed = self.shared.closed.load(Ordering::SeqCst);
        self.connections() - closed
    }

    /// Waits until `count` connections have been closed, by either side.
    pub fn wait_closed(&self, count: usize) {
        wait_until("a closed connection at the backend", || {
            (self.shared.closed.load(Ordering::SeqCst) >= count).then_some(())
        });
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        // The listener wakes up and sees that it is to stop.
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
            // A client that breaks off is a normal thing here.
            drop(connection::serve(socket, number, &shared));
            shared.closed.fetch_add(1, Ordering::SeqCst);
        });
    }
}
