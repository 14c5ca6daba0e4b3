//! The load client: a crew of keep-alive connections, each of which sends its next request as soon as the last one is
//! answered.
//!
//! All connections share one thread with the caller, so that client and mock together take two cores at most and their
//! cost is the same for every target.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, ensure};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::answer::{Purpose, Reader, Sample};
use super::events::CHAT_EVENTS;
use super::format::Format;
use super::http1::{BodyDecoder, Connection, Head};
use super::mock::{PACE_HEADER, PACE_QUERY};
use super::request::{Body, question};

/// Requests about one directory, of which none asks a question twice.
pub(crate) struct Requests {
    directory: String,
    next_question: Arc<AtomicU64>,
}

impl Requests {
    pub(crate) fn about(directory: &Path) -> Self {
        Self { directory: directory.to_string_lossy().into_owned(), next_question: Arc::default() }
    }

    /// A load with bodies of about `size` bytes.
    pub(crate) fn load(&self, format: Format, size: usize, clients: usize, pace_ms: u64, context: bool) -> Load {
        let body = Arc::new(Body::of_agent(format, size, &self.directory));
        Load { format, clients, pace_ms, context, body, next_question: Arc::clone(&self.next_question) }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Load {
    format: Format,
    /// Connections, each with one request in flight.
    clients: usize,
    /// Milliseconds between the events of an answer; 0 for all at once.
    pub(super) pace_ms: u64,
    /// Whether a gateway may add context.
    context: bool,
    body: Arc<Body>,
    next_question: Arc<AtomicU64>,
}

/// When a crew stops. Requests in flight are finished.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Until {
    Elapsed(Duration),
    Requests(u64),
}

/// Connections to one target, each warmed by one unpaced request whose answer was checked whole.
#[derive(Debug)]
pub(crate) struct Crew {
    members: Vec<Member>,
    stagger: Duration,
}

impl Crew {
    /// Opens the connections and sends one unpaced request on each. Paced answers are spread evenly, else all clients
    /// would wait for their events at the same instants.
    pub(crate) async fn assemble(target: SocketAddr, load: &Load) -> Result<Self> {
        let mut members = Vec::with_capacity(load.clients);
        for _ in 0..load.clients {
            let connection = connect(target).await?;
            let mut member = Member { target, connection, load: load.clone(), events: 0 };
            let reader = Reader::new(load.format, Purpose::Check(Vec::new()));
            member.events = member.exchange(0, reader, &mut Sample::default()).await?;
            members.push(member);
        }
        let stream = Duration::from_millis(load.pace_ms) * CHAT_EVENTS as u32;
        Ok(Self { members, stagger: stream / load.clients.max(1) as u32 })
    }

    /// Starts the members evenly over this time.
    pub(crate) fn spread_over(mut self, time: Duration) -> Self {
        self.stagger = time / self.members.len().max(1) as u32;
        self
    }

    /// Runs all connections at once, and returns them for another run. The first failed request is an error.
    pub(crate) async fn run(self, until: Until) -> Result<(Self, Sample)> {
        let (crew, sample, failures) = self.run_on(until).await?;
        failures.into_iter().next().map_or(Ok((crew, sample)), Err)
    }

    /// As [`Self::run`], but a failed request ends only its connection.
    pub(crate) async fn run_on(self, until: Until) -> Result<(Self, Sample, Vec<Error>)> {
        let stagger = self.stagger;
        let mut tasks = JoinSet::new();
        for (index, mut member) in self.members.into_iter().enumerate() {
            tasks.spawn(async move {
                if !stagger.is_zero() {
                    tokio::time::sleep(stagger * index as u32).await;
                }
                let mut sample = Sample::default();
                let ran = member.run(until, &mut sample).await;
                (ran.map(|()| member), sample)
            });
        }
        let (mut members, mut total, mut failures) = (Vec::new(), Sample::default(), Vec::new());
        while let Some(done) = tasks.join_next().await {
            let (ran, sample) = done?;
            total.merge(sample);
            match ran {
                Ok(member) => members.push(member),
                Err(failure) => failures.push(failure),
            }
        }
        Ok((Self { members, stagger }, total, failures))
    }
}

#[derive(Debug)]
struct Member {
    target: SocketAddr,
    connection: Connection,
    load: Load,
    /// Events of the answer that was checked whole; later answers must have as many.
    events: usize,
}

impl Member {
    async fn run(&mut self, until: Until, sample: &mut Sample) -> Result<()> {
        let pace_ms = self.load.pace_ms;
        let start = Instant::now();
        loop {
            let purpose = Purpose::Time { events: self.events, stamped: pace_ms > 0 };
            self.exchange(pace_ms, Reader::new(self.load.format, purpose), sample).await?;
            let over = match until {
                Until::Elapsed(time) => start.elapsed() >= time,
                Until::Requests(count) => sample.requests >= count,
            };
            if over {
                sample.rps = sample.requests as f64 / start.elapsed().as_secs_f64();
                return Ok(());
            }
        }
    }

