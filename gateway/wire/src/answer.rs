//! Answers of the built-in model in the client's format, streamed or whole.

use super::WireFormat;
use super::convert::answer::{BlockKind, Event, Stop, Usage};
use super::convert::{self, AnswerContext};

/// A complete answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// A ULID. Each format adds its own prefix.
    pub id: String,
    /// The model's name.
    pub model: String,
    /// Seconds since the epoch.
    pub created: i64,
    /// The text, in the pieces in which it is streamed.
    pub pieces: Vec<String>,
    /// Tokens of the question.
    pub input_tokens: u32,
    pub output_tokens: u32,
}

impl Answer {
    /// The body of an answer that is not streamed.
    pub fn whole(&self, format: WireFormat) -> String {
        convert::write_whole(format, self.context(), self.neutral_events())
    }

    /// The server-sent events of a streamed answer.
    pub fn events(&self, format: WireFormat) -> Vec<String> {
        convert::write_stream(format, self.context(), self.neutral_events())
    }

    fn context(&self) -> AnswerContext {
        AnswerContext {
            id: self.id.clone(),
            created: self.created,
            model: self.model.clone(),
            stream_usage: true,
            ..AnswerContext::default()
        }
    }

    fn neutral_events(&self) -> Vec<Event> {
        let usage =
            |output| Event::Usage(Usage { input: Some(u64::from(self.input_tokens)), output, ..Usage::default() });
        let start = [Event::Start { model: None }, usage(None), Event::Open { block: 0, kind: BlockKind::Text }];
        let pieces = self.pieces.iter().map(|piece| Event::Delta { block: 0, text: piece.clone() });
        let end = [
            Event::Close { block: 0 },
            usage(Some(u64::from(self.output_tokens))),
            Event::Stop(Stop::Done),
            Event::End,
        ];
        start.into_iter().chain(pieces).chain(end).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn answer() -> Answer {
        Answer {
            id: "01J".into(),
            model: "muninn/context".into(),
            created: 1,
            pieces: vec!["one\n".into(), "two".into()],
            input_tokens: 3,
            output_tokens: 2,
        }
    }

    fn data(event: &str) -> Option<Value> {
        let data = event.lines().find_map(|line| line.strip_prefix("data: "))?;
        serde_json::from_str(data).ok()
    }

    #[test]
    fn streamed_text_equals_whole_text() {
        let pointers = [
            (WireFormat::Chat, "/choices/0/delta/content", "/choices/0/message/content"),
            (WireFormat::Messages, "/delta/text", "/content/0/text"),
            (WireFormat::Responses, "/delta", "/output/0/content/0/text"),
        ];
        for (format, piece, whole) in pointers {
            let events = answer().events(format).concat();
            let streamed: String = events
                .split("\n\n")
                .filter_map(|event| data(event)?.pointer(piece)?.as_str().map(str::to_owned))
                .collect();
            let body: Value = serde_json::from_str(&answer().whole(format)).unwrap();
            assert_eq!(streamed, "one\ntwo", "{format:?}");
            assert_eq!(body.pointer(whole).and_then(Value::as_str), Some("one\ntwo"), "{format:?}");
        }
    }

    #[test]
    fn every_stream_has_its_closing_event() {
        let last = |format| {
            let events = answer().events(format).concat();
            let last = events.trim_end().rsplit("\n\n").next().unwrap();
            format!("{last}\n\n")
        };
        assert_eq!(last(WireFormat::Chat), "data: [DONE]\n\n");
        assert!(last(WireFormat::Messages).starts_with("event: message_stop\n"));
        assert!(last(WireFormat::Responses).starts_with("event: response.completed\n"));
    }
}
