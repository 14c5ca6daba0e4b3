//! An answer in the client's own format and in another form than it asked for, without loss where the form alone is wrong.

use std::fmt::Write as _;

use super::context::AnswerContext;
use super::request::Dropped;
use super::sse::{SseError, SseParser};
use super::switch::{read_body, read_request, settings};
use crate::{Members, WireFormat};

/// Writes events as clients read them: each with the name that its format gives it, its data, and an empty line.
pub struct Reframer {
    format: WireFormat,
    parser: SseParser,
}

impl Reframer {
    /// For a stream of this format.
    pub fn new(format: WireFormat) -> Self {
        Self { format, parser: SseParser::default() }
    }

    /// Takes bytes of a backend's stream, and returns the events that they complete.
    ///
    /// # Errors
    /// [`SseError`] if the stream cannot be read.
    pub fn push(&mut self, bytes: &[u8]) -> Result<String, SseError> {
        let mut written = String::new();
        let is_named = self.format != WireFormat::Chat;
        let pushed = self.parser.push(bytes, |name, data| {
            let kind = || Members::of(data.trim()).and_then(|event| event.non_empty("type"));
            match name {
                "message" if is_named => kind().map(|kind| writeln!(written, "event: {kind}").ok()),
                "message" => None,
                name => Some(writeln!(written, "event: {name}").ok()),
            };
            for line in data.lines() {
                writeln!(written, "data: {line}").ok();
            }
            written.push('\n');
        });
        pushed.map(|()| written)
    }

    /// Returns the event that the end of the stream completes.
    ///
    /// # Errors
    /// As [`Self::push`].
    pub fn end(&mut self) -> Result<String, SseError> {
        self.push(b"\n\n")
    }
}

/// Returns the response in the last event of a stream of the responses format, as the backend wrote it.
pub fn completed_response(stream: &[u8]) -> Option<String> {
    let (mut parser, mut found) = (SseParser::default(), None);
    for bytes in [stream, b"\n\n"] {
        let parsed = parser.push(bytes, |_, data| {
            let Some(event) = Members::of(data.trim()) else { return };
            let last = ["response.completed", "response.incomplete", "response.failed"];
            if event.string("type").is_some_and(|kind| last.contains(&&*kind)) {
                found = event.get("response").map(str::to_owned).or(found.take());
            }
        });
        parsed.ok()?;
    }
    found
}

/// Returns what the answer to a request needs to be written in the request's own format.
pub fn own_context(format: WireFormat, body: &str) -> AnswerContext {
    let mut context = AnswerContext::default();
    let Ok(body) = read_body(format, body) else { return context };
    let settings = settings(format, &body);
    if let Ok(request) = read_request(format, body, &mut Dropped::default(), &mut context) {
        context.settings = settings;
        context.model = request.model.clone().into_owned();
        context.stream_usage = request.stream_usage;
    }
    context
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_written_with_their_names_and_all_of_their_data() {
        let mut reframer = Reframer::new(WireFormat::Messages);
        let mut written = reframer.push(b"event: a\n data: {\"x\":1}\ndata: {\"type\":\"b\"}\ndata: [DO").unwrap();
        written += &reframer.push(b"NE]").unwrap();
        written += &reframer.end().unwrap();
        assert_eq!(written, "event: a\ndata: {\"x\":1}\n\nevent: b\ndata: {\"type\":\"b\"}\n\ndata: [DONE]\n\n");
    }

    #[test]
    fn response_of_the_last_event_stays_as_it_is() {
        let stream = "data: {\"type\":\"response.created\",\"response\":{\"id\":\"r\"}}\n\ndata: {\"type\":\"response.completed\",\"response\":{\"id\" : \"r\",\"output\":[1.0]}}\n\n";
        assert_eq!(completed_response(stream.as_bytes()).unwrap(), "{\"id\" : \"r\",\"output\":[1.0]}");
        assert_eq!(completed_response(b"data: {}\n\n"), None);
    }
}
