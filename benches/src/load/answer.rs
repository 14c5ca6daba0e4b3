//! One answer as it reaches the client: when its events came, and whether it was whole.

use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::format::Format;
use crate::sse::{self, EventCutter};
use crate::stamp;
use crate::stats::{Gaps, millis};

/// The measurements of one crew of clients.
#[derive(Debug, Clone, Default)]
pub struct Sample {
    /// Time from sending to the first byte of the answer's body, in milliseconds, per request.
    pub firsts_ms: Vec<f64>,
    /// Time between events within an answer.
    pub gaps: Gaps,
    /// Of paced answers: time from the mock's stamp to the client's reading of it, in
    /// milliseconds, per word.
    pub delays_ms: Vec<f64>,
    /// The time between two words at the client, less the time between their stamps, in milliseconds; negative when the
    /// second one caught up.
    pub added_gaps_ms: Vec<f64>,
    /// Requests per second: the sum of each connection's own rate, so that a connection that ends
    /// earlier than the last does not count as idle.
    pub rps: f64,
    /// Requests answered.
    pub requests: u64,
    /// Bytes of their bodies.
    pub body_bytes: u64,
}

impl Sample {
    /// Adds what another connection measured.
    pub fn merge(&mut self, other: Self) {
        self.firsts_ms.extend(other.firsts_ms);
        self.gaps.merge(other.gaps);
        self.delays_ms.extend(other.delays_ms);
        self.added_gaps_ms.extend(other.added_gaps_ms);
        self.rps += other.rps;
        self.requests += other.requests;
        self.body_bytes += other.body_bytes;
    }
}

/// Follows the events of one answer over the reads that bring them.
#[derive(Debug)]
pub struct Reader {
    format: Format,
    purpose: Purpose,
    cutter: EventCutter,
    first: Option<Instant>,
    last_event: Option<Instant>,
    last_word: Option<Word>,
    count: usize,
    /// Whether the newest event is the one that ends an answer.
    ended: bool,
}

#[derive(Debug)]
enum Purpose {
    /// Keep everything, and check it.
    Check(Vec<u8>),
    /// Expect so many events, which may carry stamps.
    Time { events: usize, stamped: bool },
}

/// When a word was sent and read, in microseconds.
#[derive(Debug, Clone, Copy)]
struct Word {
    sent: u64,
    read: u64,
}

impl Reader {
    /// For an unpaced answer that is to be checked whole.
    pub fn whole(format: Format) -> Self {
        Self::new(format, Purpose::Check(Vec::new()))
    }

    /// For an answer of which only the times are measured. It must have as many events as the one that was checked whole;
    /// `stamped` says whether its words are stamps.
    pub fn timed(format: Format, events: usize, stamped: bool) -> Self {
        Self::new(format, Purpose::Time { events, stamped })
    }

    fn new(format: Format, purpose: Purpose) -> Self {
        Self {
            format,
            purpose,
            cutter: EventCutter::default(),
            first: None,
            last_event: None,
            last_word: None,
            count: 0,
            ended: false,
        }
    }

    /// Begins a read that ended at `now`.
    pub fn read<'a>(&'a mut self, now: Instant, sample: &'a mut Sample) -> Read<'a> {
        let events_before = self.count;
        Read { reader: self, sample, now, events_before }
    }

    /// Ends the answer to a request that was sent at `sent`; returns the number of its events.
    ///
    /// # Errors
    /// When it was not whole.
    pub fn finish(self, sent: Instant, sample: &mut Sample) -> Result<usize> {
        let first = self.first.context("the answer is empty")?;
        let (format, count) = (self.format, self.count);
        match self.purpose {
            Purpose::Check(answer) => sse::check(format, &answer),
            Purpose::Time { events, .. } => {
                ensure!(self.ended, "the {format} stream did not end with its last event");
                ensure!(count == events, "the {format} stream had {count} events of {events}");
                sample.firsts_ms.push(millis(first.duration_since(sent)));
                sample.requests += 1;
                Ok(count)
            }
        }
    }
}

