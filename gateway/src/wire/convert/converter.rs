//! An answer on its way back: the backend's bytes in, the client's bytes out.

use super::answer::{Answer, BlockKind, Event, Failure, FailureKind, Usage};
use super::order::EventOrder;
use super::sse::SseParser;
use super::{AnswerContext, ReadAnswer, ToolNames, WriteAnswer, reader, writer};
use crate::wire::WireFormat;

/// An answer's text may be so many bytes, streamed or not: some formats repeat all of it in their last event.
const LONGEST: usize = 64 << 20;

/// Converts one answer, streamed or whole. Holds no more of a stream than one event and what waits for its turn.
pub struct AnswerConverter {
    reader: Box<dyn ReadAnswer>,
    writer: Box<dyn WriteAnswer>,
    parser: SseParser,
    order: EventOrder,
    names: ToolNames,
    usage: Usage,
    /// Bytes of text that have come.
    length: usize,
    started: bool,
    ended: bool,
    read: Vec<Event>,
    written: String,
}

impl AnswerConverter {
    /// For an answer of a backend that speaks `from`, to a client that speaks `to`.
    #[must_use]
    pub fn new(from: WireFormat, to: WireFormat, mut context: AnswerContext) -> AnswerConverter {
        AnswerConverter {
            reader: reader(from),
            names: std::mem::take(&mut context.names),
            writer: writer(to, context),
            parser: SseParser::new(),
            order: EventOrder::default(),
            usage: Usage::default(),
            length: 0,
            started: false,
            ended: false,
            read: Vec::new(),
            written: String::new(),
        }
    }

    /// Takes bytes of a stream and returns what they mean to the client; may be empty.
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
        let parsed = self
            .parser
            .push(bytes, |name, data| reader.event(name, data, &mut read));
        for event in read.drain(..) {
            self.pass(event);
        }
        self.read = read;
        if let Err(error) = parsed {
            self.pass(broken(format!("the backend's stream cannot be read: {error}")));
        }
    }

    /// Takes the end of a stream, and how it broke where it did. Returns what makes the client's stream well-formed:
    /// nothing after a proper end, the closing events where only they were missing, an error event otherwise.
    pub fn finish(&mut self, broke: Option<&str>) -> String {
        if !self.ended && broke.is_none() {
            // Some backends leave out the empty line after their last event.
            self.push_parsed(b"\n\n");
            let mut read = std::mem::take(&mut self.read);
            self.reader.end(&mut read);
            for event in read.drain(..) {
                self.pass(event);
            }
        }
        if !self.ended {
            self.pass(broken(broke.map_or_else(
                || "the backend ended its stream in the middle of an answer".to_owned(),
                |how| format!("the backend's stream broke off: {how}"),
            )));
        }
        std::mem::take(&mut self.written)
    }

    /// Ends the client's stream with a failure of our own.
    pub fn fail(&mut self, failure: Failure) -> String {
        self.pass(Event::Failed(failure));
        std::mem::take(&mut self.written)
    }

    /// Converts a whole answer.
    ///
    /// # Errors
    /// [`Failure`] where the backend's body tells of one, or is no answer.
    pub fn whole(&mut self, body: &str) -> Result<String, Failure> {
        let answer = Answer::collect(read_whole(&mut *self.reader, &self.names, body))?;
        self.usage = answer.usage;
        Ok(self.writer.whole(&answer))
    }

    /// Converts a whole answer for a client that asked for a stream, from a backend that does not stream.
    pub fn whole_as_stream(&mut self, body: &str) -> String {
        for event in read_whole(&mut *self.reader, &self.names, body) {
            self.pass(event);
        }
        self.finish(None)
    }

    /// What the answer cost, as far as is known by now.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Whether the client's stream has had its last event.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Lets one event through to the client.
    fn pass(&mut self, mut event: Event) {
        if self.ended {
            return;
        }
        client_names(&self.names, &mut event);
        // Every stream begins as its format has it, whatever comes first; also one that only says what went wrong.
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
        self.order.take(event, &mut |event| {
            if !*ended {
                *ended = matches!(event, Event::End | Event::Failed(_));
                writer.event(&event, written);
            }
        });
    }
}

/// Reads a whole answer. The last event is [`Event::End`] or [`Event::Failed`].
pub(super) fn read_whole(reader: &mut dyn ReadAnswer, names: &ToolNames, body: &str) -> Vec<Event> {
    let mut events = Vec::new();
    reader.whole(body, &mut events);
    let ended = events
        .iter()
        .any(|event| matches!(event, Event::End | Event::Failed(_)));
    if !ended {
        events.push(broken("the backend's answer is not one of its format".to_owned()));
    }
    for event in &mut events {
        client_names(names, event);
    }
    events
}

fn client_names(names: &ToolNames, event: &mut Event) {
    if let Event::Open {
        kind: BlockKind::ToolCall { name, .. },
        ..
    } = event
    {
        *name = names.of_client(name).to_owned();
    }
}

fn broken(message: String) -> Event {
    Event::Failed(Failure {
        kind: FailureKind::Server,
        message,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endless_answer_is_ended() {
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
}
