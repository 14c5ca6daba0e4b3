//! Requests that clients make on their own behalf: nothing new is put in, and what was there stays.
//!
//! One golden request for each rule; where the client sends it on top of a running conversation, that conversation's
//! block must be in it again.

use serde_json::{Value, json};

use crate::spans::inserted;
use crate::stage::{QUESTION, Stage};

struct Golden {
    /// The rule's name, as the receipt shows it.
    rule: &'static str,
    target: &'static str,
    headers: &'static [(&'static str, &'static str)],
    /// Added to, or put in place of, the conversation's members.
    body: Value,
    /// Messages after the conversation's first turn and its answer; `None` for a request that stands alone.
    after: Option<Value>,
}

const MESSAGES: &str = "/v1/messages?beta=true";
const CHAT: &str = "/v1/chat/completions";
const RESPONSES: &str = "/v1/responses";

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn alone(rule: &'static str, target: &'static str, body: Value) -> Golden {
    Golden {
        rule,
        target,
        headers: &[],
        body,
        after: None,
    }
}

fn fork(rule: &'static str, target: &'static str, after: Value) -> Golden {
    Golden {
        rule,
        target,
        headers: &[],
        body: json!({}),
        after: Some(after),
    }
}

/// From recordings of the clients; the question is in each, so that only the rule keeps a block out.
fn golden() -> Vec<Golden> {
    let title = format!("<session>\n{QUESTION}\n</session>");
    let title_schema = json!({"format": {"type": "json_schema", "schema": {
        "type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"], "additionalProperties": false}}});
    vec![
        Golden {
            rule: "subagent",
            target: MESSAGES,
            headers: &[("x-claude-code-agent-id", "a1")],
            body: json!({"messages": [user(QUESTION)], "tools": [{"name": "Grep", "input_schema": {}}]}),
            after: None,
        },
        alone("probe", MESSAGES, json!({"max_tokens": 1, "messages": [user("quota")]})),
        alone("probe", MESSAGES, json!({"max_tokens": 1, "messages": [user("count")]})),
        alone("probe", CHAT, json!({"max_tokens": 1, "messages": [user("ping")]})),
        alone(
            "title (claude code)",
            MESSAGES,
            json!({"messages": [user(&title)], "tools": [], "output_config": title_schema, "max_tokens": 32000}),
        ),
        alone(
            "title (codex)",
            RESPONSES,
            json!({"input": [{"type": "message", "role": "user", "content": [{"type": "input_text",
                "text": format!("Generate a concise, single-line task title for this request: {QUESTION}")}]}]}),
        ),
        alone(
            "title (opencode)",
            CHAT,
            json!({"messages": [{"role": "system", "content": "You are a title generator. You output ONLY a thread title."}, user(QUESTION)]}),
        ),
        alone(
            "title request",
            CHAT,
            json!({"messages": [user(&format!("Generate a title for this conversation:\n{QUESTION}"))]}),
        ),
        alone(
            "classifier (auto mode)",
            MESSAGES,
            json!({"max_tokens": 64, "stop_sequences": ["</block>"], "system": "Decide whether the action may run.",
                "messages": [user(&format!("<transcript>\n{QUESTION}\n</transcript> {QUESTION}"))]}),
        ),
        alone(
            "web search",
            MESSAGES,
            json!({"tools": [{"type": "web_search_20250305", "name": "web_search", "max_uses": 8}],
                "messages": [user(&format!("Perform a web search for the query: {QUESTION}"))]}),
        ),
        fork(
            "compaction (claude code)",
            MESSAGES,
            json!([user(&format!(
                "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools. Summarise: {QUESTION}"
            ))]),
        ),
        // As a further block of a human turn, when the client tries again.
        fork(
            "compaction (claude code)",
            MESSAGES,
            json!([{"role": "user", "content": [{"type": "text", "text": QUESTION},
                {"type": "text", "text": "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools."}]}]),
        ),
        fork(
            "suggestion",
            MESSAGES,
            json!([user(&format!(
                "[SUGGESTION MODE: Suggest what the user might type next about {QUESTION}]"
            ))]),
        ),
        fork(
            "structured output",
            MESSAGES,
            json!([user(&format!("[structured-output-enforce] Call the tool. {QUESTION}"))]),
        ),
        fork(
            "background notice",
            MESSAGES,
            json!([user(&format!(
                "<system-reminder>\n[SYSTEM NOTIFICATION - NOT USER INPUT]\nA task ended.\n</system-reminder>\n{QUESTION}"
            ))]),
        ),
        fork(
            "compaction (codex)",
            RESPONSES,
            json!([{"type": "message", "role": "user", "content": [{"type": "input_text",
                "text": format!("You are performing a CONTEXT CHECKPOINT COMPACTION. Summarise: {QUESTION}")}]}]),
        ),
        fork(
            "compaction (opencode)",
            CHAT,
            json!([user(&format!(
                "You are a context summarization agent. Summarise: {QUESTION}"
            ))]),
        ),
    ]
}

