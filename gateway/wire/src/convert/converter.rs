//! Conversion of an answer: the backend's bytes in, the client's bytes out.

use super::answer::{Answer, BlockKind, Event, Failure, FailureKind, Usage};
use super::order::EventOrder;
use super::request::Dropped;
use super::sse::{SseError, SseParser};
use super::stop_cut::StopCut;
use super::{AnswerContext, ReadAnswer, ToolNames, WriteAnswer, reader, writer};
use crate::WireFormat;

/// The longest text of an answer, in bytes. It is bounded because some formats repeat all text in their last event.
const LONGEST: usize = 64 << 20;

/// The converter of one answer, streamed or whole. Of a stream it holds one event and the blocks that wait for an
/// earlier one.
pub struct AnswerConverter {
    reader: Box<dyn ReadAnswer>,
    writer: Box<dyn WriteAnswer>,
    parser: SseParser,
    order: EventOrder,
    cut: StopCut,
    names: ToolNames,
    usage: Usage,
    /// The length of all deltas so far, in bytes.
    length: usize,
    started: bool,
    ended: bool,
    read: Vec<Event>,
    written: String,
}

impl AnswerConverter {
    /// Creates a converter from a backend's format to a client's format.
    pub fn new(from: WireFormat, to: WireFormat, mut context: AnswerContext) -> AnswerConverter {
        AnswerConverter {
            reader: reader(from),
            names: std::mem::take(&mut context.names),
            cut: StopCut::new(std::mem::take(&mut context.stops)),
            writer: writer(to, context),
            parser: SseParser::default(),
            order: EventOrder::default(),
            usage: Usage::default(),
            length: 0,
            started: false,
            ended: false,
            read: Vec::new(),
            written: String::new(),
        }
    }

    /// Converts bytes of a backend's stream. Returns complete server-sent events for the client, or an empty string.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        if !self.ended {
            self.written.reserve(2 * bytes.len());
            self.push_parsed(bytes);
        }
        std::mem::take(&mut self.written)
    }

    fn push_parsed(&mut self, bytes: &[u8]) {
        let mut read = std::mem::take(&mut self.read);
        let reader = &mut self.reader;
        let parsed = self.parser.push(bytes, |name, data| reader.event(name, data, &mut read));
        for event in read.drain(..) {
            self.write(event);
        }
        self.read = read;
        if let Err(error) = parsed {
            self.write(Event::Failed(unreadable(&error)));
        }
    }

    /// Ends the stream. `broke` is the reason if the backend's stream broke off.
    ///
    /// Returns the rest of the client's stream: nothing if it has ended, the closing events if the backend left out
    /// only these, else an error event.
    pub fn finish(&mut self, broke: Option<&str>) -> String {
        if !self.ended && broke.is_none() {
            // Some backends leave out the empty line after their last event.
            self.push_parsed(b"\n\n");
            let mut read = std::mem::take(&mut self.read);
            self.reader.end(&mut read);
            for event in read.drain(..) {
                self.write(event);
            }
        }
        if !self.ended {
            let broke = broke.map(|how| failed(format!("the backend's stream broke off: {how}")));
            self.write(Event::Failed(broke.unwrap_or_else(cut_off)));
        }
        std::mem::take(&mut self.written)
    }

    /// Ends the client's stream with a failure and returns its last event.
    pub fn fail(&mut self, failure: Failure) -> String {
        self.write(Event::Failed(failure));
        std::mem::take(&mut self.written)
    }

    /// Converts a whole answer.
    ///
    /// # Errors
    /// [`Failure`] if the backend's body reports one or is not an answer of its format.
    pub fn whole(&mut self, body: &str) -> Result<String, Failure> {
        let events = read_whole(&mut *self.reader, &self.names, body);
        let answer = self.collect(events)?;
        self.usage = answer.usage;
        Ok(self.writer.whole(&answer))
    }

    /// Converts the stream of a backend that was asked for a whole answer.
    ///
    /// # Errors
    /// [`Failure`] if the stream reports one, or ends in the middle of the answer.
    pub fn stream_as_whole(&mut self, stream: &[u8]) -> Result<String, Failure> {
        let mut events = Vec::new();
        for bytes in [stream, b"\n\n"] {
            let reader = &mut self.reader;
            let parsed = self.parser.push(bytes, |name, data| reader.event(name, data, &mut events));
            parsed.map_err(|error| unreadable(&error))?;
        }
        self.reader.end(&mut events);
        if !matches!(events.last(), Some(Event::End | Event::Failed(_))) {
            events.push(Event::Failed(cut_off()));
        }
        events.iter_mut().for_each(|event| set_client_name(&self.names, event));
        let answer = self.collect(events)?;
        self.usage = answer.usage;
        Ok(self.writer.whole(&answer))
    }

    /// Collects the events of a whole answer, up to a stop sequence.
    fn collect(&mut self, events: Vec<Event>) -> Result<Answer, Failure> {
        if !self.cut.is_needed() {
            return Answer::collect(events);
        }
        let mut answer = Vec::with_capacity(events.len());
        for event in events {
            self.order.push(event, &mut |event| self.cut.push(event, &mut |event| answer.push(event)));
        }
        Answer::collect(answer)
    }

    /// Converts a whole answer for a client that asked for a stream, from a backend that does not stream.
    pub fn whole_as_stream(&mut self, body: &str) -> String {
        for event in read_whole(&mut *self.reader, &self.names, body) {
            self.write(event);
        }
        self.finish(None)
    }

    /// Returns the usage that the backend reported so far.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Returns the parts of the answer so far that were left out.
    pub fn dropped(&self) -> &Dropped {
        self.reader.dropped()
    }

    /// Whether the last event of the client's stream was written.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Writes one event for the client.
    fn write(&mut self, mut event: Event) {
        if self.ended {
            return;
        }
        set_client_name(&self.names, &mut event);
        // A backend may leave out the start; a client's stream always has one, unless its first event is a failure.
        if !self.started {
            self.started = true;
            if !matches!(event, Event::Start { .. } | Event::Failed(_)) {
                self.writer.event(&Event::Start { model: None }, &mut self.written);
            }
        }
        match &event {
            Event::Usage(usage) => self.usage.update(*usage),
            Event::Delta { text, .. } => self.length += text.len(),
            _ => {}
        }
        if self.length > LONGEST {
            event = broken(format!("the backend's answer is longer than {} MB", LONGEST >> 20));
        }
        let (writer, written, ended) = (&mut self.writer, &mut self.written, &mut self.ended);
        let mut emit = |event| {
            if !*ended {
                *ended = matches!(event, Event::End | Event::Failed(_));
                writer.event(&event, written);
            }
        };
        let cut = &mut self.cut;
        self.order.push(event, &mut |event| cut.push(event, &mut emit));
    }
}

