//! Tests of answers.

use serde_json::Value;

use super::super::super::answer::{Answer, BlockKind, Event, Stop};
use super::super::super::golden::{self, check_grammar, parsed};
use super::super::super::{AnswerContext, WriteAnswer};
use super::super::Writer;
use crate::WireFormat;

fn read(data: &[&str]) -> Vec<Event> {
    let named = |data: &&str| ("message".to_owned(), (*data).to_owned());
    golden::read(WireFormat::Chat, &data.iter().map(named).collect::<Vec<_>>())
}

/// Writes events as a stream and reads it.
fn again(events: &[Event]) -> (String, Answer) {
    let (mut writer, mut out) = (Writer::new(AnswerContext::default()), String::new());
    events.iter().for_each(|event| writer.event(event, &mut out));
    let answer = Answer::collect(golden::read(WireFormat::Chat, &parsed(&out))).unwrap();
    (out, answer)
}

#[test]
fn chunks_with_wrong_types_are_ignored() {
    let odd = [
        r#"{"choices":7}"#,
        r#"{"choices":[1,{"index":0,"delta":[]}]}"#,
        r#"{"choices":[{"delta":{"content":7,"tool_calls":{}}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[7,{},{"index":-1,"function":{"name":3,"arguments":4}}]}}]}"#,
        r#"{"choices":[{"finish_reason":9}],"usage":[],"model":{}}"#,
        "7",
        r#"{"choices":[{"finish_reason":"stop"}]}"#,
    ];
    check_grammar("odd", &read(&odd));
    let expected = Answer { stop: Some(Stop::Done), ..Answer::default() };
    assert_eq!(Answer::collect(read(&odd)).unwrap(), expected);
}

#[test]
fn stream_with_too_many_calls_fails() {
    let call = |number: usize| {
        format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":{number},"function":{{"name":"f"}}}}]}}}}]}}"#)
    };
    let data: Vec<_> = (0..2000).map(call).collect();
    let events = read(&data.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(matches!(events.last(), Some(Event::Failed(_))));
}

#[test]
fn call_without_arguments_gets_an_object_and_usage_is_sent_only_if_asked_for() {
    let call = BlockKind::ToolCall { id: "call_t".to_owned(), name: "todoread".to_owned() };
    let events = [
        Event::Start { model: None },
        Event::Open { block: 0, kind: call },
        Event::Close { block: 0 },
        Event::Stop(Stop::ToolCalls),
        Event::End,
    ];
    let (stream, answer) = again(&events);
    assert_eq!(answer.blocks[0].text, "{}");
    assert!(!stream.contains("usage"), "{stream}");
}

#[test]
fn texts_with_a_block_between_them_are_separated() {
    let text_block = |block, text: &str| {
        [
            Event::Open { block, kind: BlockKind::Text },
            Event::Delta { block, text: text.into() },
            Event::Close { block },
        ]
    };
    let thinking = [Event::Open { block: 2, kind: BlockKind::Thinking }, Event::Close { block: 2 }];
    let mut events = vec![Event::Start { model: None }];
    events.extend(text_block(0, "a"));
    events.extend(text_block(1, "b"));
    events.extend(thinking);
    events.extend(text_block(3, "c"));
    events.extend([Event::Stop(Stop::Done), Event::End]);
    let whole = Writer::new(AnswerContext::default()).whole(&Answer::collect(events.clone()).unwrap());
    let whole: Value = serde_json::from_str(&whole).unwrap();
    assert_eq!(whole["choices"][0]["message"]["content"], "ab\n\nc");
    assert_eq!(again(&events).1.blocks[0].text, "ab\n\nc");
}
