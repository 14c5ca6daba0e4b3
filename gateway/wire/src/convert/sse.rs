//! Incremental parsing of a backend's bytes into server-sent events.
//!
//! Some backends send events that a client's parser would join or miss: without an empty line between them, with spaces before
//! their fields, or as a line of JSON each. They are read too, one complete event at a time. Each byte is scanned a fixed number
//! of times for any input.

use std::borrow::Cow;

use serde::Serialize;

/// The longest event, in bytes. Without this limit, a backend that never ends an event would fill the memory.
const LONGEST: usize = 8 << 20;
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// An error in a stream of events.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SseError {
    /// An event is not UTF-8.
    #[error("it is not UTF-8")]
    NotUtf8,
    /// An event is longer than `LONGEST`.
    #[error("one of its events is longer than {} MB", LONGEST >> 20)]
    TooLong,
}

/// An incremental parser of server-sent events.
#[derive(Default)]
pub(super) struct SseParser {
    /// The lines of an incomplete event.
    held: Vec<u8>,
    /// The beginning of the incomplete line in `held`, and how far it was searched for its end.
    line: usize,
    searched: usize,
    /// Whether the last line ended with a carriage return. A line feed after it is part of the same line end.
    after_return: bool,
    has_begun: bool,
    /// Whether each line is an event, in JSON.
    is_lines: bool,
    is_loose: bool,
    data: DataSoFar,
}

/// The data of an incomplete event.
#[derive(Default, Clone, Copy)]
enum DataSoFar {
    #[default]
    None,
    /// One line with a whole value, up to this place in the event's lines.
    Whole(usize),
    /// Something else.
    Other,
}

impl SseParser {
    /// Takes bytes and calls `take` for each event that they complete, with its name (`message` if it has none) and its
    /// data.
    ///
    /// # Errors
    /// [`SseError`]. The parser must not be used after an error.
    pub(super) fn push(&mut self, mut bytes: &[u8], mut take: impl FnMut(&str, &str)) -> Result<(), SseError> {
        if !self.has_begun && self.held.is_empty() && (bytes.starts_with(b"event: ") || bytes.starts_with(b"data: ")) {
            self.has_begun = true;
        }
        if self.has_begun && self.held.is_empty() && !self.after_return && !self.is_lines {
            while let Some(end) = memchr::memmem::find(bytes, b"\n\n")
                && let Some((name, data)) = plain(&bytes[..end + 2])
            {
                take(name, data);
                bytes = &bytes[end + 2..];
            }
        }
        self.held.extend_from_slice(bytes);
        let mut event = 0;
        while let Some(end) = memchr::memchr2(b'\n', b'\r', &self.held[self.searched..]) {
            let end = self.searched + end;
            let is_rest = self.after_return && end == self.line && self.held[end] == b'\n';
            self.after_return = self.held[end] == b'\r';
            let line = std::mem::replace(&mut self.line, end + 1)..end;
            self.searched = end + 1;
            if is_rest {
                // The rest of the last line's end.
                event = if event == line.start { end + 1 } else { event };
            } else {
                event = self.line_ended(event, line, &mut take)?;
            }
        }
        self.searched = self.held.len();
        if self.held.len() - event > LONGEST {
            return Err(SseError::TooLong);
        }
        self.held.drain(..event);
        self.line -= event;
        self.searched -= event;
        if let DataSoFar::Whole(end) = &mut self.data {
            *end -= event;
        }
        Ok(())
    }

    /// Whether a client's parser would not read the events as they are.
    pub(super) fn is_loose(&self) -> bool {
        self.is_loose
    }

    /// Takes a complete line of the event that begins at `event`. Returns where the event begins to which the next line belongs.
    fn line_ended(
        &mut self,
        event: usize,
        line: std::ops::Range<usize>,
        take: &mut impl FnMut(&str, &str),
    ) -> Result<usize, SseError> {
        let next = self.line;
        let mut text = &self.held[line.clone()];
        if !self.has_begun {
            text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
            self.has_begun = !text.trim_ascii().is_empty();
            self.is_lines = text.trim_ascii_start().starts_with(b"{");
        }
        if self.is_lines {
            self.is_loose = true;
            let line = std::str::from_utf8(text).map_err(|_| SseError::NotUtf8)?.trim();
            let line = line.strip_prefix("data:").unwrap_or(line).trim_start();
            if !line.is_empty() {
                take("message", line);
            }
            return Ok(next);
        }
        if line.is_empty() {
            self.data = DataSoFar::None;
            return emit(&self.held[event..line.start], take).map(|()| next);
        }
        let trimmed = text.trim_ascii_start();
        self.is_loose |=
            trimmed.len() < text.len() && (trimmed.starts_with(b"data:") || trimmed.starts_with(b"event:"));
        let Some(value) = trimmed.strip_prefix(b"data:").map(<[u8]>::trim_ascii) else { return Ok(event) };
        let begins = value.starts_with(b"{") || value == b"[DONE]";
        let mut event = event;
        if let DataSoFar::Whole(end) = self.data
            && begins
        {
            self.is_loose = true;
            emit(&self.held[event..end], take)?;
            self.data = DataSoFar::None;
            event = end;
        }
        let is_whole = begins && (value.ends_with(b"}") || value == b"[DONE]");
        self.data = match self.data {
            DataSoFar::None if is_whole => DataSoFar::Whole(next),
            _ => DataSoFar::Other,
        };
        Ok(event)
    }
}

