//! Tests of surrogate pairs that a backend's stream splits between two events: the client gets the joined character.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::answer::{Answer, BlockKind};
use super::golden::{FORMATS, context, parsed, read};
use super::*;
use crate::WireFormat;

/// The literal of a JSON string of these UTF-16 units, including halves of pairs.
fn literal(units: &[u16]) -> String {
    let escapes = units.iter().map(|unit| format!("\\u{unit:04x}"));
    format!("\"{}\"", escapes.collect::<String>())
}

/// A stream of one block whose deltas are `pieces`: text, thinking or the arguments of a call.
fn stream(format: WireFormat, kind: &BlockKind, pieces: &[&[u16]]) -> String {
    let events: Vec<(String, String)> = match format {
        WireFormat::Chat => chat_events(kind, pieces),
        WireFormat::Messages => messages_events(kind, pieces),
        WireFormat::Responses => responses_events(kind, pieces),
    };
    let event = |(name, data): (String, String)| match &*name {
        "" => format!("data: {data}\n\n"),
        name => format!("event: {name}\ndata: {data}\n\n"),
    };
    events.into_iter().map(event).collect()
}

/// Serializes `value` with `literal` in place of `"@"`.
fn with(value: &Value, literal: &str) -> String {
    value.to_string().replace("\"@\"", literal)
}

fn chat_events(kind: &BlockKind, pieces: &[&[u16]]) -> Vec<(String, String)> {
    let chunk = |delta: Value, reason: Value| json!({"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
    let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), Value::Null).to_string()];
    let delta = match kind {
        BlockKind::ToolCall { id, name } => {
            let begun = json!({"tool_calls": [{"index": 0, "id": id, "type": "function", "function": {"name": name, "arguments": ""}}]});
            events.push(chunk(begun, Value::Null).to_string());
            json!({"tool_calls": [{"index": 0, "function": {"arguments": "@"}}]})
        }
        BlockKind::Thinking => json!({"reasoning_content": "@"}),
        _ => json!({"content": "@"}),
    };
    let delta = chunk(delta, Value::Null);
    events.extend(pieces.iter().map(|piece| with(&delta, &literal(piece))));
    events.push(chunk(json!({}), json!("stop")).to_string());
    events.push("[DONE]".to_owned());
    events.into_iter().map(|data| (String::new(), data)).collect()
}

fn messages_events(kind: &BlockKind, pieces: &[&[u16]]) -> Vec<(String, String)> {
    let (block, delta) = match kind {
        BlockKind::ToolCall { id, name } => (
            json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
            json!({"type": "input_json_delta", "partial_json": "@"}),
        ),
        BlockKind::Thinking => {
            (json!({"type": "thinking", "thinking": ""}), json!({"type": "thinking_delta", "thinking": "@"}))
        }
        _ => (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": "@"})),
    };
    let delta = json!({"type": "content_block_delta", "index": 0, "delta": delta});
    let mut events = vec![
        json!({"type": "message_start", "message": {"id": "m", "model": "m", "content": []}}).to_string(),
        json!({"type": "content_block_start", "index": 0, "content_block": block}).to_string(),
    ];
    events.extend(pieces.iter().map(|piece| with(&delta, &literal(piece))));
    events.push(json!({"type": "content_block_stop", "index": 0}).to_string());
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}).to_string());
    events.push(json!({"type": "message_stop"}).to_string());
    events.into_iter().map(|data| (String::new(), data)).collect()
}

fn responses_events(kind: &BlockKind, pieces: &[&[u16]]) -> Vec<(String, String)> {
    let (item, delta) = match kind {
        BlockKind::ToolCall { id, name } => (
            json!({"type": "function_call", "id": "i", "call_id": id, "name": name, "arguments": ""}),
            "response.function_call_arguments.delta",
        ),
        BlockKind::Thinking => {
            (json!({"type": "reasoning", "id": "i", "summary": []}), "response.reasoning_summary_text.delta")
        }
        _ => (json!({"type": "message", "id": "i", "role": "assistant", "content": []}), "response.output_text.delta"),
    };
    let delta = json!({"type": delta, "item_id": "i", "output_index": 0, "content_index": 0, "delta": "@"});
    let mut events = vec![
        json!({"type": "response.created", "response": {"id": "r", "model": "m"}}).to_string(),
        json!({"type": "response.output_item.added", "output_index": 0, "item": item}).to_string(),
    ];
    events.extend(pieces.iter().map(|piece| with(&delta, &literal(piece))));
    // The repeated arguments are equal to the joined deltas.
    if let BlockKind::ToolCall { .. } = kind {
        let done = json!({"type": "response.function_call_arguments.done", "item_id": "i", "arguments": "@"});
        events.push(with(&done, &literal(&pieces.concat())));
    }
    events.push(
        json!({"type": "response.completed", "response": {"id": "r", "status": "completed", "output": []}}).to_string(),
    );
    events.into_iter().map(|data| (String::new(), data)).collect()
}

fn call() -> BlockKind {
    BlockKind::ToolCall { id: "call_1".to_owned(), name: "write".to_owned() }
}

fn converted(from: WireFormat, to: WireFormat, kind: &BlockKind, pieces: &[&[u16]]) -> Vec<String> {
    let mut converter = AnswerConverter::new(from, to, context());
    let mut out = converter.push(stream(from, kind, pieces).as_bytes());
    out.push_str(&converter.finish(None));
    let answer = Answer::collect(read(to, &parsed(&out))).unwrap();
    answer.blocks.into_iter().map(|block| block.text).collect()
}

