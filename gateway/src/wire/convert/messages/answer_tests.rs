//! Answers, streamed and whole.

use serde_json::{Value, json};

use super::super::answer::{Answer, BlockKind, Event, Stop};
use super::super::{AnswerContext, ReadAnswer, WriteAnswer};
use super::{Reader, Writer};

fn writer() -> Writer {
    Writer::new(AnswerContext {
        id: "1".to_owned(),
        model: "m".to_owned(),
        ..AnswerContext::default()
    })
}

fn read(data: &[&str]) -> Vec<Event> {
    let (mut reader, mut events) = (Reader::default(), Vec::new());
    for data in data {
        reader.event("message", data, &mut events);
    }
    reader.end(&mut events);
    events
}

fn whole(body: &str) -> Vec<Event> {
    let mut events = Vec::new();
    Reader::default().whole(body, &mut events);
    events
}

/// An answer in one line, for tables.
fn told(events: Vec<Event>) -> String {
    let ended = matches!(events.last(), Some(Event::End | Event::Failed(_)));
    let answer = match Answer::collect(events) {
        Ok(answer) => answer,
        Err(failure) => return format!("{:?}", failure.kind),
    };
    let mut line = String::new();
    for block in &answer.blocks {
        let kind = match &block.kind {
            BlockKind::ToolCall { id, name } => format!("{id}:{name}"),
            kind => format!("{kind:?}"),
        };
        line += &format!("{kind}({}){} ", block.text, block.seal.as_deref().unwrap_or_default());
    }
    line += &answer.stop.map_or("-".to_owned(), |stop| format!("{stop:?}"));
    line + if ended { "" } else { " open" }
}

/// Checks what every reader promises about the order of its events.
fn assert_grammar(events: &[Event], case: &str) {
    let (mut open, mut next, mut starts, mut stops, mut over) = (Vec::new(), 0, 0, 0, false);
    for event in events {
        assert!(!over, "{case}: after the end {event:?}");
        assert!(
            starts == 1 || matches!(event, Event::Start { .. } | Event::Failed(_)),
            "{case}: {event:?}"
        );
        match event {
            Event::Start { .. } => starts += 1,
            Event::Open { block, .. } => {
                assert_eq!((*block, stops), (next, 0), "{case}");
                open.push(*block);
                next += 1;
            }
            Event::Delta { block, .. } | Event::Seal { block, .. } => assert!(open.contains(block), "{case}"),
            Event::Close { block } => {
                assert!(open.contains(block), "{case}");
                open.retain(|open| open != block);
            }
            Event::Usage(_) => {}
            Event::Stop(_) => {
                assert!(open.is_empty(), "{case}");
                stops += 1;
            }
            Event::End => {
                assert_eq!(stops, 1, "{case}");
                over = true;
            }
            Event::Failed(_) => over = true,
        }
    }
}

#[test]
fn the_grammar_holds_for_every_beginning_and_every_order_of_a_stream() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/wire/convert/golden/messages/stream");
    let mut streams = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let mut data: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
        let case = path.display().to_string();
        for length in 0..=data.len() {
            assert_grammar(&read(&data[..length]), &case);
            assert_grammar(&read(&data[length..]), &case);
        }
        data.reverse();
        assert_grammar(&read(&data), &case);
        streams += 1;
    }
    assert!(streams >= 12, "{streams}");
}

