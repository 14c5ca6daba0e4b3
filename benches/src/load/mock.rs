//! A mock model server that is much faster than the gateways that are measured in front of it.
//!
//! One thread, one runtime, bare TCP. Every request for an answer gets the same event stream in its
//! own format, each event in an HTTP chunk of its own, as real servers frame them. Unpaced answers
//! are one write of one precomputed buffer; paced ones are a write per event, at fixed times after
//! the request, so that a slow reader does not stretch the schedule, and each word is the moment at
//! which it was sent.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Result, bail};
use muninn_tests::http::chunk;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use crate::connection::Connection;
use crate::format::Format;
use crate::http1::{BodyDecoder, Head};
use crate::{sse, stamp};

/// The request header that asks for milliseconds between events.
pub const PACE_HEADER: &str = "x-bench-pace-ms";

/// The same in the query string, for gateways that drop unknown headers.
pub const PACE_QUERY: &str = "pace_ms=";

const STREAM_HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
     cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n";

/// Satisfies clients that ask for models, server or health information before they send work.
const INFO: &str = "{\"object\":\"list\",\"data\":[{\"id\":\"mock\",\"object\":\"model\",\
     \"created\":1700000000,\"owned_by\":\"bench\",\"max_model_len\":1000000}],\
     \"status\":\"ok\",\"model_path\":\"mock\",\"is_generation\":true,\"version\":\"0\"}";

/// The mock's counters.
#[derive(Debug, Default)]
pub struct Seen {
    answered: [AtomicU64; 3],
    paced: AtomicU64,
    body_bytes: AtomicU64,
}

impl Seen {
    /// Requests in this format that were answered.
    pub fn answered(&self, format: Format) -> u64 {
        self.answered[format as usize].load(Ordering::Relaxed)
    }

    /// Those of them that asked for a pace.
    pub fn paced(&self) -> u64 {
        self.paced.load(Ordering::Relaxed)
    }

    /// Bytes of the bodies of all requests that were answered, without framing.
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
        Ok(Self { address, seen, stop: Some(stop), thread: Some(thread) })
    }

    /// The address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its base URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Its counters, live.
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
    streams: [StreamAnswer; 3],
}

impl Answers {
    fn new() -> Self {
        let length = INFO.len();
        let info = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n\
             {INFO}"
        );
        Self { info: info.into_bytes(), streams: Format::ALL.map(StreamAnswer::new) }
    }
}

/// One format's answer.
struct StreamAnswer {
    unpaced: Vec<u8>,
    paced: Vec<PacedWrite>,
}

/// What one write of a paced answer sends: the head with the first event, then an event each, the
/// last event and the last chunk together.
struct PacedWrite {
    bytes: Vec<u8>,
    /// Where a stamp goes, and the number of the word that it belongs to: the events that end a
    /// responses stream say all words again.
    stamps: Vec<(usize, usize)>,
}

impl StreamAnswer {
    fn new(format: Format) -> Self {
        let writes = writes(&sse::events(format, |_| stamp::BLANK.to_owned()));
        let mut words = 0;
        let paced = writes.into_iter().map(|bytes| {
            let places = stamp::places(&bytes);
            let first = if places.len() == 1 { words } else { 0 };
            words += usize::from(places.len() == 1);
            // All words come again and again after the last delta.
            let numbers = (0..sse::WORDS).cycle().skip(first);
            PacedWrite { stamps: places.into_iter().zip(numbers).collect(), bytes }
        });
        Self { paced: paced.collect(), unpaced: writes_of(format).concat() }
    }
}

fn writes_of(format: Format) -> Vec<Vec<u8>> {
    writes(&sse::events(format, sse::plain_word))
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

/// The parts of a request that the mock needs.
struct Request {
    /// The format of the answer; none for what is answered as a health check or a listing would be.
    answer: Option<Format>,
    pace: Option<Duration>,
    body_bytes: u64,
    closes: bool,
}

async fn serve(stream: TcpStream, answers: &Answers, seen: &Seen) -> Result<()> {
    let mut connection = Connection::new(stream)?;
    while let Some(request) = read_request(&mut connection).await? {
        if let Some(format) = request.answer {
            seen.answered[format as usize].fetch_add(1, Ordering::Relaxed);
            seen.body_bytes.fetch_add(request.body_bytes, Ordering::Relaxed);
            let answer = &answers.streams[format as usize];
            match request.pace {
                None => connection.write(&answer.unpaced).await?,
                Some(pace) => {
                    seen.paced.fetch_add(1, Ordering::Relaxed);
                    write_paced(&mut connection, answer, pace).await?;
                }
            }
        } else {
            connection.write(&answers.info).await?;
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
        let used = body.feed(connection.pending(), |part| {
            request.body_bytes += part.len() as u64;
        })?;
        connection.consume(used);
        if body.is_done() {
            return Ok(Some(request));
        }
        if connection.fill().await? == 0 {
            bail!("the request broke off");
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

async fn write_paced(connection: &mut Connection, answer: &StreamAnswer, pace: Duration) -> io::Result<()> {
    let start = Instant::now();
    let mut sent = Vec::with_capacity(sse::WORDS);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sse::EventCutter;

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
        for format in Format::ALL {
            let mut body = head(STREAM_HEAD).body(BodyDecoder::UntilClose).unwrap();
            let mut cutter = EventCutter::default();
            let mut count = 0;
            for (index, write) in writes_of(format).iter().enumerate() {
                let skip = if index == 0 { STREAM_HEAD.len() } else { 0 };
                let bytes = &write[skip..];
                let used = body.feed(bytes, |part| cutter.feed(part, |_| count += 1)).unwrap();
                assert_eq!(used, bytes.len());
                assert_eq!(count, index + 1);
            }
            assert!(body.is_done());
        }
    }

    #[test]
    fn every_word_has_one_stamp_and_repeats_have_the_same_ones() {
        for format in Format::ALL {
            let paced = StreamAnswer::new(format).paced;
            let single: Vec<usize> =
                paced.iter().filter(|one| one.stamps.len() == 1).map(|one| one.stamps[0].1).collect();
            assert_eq!(single, (0..sse::WORDS).collect::<Vec<_>>());
            for repeat in paced.iter().filter(|one| one.stamps.len() > 1) {
                let words: Vec<usize> = repeat.stamps.iter().map(|(_, word)| *word).collect();
                assert_eq!(words, (0..sse::WORDS).collect::<Vec<_>>());
            }
        }
    }
}