    /// One request and its answer; returns the number of the answer's events.
    async fn exchange(&mut self, pace_ms: u64, mut reader: Reader, sample: &mut Sample) -> Result<usize> {
        let target = self.target;
        let exchanged = async {
            let sent = self.send(pace_ms, sample).await?;
            let (status, closes, mut body) = self.read_head().await?;
            ensure!(status == 200, "status {status}: {}", String::from_utf8_lossy(self.connection.pending()));
            self.read_events(&mut body, &mut reader, sample).await?;
            if closes || body == BodyDecoder::UntilClose {
                self.connection = connect(target).await?;
            }
            reader.finish(sent, sample)
        };
        exchanged.await.with_context(|| target.to_string())
    }

    /// Sends the next request, and returns when its first byte left.
    async fn send(&mut self, pace_ms: u64, sample: &mut Sample) -> Result<Instant> {
        let question = question(self.load.next_question.fetch_add(1, Ordering::Relaxed));
        let body = Arc::clone(&self.load.body);
        let length = body.len_with(&question);
        let head = self.head(pace_ms, length);
        let [before, question, after] = body.pieces(&question);
        sample.body_bytes += length as u64;
        let sent = Instant::now();
        self.connection.write_pieces(&[head.as_bytes(), before, question, after]).await?;
        Ok(sent)
    }

    async fn read_events(&mut self, body: &mut BodyDecoder, reader: &mut Reader, sample: &mut Sample) -> Result<()> {
        loop {
            let now = Instant::now();
            let used = body.feed(self.connection.pending(), |part| reader.take(part, now, sample))?;
            reader.end_read(now, sample);
            self.connection.consume(used);
            if body.is_done() {
                return Ok(());
            }
            if self.connection.fill().await? == 0 {
                ensure!(*body == BodyDecoder::UntilClose, "the answer broke off");
                return Ok(());
            }
        }
    }

    /// Status, whether the server closes after the answer, and the decoder of the body.
    async fn read_head(&mut self) -> Result<(u16, bool, BodyDecoder)> {
        loop {
            if let Some((head, length)) = Head::parse(self.connection.pending())? {
                let parsed = (head.status()?, head.closes(), head.body(BodyDecoder::UntilClose)?);
                self.connection.consume(length);
                return Ok(parsed);
            }
            ensure!(self.connection.fill().await? > 0, "the connection was closed before an answer");
        }
    }

    fn head(&self, pace_ms: u64, length: usize) -> String {
        let path = self.load.format.path();
        let query = if pace_ms == 0 { String::new() } else { format!("?{PACE_QUERY}{pace_ms}") };
        let context = if self.load.context { "" } else { "x-muninn-context: off\r\n" };
        format!(
            "POST {path}{query} HTTP/1.1\r\nhost: {}\r\nuser-agent: muninn-bench\r\n\
             accept: text/event-stream\r\ncontent-type: application/json\r\n{context}\
             {PACE_HEADER}: {pace_ms}\r\ncontent-length: {length}\r\n\r\n",
            self.target,
        )
    }
}

async fn connect(target: SocketAddr) -> Result<Connection> {
    let stream = TcpStream::connect(target).await.with_context(|| target.to_string())?;
    Ok(Connection::new(stream)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::runtime;
    use crate::load::events::WORDS;
    use crate::load::mock::Mock;

    fn run(format: Format, clients: usize, pace_ms: u64, requests: u64) -> (Load, Sample, Mock) {
        let load = Requests::about(Path::new("/srv/project")).load(format, 2_000, clients, pace_ms, true);
        let mock = Mock::start(0).unwrap();
        let sample = runtime().unwrap().block_on(async {
            let crew = Crew::assemble(mock.address, &load).await.unwrap();
            crew.run(Until::Requests(requests)).await.unwrap().1
        });
        (load, sample, mock)
    }

    #[test]
    fn crew_reads_whole_answers_and_every_body_arrives() {
        for format in Format::ALL {
            let (load, sample, mock) = run(format, 3, 0, 5);
            assert_eq!((sample.requests, sample.firsts_ms.len()), (15, 15));
            // One warming request per connection.
            let warming: usize = (0..3).map(|number| load.body.len_with(&question(number))).sum();
            assert_eq!(mock.seen.counts(format), [18, 0, warming as u64 + sample.body_bytes]);
        }
    }

    #[test]
    fn every_word_of_a_paced_answer_is_timed() {
        for format in Format::ALL {
            let (_, sample, mock) = run(format, 2, 2, 1);
            assert_eq!(mock.seen.counts(format)[1], 2);
            // More than 60 gaps of 2 ms: a slow machine only takes longer.
            assert!(sample.rps <= 2.0 / 0.12, "{} requests/s", sample.rps);
            assert_eq!((sample.delays_ms.len(), sample.added_gaps_ms.len()), (2 * WORDS, 2 * (WORDS - 1)));
        }
    }
}
