//! The load client: a crew of keep-alive connections, each of which sends its next request as soon as the last one is
//! answered.
//!
//! All connections share one thread with the caller, so that client and mock together take two cores at most and their cost
//! is the same for every target. The first failed request ends a run.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::answer::{Reader, Sample};
use crate::bodies::Body;
use crate::connection::Connection;
use crate::format::Format;
use crate::http1::{BodyDecoder, Head};
use crate::sse::CHAT_EVENTS;
use crate::upstream::{PACE_HEADER, PACE_QUERY};

/// The requests of a crew.
#[derive(Debug, Clone)]
pub struct Load {
    /// The format of requests and answers.
    pub format: Format,
    /// Connections, each with one request in flight.
    pub clients: usize,
    /// Milliseconds between the events of an answer; 0 for all at once.
    pub pace_ms: u64,
    /// Whether a gateway may add context; if not, every request asks it to stay out.
    pub context: bool,
    /// The request body, but for its question.
    pub body: Arc<Body>,
    /// Number of the next question, shared by all crews of a run so that none is asked twice.
    pub next_question: Arc<AtomicU64>,
}

/// When a crew stops. Requests in flight are finished.
#[derive(Debug, Clone, Copy)]
pub enum Until {
    /// After so much time.
    Elapsed(Duration),
    /// After so many requests on each connection.
    Requests(u64),
}

/// Connections to one target, each warmed by one unpaced request whose answer was checked whole.
#[derive(Debug)]
pub struct Crew {
    members: Vec<Member>,
    /// Time between the starts of two members: paced answers are spread evenly, else all clients
    /// would wait for their events at the same instants.
    stagger: Duration,
}

impl Crew {
    /// Opens the connections and sends one unpaced request on each.
    ///
    /// # Errors
    /// When the target cannot be reached, or answers wrongly.
    pub async fn assemble(target: SocketAddr, load: &Load) -> Result<Self> {
        let mut members = Vec::with_capacity(load.clients);
        for _ in 0..load.clients {
            let mut member = Member::connect(target, load).await?;
            member.warm().await?;
            members.push(member);
        }
        let stream = Duration::from_millis(load.pace_ms) * CHAT_EVENTS as u32;
        Ok(Self { members, stagger: stream / load.clients.max(1) as u32 })
    }

    /// Runs all connections at once, and hands them back for another run.
    ///
    /// # Errors
    /// The first failure of any request.
    pub async fn run(self, until: Until) -> Result<(Self, Sample)> {
        let stagger = self.stagger;
        let mut tasks = JoinSet::new();
        for (index, member) in self.members.into_iter().enumerate() {
            let delay = stagger * index as u32;
            tasks.spawn(async move {
                if !delay.is_zero() {
                    tokio::time::sleep(delay).await;
                }
                member.run(until).await
            });
        }
        let mut members = Vec::with_capacity(tasks.len());
        let mut total = Sample::default();
        while let Some(done) = tasks.join_next().await {
            let (member, sample) = done??;
            members.push(member);
            total.merge(sample);
        }
        Ok((Self { members, stagger }, total))
    }

    /// Sends one request on each connection, starting them evenly over `spread`, and drops the
    /// connections. Unlike [`Self::run`] it goes on when one fails; returns the failures too.
    ///
    /// # Errors
    /// When a task is lost.
    pub async fn run_once(self, spread: Duration) -> Result<(Sample, Vec<anyhow::Error>)> {
        let share = spread / self.members.len().max(1) as u32;
        let mut tasks = JoinSet::new();
        for (index, mut member) in self.members.into_iter().enumerate() {
            tasks.spawn(async move {
                tokio::time::sleep(share * index as u32).await;
                let mut sample = Sample::default();
                let asked = member.ask(member.load.pace_ms, &mut sample).await;
                (sample, asked.err())
            });
        }
        let mut total = Sample::default();
        let mut failures = Vec::new();
        while let Some(done) = tasks.join_next().await {
            let (sample, failure) = done?;
            total.merge(sample);
            failures.extend(failure);
        }
        Ok((total, failures))
    }
}

/// One connection and what it sends.
#[derive(Debug)]
struct Member {
    target: SocketAddr,
    connection: Connection,
    load: Load,
    /// Events of the answer that was checked whole; later answers must have as many.
    events: usize,
}

impl Member {
    async fn connect(target: SocketAddr, load: &Load) -> Result<Self> {
        Ok(Self { target, connection: connect(target).await?, load: load.clone(), events: 0 })
    }

    /// Sends one unpaced request and checks its answer to the last event.
    async fn warm(&mut self) -> Result<()> {
        let reader = Reader::whole(self.load.format);
        self.events = self.exchange(0, reader, &mut Sample::default()).await?;
        Ok(())
    }