#[test]
fn whole_answers_are_read_however_little_they_say() {
    let cases = [
        (r#"{"content":"Hi"}"#, "Text(Hi) Done"),
        (
            r#"{"content":[{"text":"a"},{"type":"text","text":"b"}]}"#,
            "Text(ab) Done",
        ),
        (
            r#"{"content":[{"type":"thinking","thinking":"t"}],"stop_reason":"max_tokens"}"#,
            "Thinking(t)muninn-1 Length",
        ),
        (
            r#"{"content":[{"type":"thinking","thinking":"","signature":"s"},{"type":"redacted_thinking","data":"d"}]}"#,
            "Thinking()messages:s SealedThinking()messages-redacted:d Done",
        ),
        (
            r#"{"content":[{"type":"tool_use","id":"x","name":"a","input":{ }}],"stop_reason":"end_turn"}"#,
            "x:a({}) ToolCalls",
        ),
        (
            r#"{"content":[{"type":"tool_use","id":"x","name":"a","input":{"n":1.0}}],"stop_reason":"tool_use"}"#,
            r#"x:a({"n":1.0}) ToolCalls"#,
        ),
        (r#"{"content":[],"stop_reason":"tool_use"}"#, "Done"),
        (
            r#"{"content":[],"stop_reason":"stop_sequence","stop_sequence":"x"}"#,
            r#"Sequence(Some("x"))"#,
        ),
        (r#"{"content":null,"stop_reason":"pause_turn"}"#, "Paused"),
        (
            r#"{"type":"error","error":{"type":"overloaded_error","message":"m"}}"#,
            "Overloaded",
        ),
        (r#"{"type":"error","message":"m"}"#, "Server"),
        (r#"{"detail":"Not Found"}"#, "Server"),
        (r#"{"object":"list"}"#, "- open"),
        ("nothing", "- open"),
    ];
    for (body, expected) in cases {
        assert_eq!(told(whole(body)), expected, "{body}");
    }
}

#[test]
fn a_zero_does_not_take_back_what_an_answer_cost() {
    let start = r#"{"type":"message_start","message":{"usage":{"input_tokens":3,"cache_read_input_tokens":20,
        "cache_creation_input_tokens":100,"output_tokens":1}}}"#;
    let delta = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},
        "usage":{"input_tokens":0,"cache_read_input_tokens":0,"output_tokens":9}}"#;
    let usage = Answer::collect(read(&[start, delta])).unwrap().usage;
    assert_eq!(
        (usage.input, usage.cached, usage.cache_write, usage.output),
        (Some(123), Some(20), Some(100), Some(9))
    );
}

#[test]
fn a_stream_without_bound_is_broken_off() {
    let mut data = Vec::new();
    for index in 0..10_000 {
        data.push(format!(
            r#"{{"type":"content_block_start","index":{index},"content_block":{{"type":"tool_use","name":"a"}}}}"#
        ));
    }
    let data: Vec<&str> = data.iter().map(String::as_str).collect();
    let events = read(&data);
    assert!(events.len() < 2_000 && matches!(events.last(), Some(Event::Failed(_))));
}

#[test]
fn what_is_written_is_read_the_same() {
    let call = BlockKind::ToolCall {
        id: "toolu_1".to_owned(),
        name: "a".to_owned(),
    };
    let text = |text: &str| text.to_owned();
    let events = [
        Event::Start { model: None },
        Event::Open {
            block: 0,
            kind: BlockKind::Thinking,
        },
        Event::Delta {
            block: 0,
            text: text("t"),
        },
        Event::Seal {
            block: 0,
            seal: text("s"),
        },
        Event::Close { block: 0 },
        Event::Open {
            block: 1,
            kind: BlockKind::SealedThinking,
        },
        Event::Seal {
            block: 1,
            seal: text("d"),
        },
        Event::Close { block: 1 },
        Event::Open {
            block: 2,
            kind: BlockKind::Text,
        },
        Event::Close { block: 2 },
        Event::Open {
            block: 3,
            kind: BlockKind::Refusal,
        },
        Event::Delta {
            block: 3,
            text: text("no"),
        },
        Event::Close { block: 3 },
        Event::Open { block: 4, kind: call },
        Event::Delta {
            block: 4,
            text: text(" "),
        },
        Event::Close { block: 4 },
        Event::Stop(Stop::ToolCalls),
        Event::End,
    ];
    let expected = "Thinking(t)messages:s SealedThinking()messages-redacted:d Text(no) toolu_1:a({}) ToolCalls";
    let (mut writer, mut out) = (writer(), String::new());
    for event in &events {
        writer.event(event, &mut out);
    }
    let data: Vec<&str> = out.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    assert_eq!(told(read(&data)), expected, "{out}");
    let answer = Answer::collect(events).unwrap();
    assert_eq!(told(whole(&writer.whole(&answer))), expected);
}

#[test]
fn arguments_are_an_object_whatever_the_model_wrote() {
    let cases = [
        (r#"{"n":1.0}"#, json!({"n": 1.0})),
        ("", json!({})),
        ("null", json!({})),
        (r#"{"n":"#, json!({"broken_arguments": r#"{"n":"#})),
        ("[1]", json!({"broken_arguments": "[1]"})),
    ];
    for (arguments, input) in cases {
        let body = json!({"content": [{"type": "tool_use", "id": "toolu_1", "name": "a"}]});
        let mut answer = Answer::collect(whole(&body.to_string())).unwrap();
        arguments.clone_into(&mut answer.blocks[0].text);
        let written: Value = serde_json::from_str(&writer().whole(&answer)).unwrap();
        assert_eq!(written["content"][0]["input"], input, "{arguments}");
    }
}