/// One read of an answer.
#[derive(Debug)]
pub struct Read<'a> {
    reader: &'a mut Reader,
    sample: &'a mut Sample,
    now: Instant,
    events_before: usize,
}

impl Read<'_> {
    /// Takes the next piece of the body.
    pub fn take(&mut self, part: &[u8]) {
        let Reader { format, purpose, cutter, first, last_word, count, ended, .. } = &mut *self.reader;
        first.get_or_insert(self.now);
        let stamped = match purpose {
            Purpose::Check(answer) => {
                answer.extend_from_slice(part);
                false
            }
            Purpose::Time { stamped, .. } => *stamped,
        };
        cutter.feed(part, |event| {
            *count += 1;
            *ended = format.is_last(event);
            let sent = (stamped && format.is_delta(event)).then(|| stamp::read(event)).flatten();
            if let Some(sent) = sent {
                let read = stamp::micros(self.now);
                let word = Word { sent, read };
                word.add_to(self.sample, last_word.replace(word));
            }
        });
    }

    /// Ends the read.
    pub fn end(self) {
        let events = self.reader.count - self.events_before;
        if events > 0 {
            let before = self.reader.last_event.replace(self.now);
            self.sample.gaps.add(before.map(|before| self.now - before), events);
        }
    }
}

impl Word {
    fn add_to(self, sample: &mut Sample, before: Option<Self>) {
        let millis = |micros: u64| micros as f64 / 1e3;
        sample.delays_ms.push(millis(self.read.saturating_sub(self.sent)));
        if let Some(before) = before {
            let (at_client, at_mock) = (self.read - before.read, self.sent - before.sent);
            sample.added_gaps_ms.push(millis(at_client) - millis(at_mock));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn events_in_one_read_have_no_gap() {
        let start = Instant::now();
        let mut reader = Reader::timed(Format::Chat, 3, false);
        let mut sample = Sample::default();
        for (after_ms, text) in [(1, "data: a\n\ndata: b"), (4, "\n\ndata: [DONE]\n\n"), (9, "")] {
            let mut read = reader.read(start + Duration::from_millis(after_ms), &mut sample);
            read.take(text.as_bytes());
            read.end();
        }
        assert_eq!(sample.gaps.percentile(0.5), Some(0.0));
        assert_eq!(sample.gaps.percentile(1.0), Some(3.0));
        assert_eq!(reader.finish(start, &mut sample).unwrap(), 3);
        assert_eq!(sample.firsts_ms, [1.0]);
    }

    fn finished(events: usize, text: &str) -> Result<usize> {
        let mut reader = Reader::timed(Format::Chat, events, false);
        let mut sample = Sample::default();
        let mut read = reader.read(Instant::now(), &mut sample);
        read.take(text.as_bytes());
        read.end();
        reader.finish(Instant::now(), &mut sample)
    }

    #[test]
    fn incomplete_answer_is_an_error() {
        assert!(finished(2, "data: {}\n\ndata: [DONE]\n\n").is_ok());
        let error = |events, text| finished(events, text).unwrap_err().to_string();
        assert!(error(2, "data: {}\n\ndata: {}\n\n").contains("did not end"));
        assert!(error(3, "data: {}\n\ndata: [DONE]\n\n").contains("2 events of 3"));
    }

    #[test]
    fn a_word_is_timed_by_its_stamp() {
        let mut sample = Sample::default();
        let early = Word { sent: 1_000, read: 1_400 };
        let late = Word { sent: 6_000, read: 8_400 };
        early.add_to(&mut sample, None);
        late.add_to(&mut sample, Some(early));
        assert_eq!(sample.delays_ms, [0.4, 2.4]);
        assert_eq!(sample.added_gaps_ms, [2.0]);
    }
}