/// Reads a whole answer. The last event is [`Event::End`] or [`Event::Failed`].
pub(super) fn read_whole(reader: &mut dyn ReadAnswer, names: &ToolNames, body: &str) -> Vec<Event> {
    let mut events = Vec::new();
    reader.whole(body, &mut events);
    let ended = events.iter().any(|event| matches!(event, Event::End | Event::Failed(_)));
    if !ended {
        events.push(broken("the backend's answer is not in its wire format".to_owned()));
    }
    for event in &mut events {
        set_client_name(names, event);
    }
    events
}

fn set_client_name(names: &ToolNames, event: &mut Event) {
    if let Event::Open { kind: BlockKind::ToolCall { name, .. }, .. } = event {
        *name = names.client_name(name).to_owned();
    }
}

fn broken(message: String) -> Event {
    Event::Failed(failed(message))
}

fn failed(message: String) -> Failure {
    Failure { kind: FailureKind::Server, message }
}

fn cut_off() -> Failure {
    failed("the backend ended its stream in the middle of an answer".to_owned())
}

fn unreadable(error: &SseError) -> Failure {
    failed(format!("the backend's stream cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::super::golden::FORMATS;
    use super::*;

    #[test]
    fn answer_over_the_limit_fails() {
        let mut converter = AnswerConverter::new(WireFormat::Chat, WireFormat::Responses, AnswerContext::default());
        let text = "x".repeat(1 << 20);
        let event = format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n");
        for _ in 0..64 {
            converter.push(event.as_bytes());
            assert!(!converter.ended());
        }
        let last = converter.push(event.as_bytes());
        assert!(converter.ended() && last.contains("response.failed") && last.contains("64 MB"));
    }

    /// The names of what an answer loses on the way to each other format.
    fn named(from: WireFormat, convert: impl Fn(&mut AnswerConverter)) -> String {
        let named = FORMATS.iter().filter(|(to, _)| *to != from).map(|(to, _)| {
            let mut converter = AnswerConverter::new(from, *to, AnswerContext::default());
            convert(&mut converter);
            let named = converter.dropped().iter().map(|(name, count)| format!("{name} x{count}"));
            named.collect::<Vec<_>>().join(", ")
        });
        let mut named: Vec<_> = named.collect();
        named.dedup();
        named.join("; ")
    }

    #[test]
    fn losses_of_a_whole_answer_are_named() {
        let message = |message: &str| format!(r#"{{"choices":[{{"message":{message},"finish_reason":"stop"}}]}}"#);
        let content = |blocks: &str| format!(r#"{{"content":[{blocks}],"stop_reason":"end_turn"}}"#);
        let output = |items: &str| format!(r#"{{"status":"completed","output":[{items}]}}"#);
        for (from, body, names) in [
            (WireFormat::Chat, message(r#"{"content":"a","annotations":[],"audio":null}"#), ""),
            (
                WireFormat::Chat,
                message(r#"{"content":"a","annotations":[{},{}],"audio":{"id":"a"},"images":[{}]}"#),
                "answer.annotations x2, answer.audio x1, answer.images x1",
            ),
            (
                WireFormat::Chat,
                message(r#"{"content":"a"},"logprobs":{"content":[{}]}"#).replacen('{', r#"{"citations":["u"],"#, 1),
                "answer.citations x1, answer.logprobs x1",
            ),
            (WireFormat::Chat, message(r#"{"content":"a"},"logprobs":{"content":[],"refusal":null}"#), ""),
            (
                WireFormat::Chat,
                message(r#"{"content":[{"type":"text","text":"a"},{"type":"reference","reference_ids":[1]}]}"#),
                "answer.reference x1",
            ),
            (
                WireFormat::Messages,
                content(
                    r#"{"type":"server_tool_use","id":"s"},{"type":"text","text":"a","citations":[{},{}]},{"type":"text","text":"b","citations":null}"#,
                ),
                "answer.citations x2, answer.server_tool_use x1",
            ),
            (WireFormat::Messages, content(r#"{"type":"a name\n","x":1}"#), "other x1"),
            (
                WireFormat::Responses,
                output(
                    r#"{"type":"file_search_call","id":"f"},{"type":"mcp_call","id":"m"},{"type":"mcp_call","id":"n"}"#,
                ),
                "answer.file_search_call x1, answer.mcp_call x2",
            ),
            (
                WireFormat::Responses,
                output(
                    r#"{"type":"message","content":[{"type":"output_text","text":"a","annotations":[{}],"logprobs":[{},{}]},{"type":"output_audio"}]}"#,
                ),
                "answer.annotations x1, answer.logprobs x1, answer.output_audio x1",
            ),
            (
                WireFormat::Responses,
                output(
                    r#"{"type":"message","content":[{"type":"output_text","text":"a","annotations":[],"logprobs":[]}]}"#,
                ),
                "",
            ),
        ] {
            let convert = |converter: &mut AnswerConverter| drop(converter.whole(&body).unwrap());
            assert_eq!(named(from, convert), names, "{from:?}: {body}");
        }
    }

    #[test]
    fn losses_of_a_stream_are_named_once() {
        let chunk = |choice: &str| format!(r#"{{"citations":["u"],"choices":[{{"index":0,{choice}}}]}}"#);
        let delta = r#""delta":{"content":"a","annotations":[{}]},"logprobs":{"content":[{}]}"#;
        let citation = r#"{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"type":"page_location"}}}"#;
        let search = r#""output_index":0,"item":{"type":"web_search_call","id":"ws_1"}"#;
        for (from, events, names) in [
            (
                WireFormat::Chat,
                vec![
                    chunk(delta),
                    chunk(r#""delta":{"content":"b"},"logprobs":{"content":[{}]}"#),
                    chunk(r#""delta":{},"finish_reason":"stop""#),
                ],
                "answer.annotations x1, answer.citations x1, answer.logprobs x1",
            ),
            (
                WireFormat::Messages,
                vec![
                    r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"","citations":[]}}"#.to_owned(),
                    citation.to_owned(),
                    citation.to_owned(),
                    r#"{"type":"content_block_start","index":1,"content_block":{"type":"server_tool_use"}}"#.to_owned(),
                ],
                "answer.citations x2, answer.server_tool_use x1",
            ),
            (
                WireFormat::Responses,
                vec![
                    format!(r#"{{"type":"response.output_item.added",{search}}}"#),
                    format!(r#"{{"type":"response.output_item.done",{search}}}"#),
                    r#"{"type":"response.completed","response":{"status":"completed","output":[{"type":"web_search_call","id":"ws_1"}]}}"#.to_owned(),
                ],
                "answer.web_search_call x1",
            ),
        ] {
            let convert = |converter: &mut AnswerConverter| {
                for event in &events {
                    converter.push(format!("data: {event}\n\n").as_bytes());
                }
            };
            assert_eq!(named(from, convert), names, "{from:?}: {events:?}");
        }
    }
}
