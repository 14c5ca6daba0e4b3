//! A mock model server, fast enough to disappear behind whatever is measured in front of it.
//!
//! One thread, one runtime, bare TCP. Every chat completion is answered with the same event stream,
//! each event in an HTTP chunk of its own, as real servers frame them. Unpaced answers are one
//! write of one precomputed buffer; paced ones are a write per event, at fixed times after the
//! request, so that a slow reader does not stretch the schedule.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use crate::connection::Connection;
use crate::http1::{BodyDecoder, Head, HttpError};
use crate::sse;

/// The request header that asks for milliseconds between events.
pub const PACE_HEADER: &str = "x-bench-pace-ms";

/// The same in the query string, for gateways that drop unknown headers.
pub const PACE_QUERY: &str = "pace_ms=";

/// The path that streams an answer; all others are answered as a health or model listing would be.
pub const CHAT_PATH: &str = "/v1/chat/completions";

const STREAM_HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
     cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n";

/// Satisfies clients that ask for models, server or health information before they send work.
const INFO: &str = "{\"object\":\"list\",\"data\":[{\"id\":\"mock\",\"object\":\"model\",\
     \"created\":1700000000,\"owned_by\":\"bench\",\"max_model_len\":1000000}],\
     \"status\":\"ok\",\"model_path\":\"mock\",\"is_generation\":true,\"version\":\"0\"}";

/// What the mock has seen so far.
#[derive(Debug, Default)]
pub struct Seen {
    chats: AtomicU64,
    paced: AtomicU64,
    body_bytes: AtomicU64,
}

impl Seen {
    /// Chat requests answered.
    pub fn chats(&self) -> u64 {
        self.chats.load(Ordering::Relaxed)
    }

    /// Those of them that asked for a pace.
    pub fn paced(&self) -> u64 {
        self.paced.load(Ordering::Relaxed)
    }

    /// Bytes of all chat request bodies, without framing.
    pub fn body_bytes(&self) -> u64 {
        self.body_bytes.load(Ordering::Relaxed)
    }
}

/// A running mock; ends when dropped.
#[derive(Debug)]
pub struct Upstream {
    address: SocketAddr,
    seen: Arc<Seen>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Upstream {
    /// Starts a mock on this loopback port (0: any free one) in a thread of its own.
    ///
    /// # Errors
    /// When the port is taken, or the thread cannot start.
    pub fn start(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let seen = Arc::new(Seen::default());
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let shared = Arc::clone(&seen);
        let thread = std::thread::Builder::new().name("upstream".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = stopped => {}
                    _ = accept(listener, shared) => {}
                }
            });
        })?;
        Ok(Self {
            address,
            seen,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it has seen, live.
    pub fn seen(&self) -> &Seen {
        &self.seen
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the mock has failed the requests that met it; there is nobody to tell here.
            drop(thread.join());
        }
    }
}

/// The answers, framed once.
struct Answers {
    info: Vec<u8>,
    stream: Vec<u8>,
    /// What each write of a paced answer sends of `stream`: the head with the first event, then an
    /// event each, `[DONE]` and the last chunk together.
    writes: Vec<Range<usize>>,
}

impl Answers {
    fn new() -> Self {
        let mut stream = STREAM_HEAD.as_bytes().to_vec();
        let mut writes = Vec::new();
        let mut start = 0;
        let events = sse::events();
        for (index, event) in events.iter().enumerate() {
            stream.extend_from_slice(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes());
            if index + 1 == events.len() {
                stream.extend_from_slice(b"0\r\n\r\n");
            }
            writes.push(start..stream.len());
            start = stream.len();
        }
        let length = INFO.len();
        let info = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n\
             {INFO}"
        );
        Self {
            info: info.into_bytes(),
            stream,
            writes,
        }
    }
}

