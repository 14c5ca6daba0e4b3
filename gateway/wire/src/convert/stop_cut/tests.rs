//! Tests of answers that end at a stop sequence.

use proptest::prelude::*;

use super::super::answer::{Answer, Usage};
use super::super::golden::{parsed, read};
use super::super::{AnswerContext, AnswerConverter, request, write_stream, write_whole};
use super::*;
use crate::WireFormat::{self, Chat, Messages, Responses};

const FORMATS: [WireFormat; 3] = [Chat, Messages, Responses];

fn block(number: usize, kind: BlockKind, texts: &[String]) -> Vec<Event> {
    let mut events = vec![Event::Open { block: number, kind }];
    events.extend(texts.iter().map(|text| Event::Delta { block: number, text: text.clone() }));
    events.push(Event::Close { block: number });
    events
}

/// The events of an answer: thinking, a call and a refusal that have the text, too, around the text itself.
fn answer(text: &[String]) -> Vec<Event> {
    let call = |id: &str| BlockKind::ToolCall { id: id.to_owned(), name: "f".to_owned() };
    let arguments = serde_json::json!({"a": text.concat()}).to_string();
    let mut events = vec![Event::Start { model: None }];
    events.extend(block(0, BlockKind::Thinking, text));
    events.extend(block(1, BlockKind::Text, text));
    events.extend(block(2, call("c"), &[arguments]));
    let usage = Usage { input: Some(7), output: Some(9), ..Usage::default() };
    events.extend([Event::Stop(Stop::ToolCalls), Event::Usage(usage), Event::End]);
    events
}

fn context() -> AnswerContext {
    AnswerContext { stream_usage: true, ..AnswerContext::default() }
}

fn converter(from: WireFormat, to: WireFormat, stops: &[&str]) -> AnswerConverter {
    let stops = stops.iter().map(|stop| (*stop).to_owned()).collect();
    AnswerConverter::new(from, to, AnswerContext { stops, ..context() })
}

/// The parts of an answer that a client reads: thinking, text, number of calls, stop reason, output tokens.
fn seen(answer: &Answer) -> (String, String, usize, Option<Stop>, Option<u64>) {
    let joined = |kind: &BlockKind| {
        let blocks = answer.blocks.iter().filter(|block| block.kind == *kind);
        blocks.map(|block| block.text.as_str()).collect::<String>()
    };
    let calls = answer.blocks.iter().filter(|block| matches!(block.kind, BlockKind::ToolCall { .. })).count();
    let (thinking, text) = (joined(&BlockKind::Thinking), joined(&BlockKind::Text));
    (thinking, text, calls, answer.stop.clone(), answer.usage.output)
}

fn streamed(from: WireFormat, to: WireFormat, stops: &[&str], pieces: &[&[u8]]) -> Answer {
    let mut converter = converter(from, to, stops);
    let mut stream: String = pieces.iter().map(|piece| converter.push(piece)).collect();
    stream.push_str(&converter.finish(None));
    assert!(converter.ended());
    Answer::collect(read(to, &parsed(&stream))).unwrap()
}

fn whole(from: WireFormat, to: WireFormat, stops: &[&str], events: Vec<Event>) -> Answer {
    let body = write_whole(from, context(), events);
    let body = converter(from, to, stops).whole(&body).unwrap();
    let mut events = Vec::new();
    super::super::reader(to).whole(&body, &mut events);
    Answer::collect(events).unwrap()
}

/// The place and the sequence at which an answer has to end.
fn first_stop<'s>(text: &str, stops: &[&'s str]) -> Option<(usize, &'s str)> {
    let places = stops.iter().filter_map(|stop| Some((text.find(stop)?, *stop)));
    places.min_by_key(|(at, stop)| (*at, stop.len()))
}

#[test]
fn answer_ends_before_the_first_stop_sequence() {
    for (text, stops, end) in [
        ("yes</block>no", &["</block>"][..], "yes"),
        ("yes</blok>no", &["</block>"], "yes</blok>no"),
        ("</block>", &["</block>"], ""),
        ("a</bl", &["</block>"], "a</bl"),
        ("a</bl</block>", &["</block>"], "a</bl"),
        ("1 abc 2", &["b", "abc"], "1 "),
        ("1 abd 2", &["b", "abc"], "1 a"),
        ("ab", &["abc", "b"], "a"),
        ("é\u{1f600}ü", &["\u{1f600}ü"], "é"),
        ("a\n\nb", &["\n\n", "\n"], "a"),
        ("aaab", &["aab"], "a"),
        ("none", &["x", "y"], "none"),
    ] {
        let expected = first_stop(text, stops);
        let pieces: Vec<String> = text.chars().map(String::from).collect();
        for from in FORMATS {
            let stream = write_stream(from, context(), answer(&pieces)).concat();
            for to in [Chat, Messages] {
                let whole = seen(&whole(from, to, stops, answer(&pieces)));
                let reason = match (expected, to) {
                    (None, _) => Stop::ToolCalls,
                    (Some((_, stop)), Messages) => Stop::Sequence(Some(stop.to_owned())),
                    (Some(_), _) => Stop::Done,
                };
                let calls = usize::from(expected.is_none());
                let expected = (text.to_owned(), end.to_owned(), calls, Some(reason), Some(9));
                assert_eq!(whole, expected, "{text:?} {stops:?} {from:?} to {to:?}");
                // Each byte alone: the stream is cut everywhere.
                let bytes: Vec<&[u8]> = stream.as_bytes().chunks(1).collect();
                for pieces in [&bytes[..], &[stream.as_bytes()]] {
                    let streamed = seen(&streamed(from, to, stops, pieces));
                    assert_eq!(streamed, expected, "{text:?} {stops:?} {from:?} to {to:?}");
                }
            }
        }
    }
}