    async fn run(mut self, until: Until) -> Result<(Self, Sample)> {
        let mut sample = Sample::default();
        let pace_ms = self.load.pace_ms;
        let start = Instant::now();
        loop {
            self.ask(pace_ms, &mut sample).await?;
            let over = match until {
                Until::Elapsed(time) => start.elapsed() >= time,
                Until::Requests(count) => sample.requests >= count,
            };
            if over {
                break;
            }
        }
        sample.rps = sample.requests as f64 / start.elapsed().as_secs_f64();
        Ok((self, sample))
    }

    /// Sends one request and reads its answer to the end.
    async fn ask(&mut self, pace_ms: u64, sample: &mut Sample) -> Result<()> {
        let reader = Reader::timed(self.load.format, self.events, pace_ms > 0);
        self.exchange(pace_ms, reader, sample).await?;
        Ok(())
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

    /// Sends the next request; returns when its first byte left.
    async fn send(&mut self, pace_ms: u64, sample: &mut Sample) -> Result<Instant> {
        let number = self.load.next_question.fetch_add(1, Ordering::Relaxed);
        let question = crate::bodies::question(number);
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
            let mut read = reader.read(Instant::now(), sample);
            let used = body.feed(self.connection.pending(), |part| read.take(part))?;
            read.end();
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

    /// The head of a request with a body of so many bytes.
    fn head(&self, pace_ms: u64, length: usize) -> String {
        let path = self.load.format.path();
        let query = match pace_ms {
            0 => String::new(),
            _ => format!("?{PACE_QUERY}{pace_ms}"),
        };
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
    use crate::sse::WORDS;
    use crate::upstream::Upstream;

    fn load(format: Format, clients: usize, pace_ms: u64) -> Load {
        Load {
            format,
            clients,
            pace_ms,
            context: true,
            body: Arc::new(Body::of_agent(format, 2000, "/srv/project")),
            next_question: Arc::new(AtomicU64::new(0)),
        }
    }

    fn runtime() -> tokio::runtime::Runtime {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().build().unwrap()
    }

    fn run(load: &Load, requests: u64) -> (Sample, Upstream) {
        let upstream = Upstream::start(0).unwrap();
        let sample = runtime().block_on(async {
            let crew = Crew::assemble(upstream.address(), load).await.unwrap();
            crew.run(Until::Requests(requests)).await.unwrap().1
        });
        (sample, upstream)
    }

    #[test]
    fn a_crew_reads_whole_answers() {
        for format in Format::ALL {
            let load = load(format, 3, 0);
            let (sample, upstream) = run(&load, 5);
            assert_eq!(sample.requests, 15);
            assert_eq!(sample.firsts_ms.len(), 15);
            // One warming request per connection.
            assert_eq!(upstream.seen().answered(format), 18);
            assert_eq!(upstream.seen().paced(), 0);
            assert_eq!(load.next_question.load(Ordering::Relaxed), 18);
        }
    }

    #[test]
    fn a_paced_answer_takes_its_time_and_every_word_is_timed() {
        for format in Format::ALL {
            let (sample, upstream) = run(&load(format, 2, 2), 1);
            assert_eq!(upstream.seen().paced(), 2);
            // More than 60 gaps of 2 ms: no machine is fast enough to do more, and a slow one only does less.
            assert!(sample.rps <= 2.0 / 0.12, "{} requests/s", sample.rps);
            assert_eq!(sample.delays_ms.len(), 2 * WORDS);
            assert_eq!(sample.added_gaps_ms.len(), 2 * (WORDS - 1));
            assert!(sample.delays_ms.iter().all(|delay| *delay >= 0.0));
        }
    }

    #[test]
    fn one_failure_does_not_end_the_other_streams() {
        let load = load(Format::Chat, 3, 1);
        let upstream = Upstream::start(0).unwrap();
        let runtime = runtime();
        let (sample, failures) = runtime.block_on(async {
            let mut crew = Crew::assemble(upstream.address(), &load).await.unwrap();
            crew.members[1].events = 1;
            crew.run_once(Duration::from_millis(3)).await.unwrap()
        });
        assert_eq!(sample.requests, 2);
        assert_eq!(failures.len(), 1, "{failures:?}");
    }

    #[test]
    fn the_body_arrives_whole() {
        let load = load(Format::Chat, 1, 0);
        let (sample, upstream) = run(&load, 1);
        let warming = load.body.len_with(&crate::bodies::question(0)) as u64;
        assert_eq!(upstream.seen().body_bytes(), warming + sample.body_bytes);
    }
}
