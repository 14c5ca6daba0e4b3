//! Incremental parsing of a backend's bytes into server-sent events.
//!
//! eventsource-stream parses the events, one complete event at a time. With partial events it would scan its buffer
//! again for each piece, wait without bound for text that never becomes UTF-8, and fail on a byte order mark. This
//! module splits the bytes into events, checks and bounds them, so each byte is scanned a fixed number of times for any
//! input.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context, Poll};

use eventsource_stream::EventStream;
use futures_util::Stream;
use futures_util::task::noop_waker_ref;
use serde::Serialize;

/// The longest event, in bytes. Without this limit, a backend that never ends an event would fill the memory.
const LONGEST: usize = 8 << 20;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// An error in a stream of events.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(super) enum SseError {
    /// An event is not UTF-8.
    #[error("it is not UTF-8")]
    NotUtf8,
    /// An event is longer than [`LONGEST`].
    #[error("one of its events is longer than {} MB", LONGEST >> 20)]
    TooLong,
    /// The bytes are not server-sent events.
    #[error("it is not a stream of server-sent events")]
    NotEvents,
}

/// An incremental parser of server-sent events.
pub(super) struct SseParser {
    events_in: Sender<String>,
    events: EventStream<Pieces>,
    /// The beginning of an incomplete event.
    held: Vec<u8>,
    /// Whether the last line of `held` is incomplete.
    line_begun: bool,
    /// Whether the last line ended with a carriage return. A line feed after it is part of the same line end.
    after_return: bool,
    at_start: bool,
}

impl SseParser {
    pub(super) fn new() -> SseParser {
        let (events_in, source) = channel();
        SseParser {
            events_in,
            events: EventStream::new(Pieces(source)),
            held: Vec::new(),
            line_begun: false,
            after_return: false,
            at_start: true,
        }
    }

    /// Takes bytes and calls `take` for each event that they complete, with its name (`message` if it has none) and its
    /// data.
    ///
    /// # Errors
    /// [`SseError`]. The parser must not be used after an error.
    pub(super) fn push(&mut self, mut bytes: &[u8], mut take: impl FnMut(&str, &str)) -> Result<(), SseError> {
        // `bytes[..line]` are the complete lines of an incomplete event. They are copied only when the event or the
        // input ends.
        let mut line = 0;
        while let Some(end) = memchr::memchr2(b'\n', b'\r', &bytes[line..]) {
            let end = line + end + 1;
            let begun = self.line_begun && line == 0;
            let blank = end - line == 1 && !begun && (bytes[line] == b'\r' || !self.after_return);
            self.after_return = bytes[end - 1] == b'\r';
            self.line_begun = false;
            line = end;
            if blank {
                let (event, rest) = bytes.split_at(end);
                bytes = rest;
                line = 0;
                // A blank line without an event. A backend may send any number of them.
                if self.held.is_empty() && event == b"\n" {
                    self.at_start = false;
                } else {
                    self.parse(event, &mut take)?;
                }
            }
        }
        self.line_begun = line < bytes.len() || (self.line_begun && bytes.is_empty());
        self.held.extend_from_slice(bytes);
        if self.held.len() > LONGEST {
            return Err(SseError::TooLong);
        }
        Ok(())
    }

    /// Parses the event that consists of `held` and `end`.
    fn parse(&mut self, end: &[u8], take: &mut impl FnMut(&str, &str)) -> Result<(), SseError> {
        if self.held.is_empty()
            && let Some((name, data)) = plain(end)
        {
            self.at_start = false;
            take(name, data);
            return Ok(());
        }
        let mut event = std::mem::take(&mut self.held);
        event.reserve_exact(end.len() + 1);
        event.extend_from_slice(end);
        if event.len() > LONGEST {
            return Err(SseError::TooLong);
        }
        if self.after_return {
            // Without a line feed, the parser would wait for one before it returns the event.
            event.push(b'\n');
        }
        if std::mem::take(&mut self.at_start) && event.starts_with(BYTE_ORDER_MARK) {
            event.drain(..BYTE_ORDER_MARK.len());
        }
        let event = String::from_utf8(event).map_err(|_| SseError::NotUtf8)?;
        // `self.events` owns the receiver, so sending cannot fail.
        self.events_in.send(event).ok();
        let mut context = Context::from_waker(noop_waker_ref());
        while let Poll::Ready(Some(event)) = Pin::new(&mut self.events).poll_next(&mut context) {
            let event = event.map_err(|_| SseError::NotEvents)?;
            take(&event.event, &event.data);
        }
        Ok(())
    }
}