fn pairs() -> impl Iterator<Item = (WireFormat, WireFormat)> {
    let all = FORMATS.iter().flat_map(|(from, _)| FORMATS.iter().map(move |(to, _)| (*from, *to)));
    all.filter(|(from, to)| from != to)
}

#[test]
fn half_at_the_end_of_a_stream_becomes_the_replacement_character() {
    let units: Vec<u16> = "a\n".encode_utf16().chain([0xd83d]).collect();
    for (from, to) in pairs() {
        for kind in [BlockKind::Text, BlockKind::Thinking] {
            assert_eq!(converted(from, to, &kind, &[&units]), ["a\n\u{fffd}"], "{from:?} to {to:?}");
        }
    }
}

#[test]
fn half_in_a_whole_answer_keeps_the_rest_of_the_text() {
    let lone = |escaped: &str| format!(r#""a\n\"b\"{escaped}\tc""#);
    for (from, body) in [
        (
            WireFormat::Chat,
            json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": "@", "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "write", "arguments": "{\"x\":\"\\ud83d\"}"}}]}, "finish_reason": "tool_calls"}]}),
        ),
        (
            WireFormat::Messages,
            json!({"content": [{"type": "text", "text": "@"}, {"type": "tool_use", "id": "call_1", "name": "write", "input": {"x": "@lone"}}], "stop_reason": "tool_use"}),
        ),
        (
            WireFormat::Responses,
            json!({"status": "completed", "output": [{"type": "message", "id": "m", "content": [{"type": "output_text", "text": "@"}]}, {"type": "function_call", "id": "f", "call_id": "call_1", "name": "write", "arguments": "{\"x\":\"\\ud83d\"}"}]}),
        ),
    ] {
        let body = with(&body, &lone(r"\ud83d")).replace("@lone", r"\ud83d");
        for (to, _) in FORMATS.iter().filter(|(to, _)| *to != from) {
            let whole = AnswerConverter::new(from, *to, context()).whole(&body).unwrap();
            let parsed: Value = serde_json::from_str(&whole).unwrap();
            assert!(parsed.to_string().contains(r#"a\n\"b\"�\tc"#), "{from:?} to {to:?}: {whole}");
            let mut events = Vec::new();
            reader(*to).whole(&whole, &mut events);
            let blocks = Answer::collect(events).unwrap().blocks;
            let arguments: Value = serde_json::from_str(&blocks[1].text).unwrap();
            assert_eq!(arguments["x"], "\u{fffd}", "{from:?} to {to:?}");
        }
    }
}

#[test]
fn request_with_halves_becomes_valid_unicode() {
    for (from, body) in [
        (
            WireFormat::Chat,
            r#"{"model":"m","messages":[{"role":"user","content":"a\tb\n\ud83d"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"write","arguments":"{\"x\":\"\\ud83d\"}"}}]},{"role":"tool","tool_call_id":"call_1","content":"c\ude00"}],"tools":[{"type":"function","function":{"name":"write","description":"\ud83d","parameters":{"type":"object","description":"\ud83d"}}}]}"#,
        ),
        (
            WireFormat::Messages,
            r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"a\tb\n\ud83d"},{"role":"assistant","content":[{"type":"tool_use","id":"call_1","name":"write","input":{"x":"\ud83d"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":"c\ude00"}]}],"tools":[{"name":"write","description":"\ud83d","input_schema":{"type":"object","description":"\ud83d"}}]}"#,
        ),
        (
            WireFormat::Responses,
            r#"{"model":"m","input":[{"role":"user","content":"a\tb\n\ud83d"},{"type":"function_call","call_id":"call_1","name":"write","arguments":"{\"x\":\"\\ud83d\"}"},{"type":"function_call_output","call_id":"call_1","output":"c\ude00"}],"tools":[{"type":"function","name":"write","description":"\ud83d","parameters":{"type":"object","description":"\ud83d"}}]}"#,
        ),
    ] {
        for (to, _) in FORMATS.iter().filter(|(to, _)| *to != from) {
            let sent = request(from, *to, body).unwrap().body;
            let parsed: Value = serde_json::from_str(&sent).unwrap_or_else(|error| panic!("{error}: {sent}"));
            let text = parsed.to_string();
            assert!(text.contains(r"a\tb\n�") && text.contains("c\u{fffd}"), "{from:?} to {to:?}: {text}");
            assert!(!text.contains("ud83d"), "{from:?} to {to:?}: {text}");
        }
    }
}

proptest! {
    /// Text, thinking and arguments are the same for any split between two UTF-16 units.
    #[test]
    fn any_split_of_a_text_gives_the_same_text(text in "[a\n\"\\\\\u{1f600}\u{10fffd}é]{1,24}", sizes in proptest::collection::vec(1_usize..4, 0..24)) {
        for kind in [BlockKind::Text, BlockKind::Thinking, call()] {
            let text = match kind {
                BlockKind::ToolCall { .. } => json!({"x": text}).to_string(),
                _ => text.clone(),
            };
            let units: Vec<u16> = text.encode_utf16().collect();
            let (mut pieces, mut rest) = (Vec::new(), &units[..]);
            for size in sizes.iter().copied().chain([units.len()]) {
                let (piece, later) = rest.split_at(size.min(rest.len()));
                pieces.push(piece);
                rest = later;
            }
            for (from, to) in pairs() {
                prop_assert_eq!(converted(from, to, &kind, &pieces), vec![text.clone()], "{:?} to {:?}, {:?}", from, to, kind);
            }
        }
    }
}
