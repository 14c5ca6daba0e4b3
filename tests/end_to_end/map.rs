//! Maps: what a client gets whose tools can read files.

use muninn_tests::http::Response;
use serde_json::{Value, json};

use crate::stage::{QUESTION, Stage};

const CHAT: &str = "/v1/chat/completions";
const HEADING: &str = "## Likely places, best first\\n- src/rate_limiter.rs:";

fn ask(stage: &Stage, session: &str, tools: &[&str], messages: &Value) -> (Response, String) {
    let tool = |name: &&str| json!({"type": "function", "function": {"name": name, "parameters": {"type": "object"}}});
    let tools: Vec<Value> = tools.iter().map(tool).collect();
    let body = json!({"model": "m", "tools": tools, "messages": messages});
    let response = stage.ask(CHAT, &[("x-session-id", session)], &body.to_string());
    (response, stage.upstream.last().text())
}

fn first_turn() -> Value {
    json!([{"role": "user", "content": QUESTION}])
}

#[test]
fn tools_that_read_files_get_places_and_others_get_code() {
    let stage = Stage::new();
    for (at, (tool, wants_map)) in [
        ("Read", true),
        ("bash", true),
        ("exec_command", true),
        ("mcp__files__read_text_file", true),
        ("get_weather", false),
        ("mcp__read__weather", false),
    ]
    .iter()
    .enumerate()
    {
        let (response, sent) = ask(&stage, &format!("s{at}"), &["get_weather", tool], &first_turn());
        assert_eq!(response.outcome(), "injected", "{tool}");
        assert_eq!(sent.contains(HEADING), *wants_map, "{tool}: {sent}");
        assert_eq!(sent.contains("```rust"), !*wants_map, "{tool}: {sent}");
        let receipt = stage.why(&response);
        let kind = if *wants_map { "place" } else { "code" };
        assert_eq!(receipt["items"][0]["kind"], kind, "{receipt}");
    }
}

#[test]
fn map_is_replayed_byte_for_byte_when_the_tools_change() {
    let stage = Stage::new();
    let (_, first) = ask(&stage, "s", &["Read"], &first_turn());
    let mut messages = first_turn();
    let more = json!([{"role": "assistant", "content": "ok"}, {"role": "user", "content": "And parse_invoice?"}]);
    messages.as_array_mut().unwrap().extend(more.as_array().unwrap().clone());
    let (response, second) = ask(&stage, "s", &[], &messages);
    let block = |sent: &str| {
        let from = sent.find("<muninn-context>").unwrap();
        sent[from..sent[from..].find("</muninn-context>").unwrap() + from].to_owned()
    };
    assert_eq!(block(&first), block(&second));
    assert_eq!(stage.why(&response)["replayed"]["blocks"], 1);
}