/// Returns the name and the data of an event that is at most one name and one line of data, as nearly all events are.
/// Such an event needs neither parser state nor a copy. With a few bytes of text per event, these are most of the cost
/// of parsing.
fn plain(event: &[u8]) -> Option<(&str, &str)> {
    let event = event.strip_suffix(b"\n\n").and_then(|event| std::str::from_utf8(event).ok())?;
    let (name, data) = match event.strip_prefix("event: ") {
        Some(named) => named.split_once('\n')?,
        None => ("message", event),
    };
    let data = data.strip_prefix("data: ")?;
    let is_one_line = |text: &str| !text.is_empty() && memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_none();
    (is_one_line(name) && is_one_line(data)).then_some((name, data))
}

/// The source of the parser: the events in the channel. It never wakes a task.
struct Pieces(Receiver<String>);

impl Stream for Pieces {
    type Item = Result<String, Infallible>;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.0.try_recv() {
            Ok(event) => Poll::Ready(Some(Ok(event))),
            Err(_) => Poll::Pending,
        }
    }
}

/// Writes one event. The name and all keys of `data` are strings, so serializing cannot fail.
pub(super) fn write_event(name: &str, data: &impl Serialize, out: &mut String) {
    let Ok(json) = serde_json::to_string(data) else { return };
    out.push_str("event: ");
    out.push_str(name);
    out.push_str("\ndata: ");
    out.push_str(&json);
    out.push_str("\n\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn events(pieces: &[&[u8]]) -> Result<Vec<(String, String)>, SseError> {
        let mut parser = SseParser::new();
        let mut events = Vec::new();
        for piece in pieces {
            parser.push(piece, |name, data| events.push((name.to_owned(), data.to_owned())))?;
        }
        Ok(events)
    }

    const STREAM: &str = "\u{feff}: hello\n\nevent: a\ndata: one\n\ndata: zwei ü\ndata: 三\r\n\r\n:\rdata:{\"x\":1}\r\revent: empty\n\ndata: [DONE]\n\n";

    fn expected() -> Vec<(String, String)> {
        [("a", "one"), ("message", "zwei ü\n三"), ("message", "{\"x\":1}"), ("message", "[DONE]")]
            .map(|(name, data)| (name.to_owned(), data.to_owned()))
            .to_vec()
    }

    #[test]
    fn line_ends_comments_byte_order_marks_and_names_are_read() {
        assert_eq!(events(&[STREAM.as_bytes()]).unwrap(), expected());
    }

    #[test]
    fn event_is_returned_with_its_last_byte() {
        for end in ["\n\n", "\r\r", "\r\n\r\n"] {
            let mut parser = SseParser::new();
            for number in 0..3 {
                let mut seen = Vec::new();
                let event = format!("data: {number}{end}");
                parser.push(event.as_bytes(), |_, data| seen.push(data.to_owned())).unwrap();
                assert_eq!(seen, [number.to_string()], "{end:?}");
            }
        }
    }

    #[test]
    fn event_within_the_limit_is_read_and_a_longer_one_refused() {
        let long = format!("data: {}\n\n", "x".repeat(1 << 20));
        let pieces: Vec<&[u8]> = long.as_bytes().chunks(1000).collect();
        assert_eq!(events(&pieces).unwrap()[0].1.len(), 1 << 20);
        let piece = vec![b'x'; 1 << 20];
        assert_eq!(events(&[piece.as_slice(); 9]), Err(SseError::TooLong));
        let lines = format!("data: {}\r\n", "x".repeat(1 << 10)).repeat(1 << 10);
        assert_eq!(events(&[lines.as_bytes(); 9]), Err(SseError::TooLong));
    }

    #[test]
    fn invalid_utf8_is_refused() {
        assert_eq!(events(&[b"data: \xff\xfe\n\n"]), Err(SseError::NotUtf8));
    }

    proptest! {
        /// An event that `plain` reads is read the same by the parser.
        #[test]
        fn plain_event_is_read_as_by_the_parser(event in "(event: ?[a-z. ]{0,3}\n)?(data: ?[a-z{: ]{0,5}\n)?(data:|id: 1|:x|\r)?\n?\n\n") {
            if let Some((name, data)) = plain(event.as_bytes()) {
                // The comment makes the event take the parser's path and does not change its value.
                let (seen, expected) = (events(&[b":\n", event.as_bytes()]).unwrap(), (name.to_owned(), data.to_owned()));
                prop_assert_eq!(seen, vec![expected]);
            }
        }

        #[test]
        fn any_split_of_a_stream_gives_the_same_events(cuts in proptest::collection::vec(0..STREAM.len(), 0..12)) {
            let mut cuts = cuts;
            cuts.sort_unstable();
            let mut pieces = Vec::new();
            let mut from = 0;
            for cut in cuts {
                pieces.push(&STREAM.as_bytes()[from..cut]);
                from = cut;
            }
            pieces.push(&STREAM.as_bytes()[from..]);
            prop_assert_eq!(events(&pieces).unwrap(), expected());
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..64), 0..8)) {
            let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
            events(&pieces).ok();
        }
    }
}
