//! Tests of answers of many servers: whole, streamed and incomplete.

use super::super::super::answer::{Answer, FailureKind};
use super::super::super::golden::check_grammar;
use super::*;

fn stream(lines: &[&str]) -> Vec<Event> {
    let mut reader = Reader::default();
    let mut events = Vec::new();
    for line in lines {
        reader.event("message", line, &mut events);
    }
    reader.end(&mut events);
    events
}

fn collected(lines: &[&str]) -> Answer {
    let events = stream(lines);
    check_grammar("stream", &events);
    Answer::collect(events).unwrap()
}

#[test]
fn deviations_of_backends_are_read() {
    // No `message_start`, no index, no stop reason, and `[DONE]` of another format as the end.
    let answer = collected(&[
        r#"{"type":"content_block_delta","delta":{"text":"a"}}"#,
        r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"b"}}"#,
        "[DONE]",
        r#"{"type":"content_block_delta","delta":{"text":"late"}}"#,
    ]);
    assert_eq!((answer.blocks[0].text.as_str(), answer.stop), ("ab", Some(Stop::Done)));
    // Whole arguments in the start, missing and repeated ids, and `end_turn` after calls.
    let answer = collected(&[
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"x","name":"T","input":{"a":1}}}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"x","name":"T","input":"{\"a\":2}"}}"#,
        r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","name":"T"}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#,
    ]);
    let calls: Vec<_> = answer
        .blocks
        .iter()
        .map(|block| match &block.kind {
            BlockKind::ToolCall { id, .. } => (id.as_str(), block.text.as_str()),
            _ => ("", ""),
        })
        .collect();
    assert_eq!(calls, [("x", r#"{"a":1}"#), ("call_1", r#"{"a":2}"#), ("call_2", "{}")]);
    assert_eq!(answer.stop, Some(Stop::ToolCalls));
}

#[test]
fn errors_at_any_point_are_reported() {
    for (line, kind) in [
        (r#"{"type":"error","error":{"type":"overloaded_error","message":"m"}}"#, FailureKind::Overloaded),
        (r#"{"error":{"message":"m","code":429}}"#, FailureKind::RateLimit),
        (r#"{"type":"error","message":"m"}"#, FailureKind::Server),
        ("{\"type\":", FailureKind::Server),
        ("<html>", FailureKind::Server),
    ] {
        let events = stream(&[r#"{"type":"message_start","message":{}}"#, line, r#"{"type":"message_stop"}"#]);
        check_grammar(line, &events);
        assert!(matches!(events.last(), Some(Event::Failed(failure)) if failure.kind == kind), "{line}: {events:?}");
    }
}

#[test]
fn malformed_events_keep_the_grammar_and_the_limits() {
    let lines = [
        r#"{"type":"message_stop"}"#,
        r#"{"type":"content_block_stop","index":7}"#,
        r#"{"type":"content_block_start","index":-1,"content_block":null}"#,
        r#"{"type":"content_block_start","index":"x","content_block":{"type":"text","text":7}}"#,
        r#"{"type":"content_block_delta","index":18446744073709551615,"delta":{"text":"x"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":[]}"#,
        r#"{"type":"message_delta","delta":7,"usage":{"input_tokens":-1,"output_tokens":"x"}}"#,
        r#"{"type":"message_start","message":7}"#,
        r#"{"type":7}"#,
        "{}",
    ];
    for skipped in 0..lines.len() {
        let (first, second) = lines.split_at(skipped);
        let events = stream(&[second, first].concat());
        check_grammar(first.last().unwrap_or(&""), &events);
    }
    let mut reader = Reader::default();
    let mut events = Vec::new();
    for index in 0..1000 {
        let line = format!(r#"{{"type":"content_block_start","index":{index},"content_block":{{"type":"text"}}}}"#);
        reader.event("", &line, &mut events);
    }
    assert!(reader.open.len() <= MOST_OPEN);
}
