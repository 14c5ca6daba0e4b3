//! One answer as it reaches the client: when its events came, and whether it was whole.

use std::time::Instant;

use anyhow::{Context, Result, ensure};

use super::events::{self, EventCutter};
use super::format::Format;
use super::stamp;
use crate::harness::stats::{Gaps, millis};

/// The measurements of one crew of clients. Times are milliseconds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sample {
    /// From sending to the first byte of the answer's body, per request.
    pub(crate) firsts_ms: Vec<f64>,
    /// Between events within an answer.
    pub(crate) gaps: Gaps,
    /// Of paced answers: from the mock's stamp to the client's reading of it, per word.
    pub(crate) delays_ms: Vec<f64>,
    /// The time between two words at the client, less the time between their stamps. Negative if the second one caught up.
    pub(crate) added_gaps_ms: Vec<f64>,
    /// Requests per second: the sum of each connection's own rate, so that a connection that ends earlier than the last
    /// does not count as idle.
    pub(crate) rps: f64,
    pub(crate) requests: u64,
    pub(crate) body_bytes: u64,
}

impl Sample {
    pub(crate) fn merge(&mut self, other: Self) {
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
pub(crate) struct Reader {
    format: Format,
    purpose: Purpose,
    cutter: EventCutter,
    first: Option<Instant>,
    last_event: Option<Instant>,
    last_word: Option<Word>,
    count: usize,
    /// Events of the reads before this one.
    count_before: usize,
    /// Whether the newest event is the one that ends an answer.
    ended: bool,
}

#[derive(Debug)]
pub(crate) enum Purpose {
    /// Keep an unpaced answer, and check it.
    Check(Vec<u8>),
    /// Expect so many events, which may have stamps.
    Time { events: usize, stamped: bool },
}

/// When a word was sent and read, in microseconds.
#[derive(Debug, Clone, Copy)]
struct Word {
    sent: u64,
    read: u64,
}

impl Reader {
    pub(crate) fn new(format: Format, purpose: Purpose) -> Self {
        Self {
            format,
            purpose,
            cutter: EventCutter::default(),
            first: None,
            last_event: None,
            last_word: None,
            count: 0,
            count_before: 0,
            ended: false,
        }
    }

    /// Takes a piece of the body from a read at `now`.
    pub(crate) fn take(&mut self, part: &[u8], now: Instant, sample: &mut Sample) {
        let Self { format, purpose, cutter, first, last_word, count, ended, .. } = self;
        first.get_or_insert(now);
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
                let word = Word { sent, read: stamp::micros(now) };
                word.add_to(sample, last_word.replace(word));
            }
        });
    }

    /// Ends a read at `now`.
    pub(crate) fn end_read(&mut self, now: Instant, sample: &mut Sample) {
        let events = self.count - self.count_before;
        if events > 0 {
            let before = self.last_event.replace(now);
            sample.gaps.add(before.map(|before| now - before), events);
            self.count_before = self.count;
        }
    }

    /// Ends the answer to a request of the time `sent`, and returns the number of its events.
    pub(crate) fn finish(self, sent: Instant, sample: &mut Sample) -> Result<usize> {
        let first = self.first.context("the answer is empty")?;
        let (format, count) = (self.format, self.count);
        match self.purpose {
            Purpose::Check(answer) => events::check(format, &answer),
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
    use std::time::Duration;

    use super::*;

    fn read(events: usize, reads: &[(u64, &str)]) -> (Sample, Result<usize>) {
        let start = Instant::now();
        let mut reader = Reader::new(Format::Chat, Purpose::Time { events, stamped: false });
        let mut sample = Sample::default();
        for (after_ms, text) in reads {
            let now = start + Duration::from_millis(*after_ms);
            reader.take(text.as_bytes(), now, &mut sample);
            reader.end_read(now, &mut sample);
        }
        let finished = reader.finish(start, &mut sample);
        (sample, finished)
    }

    #[test]
    fn events_in_one_read_have_no_gap() {
        let (mut sample, finished) = read(3, &[(1, "data: a\n\ndata: b"), (4, "\n\ndata: [DONE]\n\n"), (9, "")]);
        assert_eq!((sample.gaps.percentile(0.5), sample.gaps.percentile(1.0)), (Some(0.0), Some(3.0)));
        assert_eq!((sample.firsts_ms, finished.unwrap()), (vec![1.0], 3));
    }

    #[test]
    fn incomplete_answer_is_an_error() {
        let error = |events, text| read(events, &[(0, text)]).1.unwrap_err().to_string();
        assert!(error(2, "data: {}\n\ndata: {}\n\n").contains("did not end"));
        assert!(error(3, "data: {}\n\ndata: [DONE]\n\n").contains("2 events of 3"));
    }

    #[test]
    fn word_is_timed_by_its_stamp() {
        let mut sample = Sample::default();
        let early = Word { sent: 1_000, read: 1_400 };
        early.add_to(&mut sample, None);
        Word { sent: 6_000, read: 8_400 }.add_to(&mut sample, Some(early));
        assert_eq!((sample.delays_ms, sample.added_gaps_ms), (vec![0.4, 2.4], vec![2.0]));
    }
}
