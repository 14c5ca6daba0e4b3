//! A model server whose model is a script.
//!
//! It stands on a socket, so that what is measured and tried is the whole way that a model's answer takes: the request's
//! bytes, the connection, the client's reading. It writes down when each request was there whole and when it was
//! answered, which is when the model's time begins and ends.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use memchr::memmem;

use super::heard::Heard;
use super::said::{Policy, Said, body};
use crate::http1::{BodyDecoder, Head};

/// How often a connection that waits looks whether it still should.
const LOOK: Duration = Duration::from_millis(20);

/// A server on loopback. Ends when it is dropped.
pub(crate) struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    policy: Mutex<Arc<dyn Policy>>,
    heard: Mutex<Log>,
    /// Texts that nobody may send here.
    forbidden: Vec<String>,
    /// Whether each connection is for one request.
    closes: bool,
    connections: AtomicUsize,
    stopped: AtomicBool,
}

/// What a server was asked.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log {
    pub(crate) exchanges: Vec<Exchange>,
    /// Requests with a text in them that must not be sent.
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
    /// Starts a server that answers nothing of use yet. `forbidden` are texts to look for in what is sent; `closes` has
    /// it close each connection after one answer, so that none is idle.
    pub(crate) fn start(forbidden: Vec<String>, closes: bool) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let nobody = |_: &Heard| Said::Status(503);
        let shared = Arc::new(Shared {
            policy: Mutex::new(Arc::new(nobody)),
            heard: Mutex::default(),
            forbidden,
            closes,
            connections: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("model-server".to_owned())
            .spawn(move || accept(&listener, &accepting))?;
        Ok(Self {
            address,
            shared,
            thread: Some(thread),
        })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Has requests from now on answered by this policy, and forgets what was asked before.
    pub(crate) fn play(&self, policy: Arc<dyn Policy>) {
        *locked(&self.shared.policy) = policy;
        *locked(&self.shared.heard) = Log::default();
    }

    /// What was asked since.
    pub(crate) fn log(&self) -> Log {
        locked(&self.shared.heard).clone()
    }

    /// Connections that are open.
    pub(crate) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.stopped.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        shared.connections.fetch_add(1, Ordering::SeqCst);
        let serving = Arc::clone(shared);
        let serve = move || {
            // Whoever goes in the middle is gone: there is nobody to tell.
            drop(serving.serve(stream));
            serving.connections.fetch_sub(1, Ordering::SeqCst);
        };
        let started = std::thread::Builder::new().name("model-client".to_owned()).spawn(serve);
        if started.is_err() {
            shared.connections.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

impl Shared {
    fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(LOOK))?;
        let mut buffer = Vec::new();
        while let Some(request) = self.request(&mut stream, &mut buffer)? {
            let asked = Instant::now();
            let escaped = self
                .forbidden
                .iter()
                .any(|text| memmem::find(&request, text.as_bytes()).is_some());
            let heard = Heard::read(&request).unwrap_or_default();
            let policy = Arc::clone(&*locked(&self.policy));
            let said = policy.answer(&heard);
            let response = self.response(&said, &heard);
            let mut log = locked(&self.heard);
            log.escaped += usize::from(escaped);
            log.exchanges.push(Exchange {
                asked,
                answered: Instant::now(),
            });
            drop(log);
            match said {
                Said::Silence => return self.until_gone(&stream, |_| Ok(()), LOOK),
                Said::Drip => {
                    stream.write_all(
                        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 4000\r\n\r\n",
                    )?;
                    return self.until_gone(&stream, |mut stream| stream.write_all(b" "), Duration::from_secs(1));
                }
                Said::Break => {
                    stream.write_all(&response.as_bytes()[..response.len() / 2])?;
                    return Ok(());
                }
                Said::Answer { .. } | Said::Status(_) => stream.write_all(response.as_bytes())?,
            }
            if self.closes {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The body of the next request; `None` when there will be none.
    fn request(&self, stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<Option<Vec<u8>>> {
        let mut head: Option<(usize, BodyDecoder)> = None;
        let mut body = Vec::new();
        loop {
            if head.is_none()
                && let Some((found, length)) = Head::parse(buffer).map_err(io::Error::other)?
            {
                let decoder = found.body(BodyDecoder::Length(0)).map_err(io::Error::other)?;
                head = Some((length, decoder));
                buffer.drain(..length);
            }
            if let Some((_, decoder)) = &mut head {
                let used = decoder.feed(buffer, |piece| body.extend_from_slice(piece));
                buffer.drain(..used.map_err(io::Error::other)?);
                if decoder.is_done() {
                    return Ok(Some(body));
                }
            }
            let mut piece = [0; 1 << 16];
            match stream.read(&mut piece) {
                Ok(0) => return Ok(None),
                Ok(read) => buffer.extend_from_slice(&piece[..read]),
                Err(error) if is_pause(&error) && !self.stopped.load(Ordering::SeqCst) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn response(&self, said: &Said, heard: &Heard) -> String {
        let (status, body) = match said {
            Said::Answer { text, calls } => ("200 OK".to_owned(), body(text, calls, heard)),
            Said::Status(status) => (
                format!("{status} Scripted"),
                r#"{"error":{"message":"as the script says","type":"server_error"}}"#.to_owned(),
            ),
            Said::Break => ("200 OK".to_owned(), body(&"half of it. ".repeat(200), &[], heard)),
            Said::Silence | Said::Drip => return String::new(),
        };
        let connection = if self.closes { "close" } else { "keep-alive" };
        format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: {connection}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
    }

    /// Does something each `pause`, until the client goes.
    fn until_gone(
        &self,
        stream: &TcpStream,
        mut act: impl FnMut(&TcpStream) -> io::Result<()>,
        pause: Duration,
    ) -> io::Result<()> {
        let mut next = Instant::now();
        while !self.stopped.load(Ordering::SeqCst) {
            match stream.peek(&mut [0]) {
                Ok(0) => return Ok(()),
                Ok(_) => std::thread::sleep(LOOK),
                Err(error) if is_pause(&error) => {}
                Err(error) => return Err(error),
            }
            if Instant::now() >= next {
                act(stream)?;
                next = Instant::now() + pause;
            }
        }
        Ok(())
    }
}

fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
