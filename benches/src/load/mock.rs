//! A mock model server that is much faster than the gateways that are measured in front of it.
//!
//! One thread, one runtime, bare TCP. Every request for an answer gets the same event stream in its own format, each event
//! in an HTTP chunk of its own, as real servers frame them. Unpaced answers are one write of one precomputed buffer. Paced
//! answers are a write per event, at fixed times after the request, so that a slow reader does not stretch the schedule,
//! and each word is the moment at which it was sent.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use muninn_tests::http::chunk;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use super::format::Format;
use super::http1::{BodyDecoder, Connection, Head};
use super::{events, stamp};

/// The request header that asks for milliseconds between events.
pub(crate) const PACE_HEADER: &str = "x-bench-pace-ms";

/// The same in the query string, for gateways that drop unknown headers.
pub(crate) const PACE_QUERY: &str = "pace_ms=";

const STREAM_HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
     cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n";

/// Satisfies clients that ask for models, server or health information before they send work.
const INFO: &str = "{\"object\":\"list\",\"data\":[{\"id\":\"mock\",\"object\":\"model\",\
     \"created\":1700000000,\"owned_by\":\"bench\",\"max_model_len\":1000000}],\
     \"status\":\"ok\",\"model_path\":\"mock\",\"is_generation\":true,\"version\":\"0\"}";

/// The mock's counters of requests that were answered with a stream.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    answered: [AtomicU64; 3],
    paced: AtomicU64,
    body_bytes: AtomicU64,
}

impl Seen {
    /// Answers in a format, paced answers, and the bytes of all bodies without framing.
    pub(crate) fn counts(&self, format: Format) -> [u64; 3] {
        [&self.answered[format as usize], &self.paced, &self.body_bytes].map(|count| count.load(Ordering::Relaxed))
    }
}

#[derive(Debug)]
pub(crate) struct Mock {
    pub(crate) address: SocketAddr,
    pub(crate) seen: Arc<Seen>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Mock {
    /// Starts a mock on this loopback port, or on a free one for 0, in a thread of its own.
    pub(crate) fn start(port: u16) -> Result<Self> {
        let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, port));
        let listener = bound.with_context(|| format!("the mock backend on port {port}"))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let seen = Arc::new(Seen::default());
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let shared = Arc::clone(&seen);
        let thread = std::thread::Builder::new().name("mock".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = stopped => {}
                    _ = accept(listener, shared) => {}
                }
            });
        })?;
        Ok(Self { address, seen, stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        drop(self.stop.take());
        // A panic of the mock has failed the requests that met it.
        drop(self.thread.take().map(JoinHandle::join));
    }
}

struct StreamAnswer {
    unpaced: Vec<u8>,
    paced: Vec<PacedWrite>,
}

/// One write of a paced answer: the head with the first event, then an event each, the last event with the last chunk.
struct PacedWrite {
    bytes: Vec<u8>,
    /// Where a stamp goes, and the number of its word: the events that end a responses stream repeat all words.
    stamps: Vec<(usize, usize)>,
}

impl StreamAnswer {
    fn new(format: Format) -> Self {
        let mut words = 0;
        let mut paced = Vec::new();
        for bytes in writes(&events::events(format, |_| stamp::BLANK.to_owned())) {
            let places = stamp::places(&bytes);
            let is_delta = places.len() == 1;
            let first = if is_delta { words } else { 0 };
            words += usize::from(is_delta);
            let numbers = (0..events::WORDS).cycle().skip(first);
            paced.push(PacedWrite { stamps: places.into_iter().zip(numbers).collect(), bytes });
        }
        Self { paced, unpaced: writes(&events::events(format, events::plain_word)).concat() }
    }
}

fn writes(events: &[String]) -> Vec<Vec<u8>> {
    let mut writes: Vec<Vec<u8>> = events.iter().map(chunk).collect();
    if let Some(first) = writes.first_mut() {
        first.splice(0..0, STREAM_HEAD.bytes());
    }
    if let Some(last) = writes.last_mut() {
        last.extend(chunk(""));
    }
    writes
}

async fn accept(listener: TcpListener, seen: Arc<Seen>) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let answers = Arc::new(Format::ALL.map(StreamAnswer::new));
    loop {
        // A failed accept or connection concerns that one client: gateways cut idle connections at will.
        if let Ok((stream, _)) = listener.accept().await {
            let (answers, seen) = (Arc::clone(&answers), Arc::clone(&seen));
            tokio::spawn(async move { drop(serve(stream, &answers, &seen).await) });
        }
    }
}

/// The parts of a request that the mock needs.
struct Request {
    /// The format of the answer; none for health checks and listings.
    answer: Option<Format>,
    pace: Option<Duration>,
    body_bytes: u64,
    closes: bool,
}

async fn serve(stream: TcpStream, answers: &[StreamAnswer; 3], seen: &Seen) -> Result<()> {
    let mut connection = Connection::new(stream)?;
    let length = INFO.len();
    let info = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{INFO}");
    while let Some(request) = read_request(&mut connection).await? {
        if let Some(format) = request.answer {
            seen.answered[format as usize].fetch_add(1, Ordering::Relaxed);
            seen.body_bytes.fetch_add(request.body_bytes, Ordering::Relaxed);
            let answer = &answers[format as usize];
            match request.pace {
                None => connection.write(&answer.unpaced).await?,
                Some(pace) => {
                    seen.paced.fetch_add(1, Ordering::Relaxed);
                    write_paced(&mut connection, answer, pace).await?;
                }
            }
        } else {
            connection.write(info.as_bytes()).await?;
        }
        if request.closes {
            break;
        }
    }
    Ok(())
}

/// Reads one request to its end; `None` when the peer has closed between requests.
async fn read_request(connection: &mut Connection) -> Result<Option<Request>> {
    let (mut request, mut body, length) = loop {
        if let Some((head, length)) = Head::parse(connection.pending())? {
            let (method, target) = head.request()?;
            let request = Request {
                answer: Format::of_target(target).filter(|_| method == "POST"),
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
        let used = body.feed(connection.pending(), |part| request.body_bytes += part.len() as u64)?;
        connection.consume(used);
        if body.is_done() {
            return Ok(Some(request));
        }
        if connection.fill().await? == 0 {
            bail!("the request broke off");
        }
    }
}

/// The time between events that the header, or else the query string, asks for.
fn pace(head: &Head<'_>, target: &str) -> Option<Duration> {
    let in_query = || {
        let (_, query) = target.split_once('?')?;
        query.split('&').find_map(|pair| pair.strip_prefix(PACE_QUERY))
    };
    let millis: u64 = head.header(PACE_HEADER).or_else(in_query)?.parse().ok()?;
    (millis > 0).then(|| Duration::from_millis(millis))
}

async fn write_paced(connection: &mut Connection, answer: &StreamAnswer, pace: Duration) -> io::Result<()> {
    let start = Instant::now();
    let mut sent = Vec::with_capacity(events::WORDS);
    let mut bytes = Vec::new();
    for (index, write) in answer.paced.iter().enumerate() {
        // Timers round up to a millisecond, which the first event must not wait.
        if index > 0 {
            sleep_until(start + pace * index as u32).await;
        }
        bytes.clone_from(&write.bytes);
        for &(place, word) in &write.stamps {
            if word == sent.len() {
                sent.push(stamp::micros(std::time::Instant::now()));
            }
            stamp::write(&mut bytes, place, sent[word]);
        }
        connection.write(&bytes).await?;
    }
    Ok(())
}