const OPENING: &str = "How does TokenBucket take a token in the rate limiter?";

/// The conversation that forks start from: one turn, and, with `after`, its answer and what follows.
fn conversation(target: &str, after: Option<&Value>) -> Value {
    let responses = target == RESPONSES;
    let mut items = if responses {
        vec![json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": OPENING}]})]
    } else {
        vec![user(OPENING)]
    };
    if let Some(after) = after {
        items.push(if responses {
            json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ok"}]})
        } else {
            json!({"role": "assistant", "content": "ok"})
        });
        items.extend(after.as_array().unwrap().iter().cloned());
    }
    let list = if responses { "input" } else { "messages" };
    json!({"model": "m", list: items})
}

#[test]
fn every_rule_has_a_golden_request_that_gets_nothing_new() {
    let stage = Stage::new();
    for (number, golden) in golden().into_iter().enumerate() {
        let Golden {
            rule,
            target,
            headers,
            body,
            after,
        } = golden;
        let session = format!("session-{number}");
        let headers = [headers, &[("x-session-id", session.as_str())]].concat();
        let mut earlier = Vec::new();
        let mut request = body;
        if let Some(after) = &after {
            let opening = conversation(target, None).to_string();
            let response = stage.ask(target, &headers, &opening);
            assert_eq!(response.outcome(), "injected", "{rule}: {}", stage.why(&response));
            earlier = inserted(opening.as_bytes(), &stage.upstream.last().body);
            request = conversation(target, Some(after));
        }
        request["model"] = "m".into();
        let request = request.to_string();
        let response = stage.ask(target, &headers, &request);
        let receipt = stage.why(&response);
        assert_eq!(receipt["side_request"], rule, "{number}: {receipt}");
        assert_eq!(
            response.outcome(),
            if after.is_some() { "replayed" } else { "none" },
            "{number} {rule}"
        );
        assert_eq!(
            inserted(request.as_bytes(), &stage.upstream.last().body),
            earlier,
            "{number} {rule}"
        );
        assert_eq!(receipt["items"], json!([]), "{number} {rule}");
    }
}

#[test]
fn a_conversation_that_only_looks_like_a_side_request_gets_its_block() {
    let stage = Stage::new();
    let bodies = [
        // No tools is no signature.
        (
            MESSAGES,
            json!({"model": "m", "tools": [], "messages": [user(QUESTION)]}),
        ),
        (
            MESSAGES,
            json!({"model": "m", "max_tokens": 1, "messages": [user(QUESTION)]}),
        ),
        (
            MESSAGES,
            json!({"model": "m", "max_tokens": 64, "messages": [user(QUESTION)]}),
        ),
        (
            MESSAGES,
            json!({"model": "m", "messages": [user(QUESTION)], "tools": [
                {"type": "web_search_20250305", "name": "web_search"}, {"name": "Bash", "input_schema": {}}]}),
        ),
        (
            CHAT,
            json!({"model": "m", "messages": [user(&format!("{QUESTION} And what does [SUGGESTION MODE: mean?"))]}),
        ),
    ];
    for (number, (target, body)) in bodies.into_iter().enumerate() {
        let session = format!("session-{number}");
        let response = stage.ask(target, &[("x-session-id", &session)], &body.to_string());
        assert_eq!(response.outcome(), "injected", "{body}: {}", stage.why(&response));
    }
}
