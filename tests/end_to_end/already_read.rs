//! A pack repeats nothing that the conversation already holds: neither items of an earlier turn, which are replayed, nor
//! files that the client's tools have read. Files that were edited since may be packed.

use serde_json::{Value, json};

use crate::spans::inserted;
use crate::stage::{FILES, QUESTION, Stage};

const FILE: &str = "src/rate_limiter.rs";
const AGAIN: &str = "And when is the TokenBucket of the rate limiter refilled, in which method?";

/// The spans that a receipt names.
fn sources(receipt: &Value) -> Vec<String> {
    let items = receipt["items"].as_array().cloned().unwrap_or_default();
    let source = |item: &Value| item["source"].as_str().unwrap_or_default().to_owned();
    items.iter().map(source).collect()
}

fn names_file(receipt: &Value) -> bool {
    sources(receipt).iter().any(|source| source.starts_with(FILE))
}

fn edit(stage: &Stage) {
    let text = FILES[0].1.replace("let elapsed", "let token_bucket_refill_elapsed");
    std::fs::write(stage.root.join(FILE), text).unwrap();
}

/// A conversation of the messages format that asked `questions`, the model having answered all but the last.
fn conversation(questions: &[&str]) -> String {
    let mut messages = Vec::new();
    for question in questions {
        messages.push(json!({"role": "user", "content": question}));
        messages.push(json!({"role": "assistant", "content": "ok"}));
    }
    messages.pop();
    json!({"model": "m", "messages": messages}).to_string()
}

#[test]
fn item_of_an_earlier_turn_is_not_added_again() {
    let stage = Stage::new();
    let first = conversation(&[QUESTION]);
    let response = stage.ask("/v1/messages", &[("x-session-id", "s")], &first);
    let receipt = stage.why(&response);
    assert!(names_file(&receipt), "{receipt}");
    let blocks = inserted(first.as_bytes(), &stage.upstream.last().body);
    assert_eq!(blocks.len(), 1);

    // The earlier block is replayed once, byte for byte; new items are others.
    let second = conversation(&[QUESTION, AGAIN]);
    let response = stage.ask("/v1/messages", &[("x-session-id", "s")], &second);
    let again = stage.why(&response);
    let seen = inserted(second.as_bytes(), &stage.upstream.last().body);
    assert_eq!(seen[0], blocks[0]);
    assert_eq!(again["replayed"]["blocks"], 1, "{again}");
    let held = sources(&receipt);
    assert!(sources(&again).iter().all(|source| !held.contains(source)), "{again}");
    assert!(!names_file(&again), "{again}");
    if seen.len() == 1 {
        assert_eq!(response.outcome(), "replayed");
        let reason = again["reason"].as_str().unwrap_or_default();
        assert!(reason.contains("already in the conversation"), "{again}");
    }

    // In a conversation without the item, the same question gets it.
    let alone = stage.ask("/v1/messages", &[("x-session-id", "t")], &conversation(&[AGAIN]));
    assert!(names_file(&stage.why(&alone)));

    // After an edit it is packed again.
    edit(&stage);
    let third = conversation(&[QUESTION, AGAIN, "So how does the TokenBucket refill in the rate limiter now?"]);
    let response = stage.ask("/v1/messages", &[("x-session-id", "s")], &third);
    let edited = stage.why(&response);
    assert!(names_file(&edited), "{edited}");
    let now = inserted(third.as_bytes(), &stage.upstream.last().body);
    assert_eq!(now[..seen.len()], seen, "what was sent is sent again");
    assert!(now.last().unwrap().contains("token_bucket_refill_elapsed"));
}

/// What each format's client sends after its model has read the file: path and body.
fn after_reading(root: &str) -> Vec<(&'static str, Value)> {
    let text = FILES[0].1;
    let numbered = |separator: &str| {
        let lines = text.lines().zip(1..);
        let lines = lines.map(|(line, at)| format!("{at:>6}{separator}{line}"));
        lines.collect::<Vec<_>>().join("\n")
    };
    let path = format!("{root}/{FILE}");
    let environment = format!("# Environment\n - Primary working directory: {root}");
    vec![
        (
            "/v1/messages",
            json!({"messages": [
                {"role": "user", "content": "Please read."},
                {"role": "system", "content": environment},
                {"role": "assistant", "content": [
                    {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": path}}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "t1", "content": numbered("\u{2192}")}]},
                {"role": "assistant", "content": "Done."},
                {"role": "user", "content": QUESTION}]}),
        ),
        (
            "/v1/chat/completions",
            json!({"messages": [
                {"role": "system", "content": format!("<env>\n  Working directory: {root}\n</env>")},
                {"role": "user", "content": "Please read."},
                {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function",
                    "function": {"name": "read", "arguments": json!({"filePath": path}).to_string()}}]},
                {"role": "tool", "tool_call_id": "c1", "content": format!("<file>\n{}\n</file>", numbered("| "))},
                {"role": "assistant", "content": "Done."},
                {"role": "user", "content": QUESTION}]}),
        ),
        (
            "/v1/responses",
            json!({"input": [
                {"type": "message", "role": "user", "content": [{"type": "input_text",
                    "text": format!("<environment_context>\n  <cwd>{root}</cwd>\n</environment_context>")}]},
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Please read."}]},
                {"type": "function_call", "call_id": "c1", "name": "shell", "arguments":
                    json!({"command": ["bash", "-lc", format!("sed -n '1,200p' {FILE}")], "workdir": root}).to_string()},
                {"type": "function_call_output", "call_id": "c1", "output": text},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": QUESTION}]}]}),
        ),
    ]
}

#[test]
fn file_read_by_the_clients_tools_is_not_added() {
    let stage = Stage::new();
    let read = after_reading(stage.root.to_str().unwrap());
    let ask = |session: &str, target: &str, body: &Value| {
        let mut body = body.clone();
        body["model"] = "m".into();
        let session = format!("{session} {target}");
        let response = stage.ask(target, &[("x-session-id", &session)], &body.to_string());
        stage.why(&response)
    };
    for (target, body) in &read {
        let receipt = ask("read", target, body);
        assert!(!names_file(&receipt), "{target}: {receipt}");
        // A tool call without file content does not count as reading the file.
        let other = body.to_string().replace("\"Read\"", "\"Fetch\"");
        let other = other.replace("\"read\"", "\"fetch\"").replace("sed -n '1,200p'", "wc -l");
        let other: Value = serde_json::from_str(&other).unwrap();
        let receipt = ask("not read", target, &other);
        assert!(names_file(&receipt), "{target}: {receipt}");
    }
    edit(&stage);
    for (target, body) in &read {
        let receipt = ask("edited", target, body);
        assert!(names_file(&receipt), "{target}: {receipt}");
    }
}