/// Reads the lines of an event. One without data is none.
fn emit(lines: &[u8], take: &mut impl FnMut(&str, &str)) -> Result<(), SseError> {
    let lines = lines.strip_prefix(BYTE_ORDER_MARK).unwrap_or(lines);
    let lines = std::str::from_utf8(lines).map_err(|_| SseError::NotUtf8)?;
    let mut name = "";
    let mut data: Option<Cow<'_, str>> = None;
    for line in lines.split(['\n', '\r']) {
        let (field, value) = line.trim_ascii_start().split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => name = value,
            "data" => {
                data = Some(match data.take() {
                    None => value.into(),
                    Some(mut before) => {
                        let joined = before.to_mut();
                        joined.push('\n');
                        joined.push_str(value);
                        before
                    }
                });
            }
            _ => {}
        }
    }
    if let Some(data) = data.filter(|data| !data.is_empty()) {
        take(if name.is_empty() { "message" } else { name }, &data);
    }
    Ok(())
}

/// Returns the name and the data of an event that is at most one name and one line of data, as nearly all events are.
/// Such an event needs neither parser state nor a copy. With a few bytes of text per event, these are most of the cost
/// of parsing.
pub(super) fn plain(event: &[u8]) -> Option<(&str, &str)> {
    let event = event.strip_suffix(b"\n\n").and_then(|event| std::str::from_utf8(event).ok())?;
    let (name, data) = match event.strip_prefix("event: ") {
        Some(named) => named.split_once('\n')?,
        None => ("message", event),
    };
    let data = data.strip_prefix("data: ")?;
    let is_one_line = |text: &str| !text.is_empty() && memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_none();
    (is_one_line(name) && is_one_line(data)).then_some((name, data))
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
        let mut parser = SseParser::default();
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
    fn events_of_careless_servers_are_read() {
        let expected: Vec<(String, String)> =
            ["{\"a\":1}", "{\"b\":2}", "[DONE]"].map(|data| ("message".to_owned(), data.to_owned())).into();
        for stream in [
            "data: {\"a\":1}\ndata: {\"b\":2}\ndata: [DONE]\n\n",
            "data:{\"a\":1}\r\ndata:{\"b\":2}\r\ndata:[DONE]\r\n\r\n",
            "  data: {\"a\":1}\n\n  data: {\"b\":2}\n\n  data: [DONE]\n\n",
            "{\"a\":1}\n{\"b\":2}\n[DONE]\n",
            "\u{feff}{\"a\":1}\r\n\r\n{\"b\":2}\r\ndata: [DONE]\r\n",
        ] {
            assert_eq!(events(&[stream.as_bytes()]).unwrap(), expected, "{stream}");
            let bytes: Vec<&[u8]> = stream.as_bytes().chunks(1).collect();
            assert_eq!(events(&bytes).unwrap(), expected, "{stream}");
            let mut parser = SseParser::default();
            parser.push(stream.as_bytes(), |_, _| ()).unwrap();
            assert!(parser.is_loose(), "{stream}");
        }
        let named = "event: a\ndata: {\"a\":1}\nevent: b\ndata: {\"b\":2}\n\n";
        let seen: Vec<String> = events(&[named.as_bytes()]).unwrap().into_iter().map(|(name, _)| name).collect();
        assert_eq!(seen, ["a", "b"]);
        // Lines of one value are no events of their own.
        let pretty = "data: {\ndata: \"a\": {}\ndata: }\n\n";
        assert_eq!(events(&[pretty.as_bytes()]).unwrap()[0].1, "{\n\"a\": {}\n}");
        let mut parser = SseParser::default();
        parser.push(format!("{STREAM}{pretty}").as_bytes(), |_, _| ()).unwrap();
        assert!(!parser.is_loose());
    }

    #[test]
    fn event_is_returned_with_its_last_byte() {
        for end in ["\n\n", "\r\r", "\r\n\r\n"] {
            let mut parser = SseParser::default();
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
