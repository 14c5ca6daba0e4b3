//! Cutting a backend's bytes into server-sent events, as they come and however they are cut up.
//!
//! eventsource-stream does the parsing. It is handed one complete event at a time: it scans what it holds anew for each
//! piece that it gets, it waits without bound for text that never becomes UTF-8, and it trips over a byte order mark. With
//! events cut off, checked and bounded here, a byte is looked at a fixed number of times whatever a backend sends.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context, Poll};

use eventsource_stream::EventStream;
use futures_util::Stream;
use futures_util::task::noop_waker_ref;

/// The longest single event that is waited for. A backend that never ends one must not fill the memory.
const LONGEST: usize = 8 << 20;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Why a stream of events cannot be read on.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(super) enum SseError {
    /// Not text.
    #[error("it is not UTF-8")]
    NotUtf8,
    /// An event without an end.
    #[error("one of its events is longer than {} MB", LONGEST >> 20)]
    TooLong,
    /// Not a stream of events.
    #[error("it is no stream of server-sent events")]
    NotEvents,
}

/// An incremental parser: bytes in, events out.
pub(super) struct SseParser {
    events_in: Sender<String>,
    events: EventStream<Pieces>,
    /// The beginning of an event whose end has not come.
    held: Vec<u8>,
    /// Whether its last line is not complete.
    line_begun: bool,
    /// Whether the last line ended with a carriage return, whose line feed is no line of its own.
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

    /// Takes bytes and hands each event that they complete to `take`, as its name (`message` where it has none) and its
    /// data.
    ///
    /// # Errors
    /// [`SseError`]; nothing more can be read then.
    pub(super) fn push(&mut self, mut bytes: &[u8], mut take: impl FnMut(&str, &str)) -> Result<(), SseError> {
        // `bytes[..line]` are complete lines of an event whose end has not come; nothing is copied until it has.
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
                // A blank line that ends nothing: a backend may send them without end.
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

    /// Parses one event, of which the beginning may be held.
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
            // The parser waits for the line feed that may follow; the event must not.
            event.push(b'\n');
        }
        if std::mem::take(&mut self.at_start) && event.starts_with(BYTE_ORDER_MARK) {
            event.drain(..BYTE_ORDER_MARK.len());
        }
        let event = String::from_utf8(event).map_err(|_| SseError::NotUtf8)?;
        let _the_other_end_is_ours = self.events_in.send(event);
        let mut context = Context::from_waker(noop_waker_ref());
        while let Poll::Ready(Some(event)) = Pin::new(&mut self.events).poll_next(&mut context) {
            let event = event.map_err(|_| SseError::NotEvents)?;
            take(&event.event, &event.data);
        }
        Ok(())
    }
}

/// The name and the data of an event of the plainest kind, as nearly all are: a name at most, and one line of data. It
/// needs no parser's state and no copy, which for a model's words, a few bytes an event, is most of what parsing costs.
fn plain(event: &[u8]) -> Option<(&str, &str)> {
    let event = event
        .strip_suffix(b"\n\n")
        .and_then(|event| std::str::from_utf8(event).ok())?;
    let (name, data) = match event.strip_prefix("event: ") {
        Some(named) => named.split_once('\n')?,
        None => ("message", event),
    };
    let data = data.strip_prefix("data: ")?;
    let is_one_line = |text: &str| !text.is_empty() && memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_none();
    (is_one_line(name) && is_one_line(data)).then_some((name, data))
}

/// What the parser reads from: events that are there, and nothing to wait for.
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
        [
            ("a", "one"),
            ("message", "zwei ü\n三"),
            ("message", "{\"x\":1}"),
            ("message", "[DONE]"),
        ]
        .map(|(name, data)| (name.to_owned(), data.to_owned()))
        .to_vec()
    }

    #[test]
    fn line_ends_comments_marks_and_names_are_read() {
        assert_eq!(events(&[STREAM.as_bytes()]).unwrap(), expected());
    }

    #[test]
    fn an_event_is_there_as_soon_as_its_last_byte() {
        for end in ["\n\n", "\r\r", "\r\n\r\n"] {
            let mut parser = SseParser::new();
            for number in 0..3 {
                let mut seen = Vec::new();
                let event = format!("data: {number}{end}");
                parser
                    .push(event.as_bytes(), |_, data| seen.push(data.to_owned()))
                    .unwrap();
                assert_eq!(seen, [number.to_string()], "{end:?}");
            }
        }
    }

    #[test]
    fn a_long_event_is_read_and_an_endless_one_refused() {
        let long = format!("data: {}\n\n", "x".repeat(1 << 20));
        let pieces: Vec<&[u8]> = long.as_bytes().chunks(1000).collect();
        assert_eq!(events(&pieces).unwrap()[0].1.len(), 1 << 20);
        let piece = vec![b'x'; 1 << 20];
        assert_eq!(events(&[piece.as_slice(); 9]), Err(SseError::TooLong));
        let lines = format!("data: {}\r\n", "x".repeat(1 << 10)).repeat(1 << 10);
        assert_eq!(events(&[lines.as_bytes(); 9]), Err(SseError::TooLong));
    }

    #[test]
    fn what_is_not_text_is_refused() {
        assert_eq!(events(&[b"data: \xff\xfe\n\n"]), Err(SseError::NotUtf8));
    }

    proptest! {
        /// What the plain way reads, the parser reads the same.
        #[test]
        fn the_plain_way_is_the_parsers(event in "(event: ?[a-z. ]{0,3}\n)?(data: ?[a-z{: ]{0,5}\n)?(data:|id: 1|:x|\r)?\n?\n\n") {
            if let Some((name, data)) = plain(event.as_bytes()) {
                // A comment before it is not plain, and changes nothing.
                let (seen, expected) = (events(&[b":\n", event.as_bytes()]).unwrap(), (name.to_owned(), data.to_owned()));
                prop_assert_eq!(seen, vec![expected]);
            }
        }

        #[test]
        fn where_a_stream_is_cut_does_not_matter(cuts in proptest::collection::vec(0..STREAM.len(), 0..12)) {
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
        fn no_bytes_are_fatal(pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..64), 0..8)) {
            let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
            let _either = events(&pieces);
        }
    }
}