#[test]
fn text_is_held_back_only_while_a_stop_sequence_may_begin() {
    let mut converter = converter(Chat, Messages, &["</block>"]);
    let mut push = |text: &str| {
        let chunk = serde_json::json!({"choices": [{"index": 0, "delta": {"content": text}}]});
        let written = converter.push(format!("data: {chunk}\n\n").as_bytes());
        let texts = parsed(&written).into_iter().filter_map(|(_, data)| {
            let data: serde_json::Value = serde_json::from_str(&data).unwrap();
            data.pointer("/delta/text").map(|text| text.as_str().unwrap().to_owned())
        });
        texts.collect::<String>()
    };
    for (text, written) in
        [("a <", "a "), ("", ""), ("/b", ""), ("x", "</bx"), ("<<", "<"), ("/block", ""), (">more", ""), ("more", "")]
    {
        assert_eq!(push(text), written, "{text}");
    }
    // The answer is complete, so the end of the connection is no failure.
    let end = converter.finish(Some("reset"));
    assert!(end.contains("stop_sequence\":\"</block>") && end.contains("message_stop"), "{end}");
}

#[test]
fn held_text_precedes_a_failure() {
    let mut converter = converter(Chat, Messages, &["</block>"]);
    let chunk = r#"{"choices":[{"index":0,"delta":{"content":"a</bl"}}]}"#;
    let written = converter.push(format!("data: {chunk}\n\n").as_bytes()) + &converter.finish(Some("reset"));
    assert!(written.contains("\"a\"") && written.contains("\"</bl\"") && written.contains("event: error"), "{written}");
}

#[test]
fn stop_sequences_that_the_backend_cannot_take_are_cut_at() {
    let body = |stops: serde_json::Value, from, model: &str| {
        let key = if from == Chat { "stop" } else { "stop_sequences" };
        serde_json::json!({"model": model, key: stops, "messages": [{"role": "user", "content": "a"}]}).to_string()
    };
    let many: Vec<_> = (0..70).map(|number| format!("<{number}>")).collect();
    for (from, to, model, stops, sent, cut, dropped) in [
        (Messages, Responses, "m", serde_json::json!(["a", "b"]), 0, 2, 0),
        (Messages, Chat, "m", serde_json::json!(["a", "b", "c", "d", "e", ""]), 4, 1, 1),
        (Messages, Chat, "gpt-5.1", serde_json::json!(["a", "b"]), 0, 2, 0),
        (Chat, Messages, "m", serde_json::json!(["\n", "b"]), 1, 1, 0),
        (Chat, Responses, "m", serde_json::json!("a"), 0, 1, 0),
        (Chat, Responses, "m", serde_json::json!(many), 0, 64, 6),
        (Chat, Responses, "m", serde_json::json!(["a", "x".repeat(2000)]), 0, 1, 1),
    ] {
        let case = format!("{from:?} to {to:?} {stops:.60}");
        let converted = request(from, to, &body(stops, from, model)).unwrap();
        let written: serde_json::Value = serde_json::from_str(&converted.body).unwrap();
        let taken = ["stop", "stop_sequences"].iter().find_map(|key| written[*key].as_array()).map_or(0, Vec::len);
        let names: Vec<_> = converted.dropped.iter().collect();
        assert_eq!((taken, converted.context.stops.len()), (sent, cut), "{case}");
        let expected = if dropped == 0 { vec![] } else { vec![("stop", dropped)] };
        assert_eq!(names, expected, "{case}");
    }
}

proptest! {
    /// The cut is where a search in the whole text finds it, whatever the pieces of the text and of the stream.
    #[test]
    fn stream_cut_anywhere_ends_where_the_whole_answer_ends(
        text in proptest::collection::vec("[ab<é]{0,4}", 0..6),
        stops in proptest::collection::vec("[ab<é]{1,3}", 1..4),
        cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..4),
        from in proptest::sample::select(&FORMATS[..]),
        to in proptest::sample::select(&[Chat, Messages][..]),
    ) {
        let all = text.concat();
        let stops: Vec<&str> = stops.iter().map(String::as_str).collect();
        let end = first_stop(&all, &stops).map_or(all.len(), |(at, _)| at);
        let whole = seen(&whole(from, to, &stops, answer(&text)));
        prop_assert_eq!((&*whole.0, &*whole.1, whole.4), (&*all, &all[..end], Some(9)));
        let stream = write_stream(from, context(), answer(&text)).concat();
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        places.extend([0, stream.len()]);
        places.sort_unstable();
        let pieces: Vec<&[u8]> = places.windows(2).map(|ends| &stream.as_bytes()[ends[0]..ends[1]]).collect();
        prop_assert_eq!(seen(&streamed(from, to, &stops, &pieces)), whole);
    }
}
