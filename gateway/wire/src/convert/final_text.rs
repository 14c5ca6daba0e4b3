//! The text of a finished answer, from the bytes that the client got.

use super::answer::{Answer, BlockKind, Event, Stop};
use super::converter::read_whole;
use super::sse::SseParser;
use super::{ToolNames, reader};
use crate::WireFormat;

/// Returns the text of a whole answer, see [`streamed_text`].
pub fn whole_text(format: WireFormat, body: &[u8]) -> Option<String> {
    let body = std::str::from_utf8(body).ok()?;
    text_of(read_whole(&mut *reader(format), &ToolNames::default(), body))
}

/// Returns the text of a streamed answer, its blocks separated by blank lines. The stream may lack whole events at its
/// beginning.
///
/// `None` if the answer is incomplete or failed, or if it is not the last one of its turn: it ends in calls, or in a pause
/// that the client continues.
pub fn streamed_text<'b>(format: WireFormat, pieces: impl Iterator<Item = &'b [u8]>) -> Option<String> {
    let (mut reader, mut parser, mut events) = (reader(format), SseParser::default(), Vec::new());
    // Some backends leave out the empty line after their last event.
    for piece in pieces.chain([&b"\n\n"[..]]) {
        let read = parser.push(piece, |name, data| reader.event(name, data, &mut events));
        read.ok()?;
    }
    reader.end(&mut events);
    text_of(events)
}

fn text_of(events: Vec<Event>) -> Option<String> {
    let is_complete = events.iter().any(|event| matches!(event, Event::End));
    let answer = Answer::collect(events).ok()?;
    if !is_complete || matches!(answer.stop, Some(Stop::ToolCalls | Stop::Paused)) {
        return None;
    }
    let texts = answer.blocks.iter().filter(|block| block.kind == BlockKind::Text);
    let texts: Vec<&str> = texts.map(|block| block.text.trim()).filter(|text| !text.is_empty()).collect();
    Some(texts.join("\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::{AnswerContext, write_stream, write_whole};

    const FORMATS: [WireFormat; 3] = [WireFormat::Chat, WireFormat::Messages, WireFormat::Responses];

    /// An answer with thinking, text, a call if it is `stop`ped for one, and text.
    fn answer(stop: Stop) -> Vec<Event> {
        let mut kinds = vec![(BlockKind::Thinking, "src/no.rs"), (BlockKind::Text, "See src/a.rs.\n")];
        if stop == Stop::ToolCalls {
            let (id, name) = ("c".to_owned(), "Read".to_owned());
            kinds.push((BlockKind::ToolCall { id, name }, "{}"));
        }
        let mut events = vec![Event::Start { model: None }];
        for (block, (kind, text)) in kinds.into_iter().enumerate() {
            events.push(Event::Open { block, kind });
            let halves = text.split_at(text.len() / 2);
            for text in [halves.0, halves.1].map(str::to_owned) {
                events.push(Event::Delta { block, text });
            }
            events.push(Event::Close { block });
        }
        events.extend([Event::Stop(stop), Event::End]);
        events
    }

    fn streamed(format: WireFormat, stream: &[String]) -> Option<String> {
        streamed_text(format, stream.iter().map(String::as_bytes))
    }

    #[test]
    fn text_is_the_same_streamed_and_whole_in_every_format() {
        for format in FORMATS {
            for stop in [Stop::Done, Stop::Length] {
                let stream = write_stream(format, AnswerContext::default(), answer(stop.clone()));
                assert_eq!(streamed(format, &stream).as_deref(), Some("See src/a.rs."), "{format:?}");
                let whole = write_whole(format, AnswerContext::default(), answer(stop));
                assert_eq!(whole_text(format, whole.as_bytes()).as_deref(), Some("See src/a.rs."));
            }
        }
    }

    #[test]
    fn answer_that_ends_in_a_call_is_not_the_last() {
        for format in FORMATS {
            let stream = write_stream(format, AnswerContext::default(), answer(Stop::ToolCalls));
            assert_eq!(streamed(format, &stream), None, "{format:?}");
            let whole = write_whole(format, AnswerContext::default(), answer(Stop::ToolCalls));
            assert_eq!(whole_text(format, whole.as_bytes()), None, "{format:?}");
        }
    }

    #[test]
    fn incomplete_and_failed_answers_have_no_text() {
        for format in FORMATS {
            let stream = write_stream(format, AnswerContext::default(), answer(Stop::Done)).concat();
            let text = stream.find("a.rs").unwrap();
            assert_eq!(streamed(format, &[stream[..text].to_owned()]), None, "{format:?}");
            assert_eq!(streamed(format, &[]), None);
            let whole = write_whole(format, AnswerContext::default(), answer(Stop::Done));
            assert_eq!(whole_text(format, &whole.as_bytes()[..whole.len() / 2]), None);
            assert_eq!(whole_text(format, br#"{"error":{"type":"x","message":"src/a.rs"}}"#), None);
        }
        let failed = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"x\",\"message\":\"src/a.rs\"}}\n\n";
        assert_eq!(streamed(WireFormat::Messages, &[failed.to_owned()]), None);
    }

    #[test]
    fn stream_without_its_beginning_has_the_text_of_the_rest() {
        for format in FORMATS {
            let stream = write_stream(format, AnswerContext::default(), answer(Stop::Done));
            let stream: Vec<&str> = stream.iter().flat_map(|events| events.split_inclusive("\n\n")).collect();
            let second_half = stream.iter().position(|event| event.contains("a.rs.")).unwrap();
            let rest = stream[second_half..].iter().map(|event| event.as_bytes());
            let text = streamed_text(format, rest).unwrap();
            assert!(text.contains("a.rs."), "{format:?}: {text}");
        }
    }
}
