//! The token budget of a block: by the tools that a request declares, and the same for the built-in model, which shows
//! the block without a backend.

use muninn_tests::Upstream;
use serde_json::{Value, json};

use crate::stage::{QUESTION, Stage};

const CHAT: &str = "/v1/chat/completions";
const RESPONSES: &str = "/v1/responses";

/// A gateway that gives clients with tools much less than others.
fn stage() -> Stage {
    let stage = Stage::with(Upstream::start(), "tokens_with_tools = 260\n");
    stage.gateway.wait_ready();
    stage
}

/// The receipt of a request in a session of its own.
fn receipt(stage: &Stage, target: &str, session: &str, body: &Value) -> Value {
    let response = stage.ask(target, &[("x-session-id", session)], &body.to_string());
    stage.why(&response)
}

#[test]
fn tools_in_an_input_item_count_as_tools() {
    let stage = stage();
    let tools = json!([{"type": "function", "name": "shell", "parameters": {"type": "object"}}]);
    let message = json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": QUESTION}]});
    let item = json!({"type": "additional_tools", "role": "developer", "tools": tools});
    let without = receipt(&stage, RESPONSES, "a", &json!({"model": "m", "input": [message]}));
    let beside = receipt(&stage, RESPONSES, "b", &json!({"model": "m", "input": [message], "tools": tools}));
    let within = receipt(&stage, RESPONSES, "c", &json!({"model": "m", "input": [item, message]}));
    assert_eq!(beside["outcome"], "injected", "{beside}");
    assert!(beside["tokens"].as_u64().unwrap() < without["tokens"].as_u64().unwrap(), "{beside} {without}");
    assert_eq!((&within["tokens"], &within["items"]), (&beside["tokens"], &beside["items"]));
}

#[test]
fn built_in_model_shows_the_pack() {
    let stage = stage();
    let tools = json!([{"type": "function", "function": {"name": "shell", "parameters": {"type": "object"}}}]);
    let asked = |model: &str, tools: &Value| json!({"model": model, "tools": tools, "messages": [{"role": "user", "content": QUESTION}]});
    let mut tokens = Vec::new();
    for (session, tools) in [("without", &json!([])), ("with", &tools)] {
        let shown = receipt(&stage, CHAT, session, &asked("muninn/context", tools));
        let added = receipt(&stage, CHAT, session, &asked("m", tools));
        assert_eq!(added["outcome"], "injected", "{added}");
        assert_eq!((&shown["tokens"], &shown["items"]), (&added["tokens"], &added["items"]), "{session} tools");
        tokens.push(shown["tokens"].as_u64().unwrap());
    }
    assert!(tokens[1] < tokens[0], "{tokens:?}");
}

#[test]
fn built_in_model_repeats_no_item() {
    let stage = stage();
    let turns = |model: &str, turns: &[&str]| {
        let mut messages = Vec::new();
        for turn in turns {
            messages.push(json!({"role": "user", "content": turn}));
            messages.push(json!({"role": "assistant", "content": "ok"}));
        }
        messages.pop();
        json!({"model": model, "messages": messages})
    };
    let again = "And how does TokenBucket take one token from the rate limiter?";
    receipt(&stage, CHAT, "s", &turns("m", &[QUESTION]));
    let shown = receipt(&stage, CHAT, "s", &turns("muninn/context", &[QUESTION, again]));
    let added = receipt(&stage, CHAT, "s", &turns("m", &[QUESTION, again]));
    assert_eq!((&shown["tokens"], &shown["items"]), (&added["tokens"], &added["items"]));
}

#[test]
fn built_in_model_explains_an_empty_side_request() {
    let stage = stage();
    let body = json!({"model": "muninn/context", "max_tokens": 1, "messages": [{"role": "user", "content": "count"}]});
    let shown = receipt(&stage, "/v1/messages", "s", &body);
    let reason = shown["reason"].as_str().unwrap_or_default();
    assert!(reason.starts_with("a side request"), "{shown}");
}