async fn accept(listener: TcpListener, seen: Arc<Seen>) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let answers = Arc::new(Answers::new());
    loop {
        // A failed accept concerns that one client, who will notice.
        if let Ok((stream, _)) = listener.accept().await {
            let (answers, seen) = (Arc::clone(&answers), Arc::clone(&seen));
            // So does a connection that ends badly: gateways cut idle ones at will.
            tokio::spawn(async move { drop(serve(stream, &answers, &seen).await) });
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum ServeError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Http(#[from] HttpError),
}

/// What the mock keeps of a request.
struct Request {
    chat: bool,
    pace: Option<Duration>,
    body_bytes: u64,
    closes: bool,
}

async fn serve(stream: TcpStream, answers: &Answers, seen: &Seen) -> Result<(), ServeError> {
    let mut connection = Connection::new(stream)?;
    while let Some(request) = read_request(&mut connection).await? {
        if !request.chat {
            connection.write(&answers.info).await?;
        } else {
            seen.chats.fetch_add(1, Ordering::Relaxed);
            seen.body_bytes.fetch_add(request.body_bytes, Ordering::Relaxed);
            match request.pace {
                None => connection.write(&answers.stream).await?,
                Some(pace) => {
                    seen.paced.fetch_add(1, Ordering::Relaxed);
                    write_paced(&mut connection, answers, pace).await?;
                }
            }
        }
        if request.closes {
            break;
        }
    }
    Ok(())
}

/// Reads one request to its end; `None` when the peer has closed between requests.
async fn read_request(connection: &mut Connection) -> Result<Option<Request>, ServeError> {
    let (mut request, mut body, length) = loop {
        if let Some((head, length)) = Head::parse(connection.pending())? {
            let (method, target) = head.request()?;
            let request = Request {
                chat: method == "POST" && target.starts_with(CHAT_PATH),
                pace: pace(&head, target),
                body_bytes: 0,
                closes: head.closes(),
            };
            break (request, head.body(BodyDecoder::Length(0))?, length);
        }
        if connection.fill().await? == 0 {
            return Ok(None);
        }
    };
    connection.consume(length);
    loop {
        let used = body.feed(connection.pending(), |part| {
            request.body_bytes += part.len() as u64;
        })?;
        connection.consume(used);
        if body.is_done() {
            return Ok(Some(request));
        }
        if connection.fill().await? == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
    }
}

/// Time between events that the header, or else the query string, asks for.
fn pace(head: &Head<'_>, target: &str) -> Option<Duration> {
    let in_query = || {
        let (_, query) = target.split_once('?')?;
        query.split('&').find_map(|pair| pair.strip_prefix(PACE_QUERY))
    };
    let millis: u64 = head.header(PACE_HEADER).or_else(in_query)?.parse().ok()?;
    (millis > 0).then(|| Duration::from_millis(millis))
}

async fn write_paced(connection: &mut Connection, answers: &Answers, pace: Duration) -> io::Result<()> {
    let start = Instant::now();
    for (index, write) in answers.writes.iter().enumerate() {
        // Timers round up to a millisecond, which the first event must not wait.
        if index > 0 {
            sleep_until(start + pace * index as u32).await;
        }
        connection.write(&answers.stream[write.clone()]).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sse::{ALL_EVENTS, EventCounter};

    fn head(text: &str) -> Head<'_> {
        Head::parse(text.as_bytes()).unwrap().unwrap().0
    }

    #[test]
    fn the_pace_comes_from_the_header_or_the_query() {
        let with = head("POST / HTTP/1.1\r\nX-Bench-Pace-Ms: 5\r\n\r\n");
        let without = head("POST / HTTP/1.1\r\n\r\n");
        assert_eq!(pace(&with, "/"), Some(Duration::from_millis(5)));
        assert_eq!(pace(&with, "/?pace_ms=7"), Some(Duration::from_millis(5)));
        assert_eq!(pace(&without, "/?a=1&pace_ms=7"), Some(Duration::from_millis(7)));
        assert_eq!(pace(&without, "/?pace_ms=0"), None);
        assert_eq!(pace(&without, "/"), None);
    }

    #[test]
    fn an_answer_is_one_chunk_per_event_and_ends_properly() {
        let answers = Answers::new();
        assert_eq!(answers.writes.len(), ALL_EVENTS);
        let mut body = head(STREAM_HEAD).body(BodyDecoder::UntilClose).unwrap();
        let mut counter = EventCounter::default();
        for (index, write) in answers.writes.iter().enumerate() {
            let skip = if index == 0 { STREAM_HEAD.len() } else { 0 };
            let bytes = &answers.stream[write.clone()][skip..];
            assert_eq!(body.feed(bytes, |part| counter.feed(part)).unwrap(), bytes.len());
            assert_eq!(counter.count(), index + 1);
        }
        assert!(body.is_done());
    }
}
