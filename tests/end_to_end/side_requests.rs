//! Side requests: they get no new block, and earlier blocks are replayed.
//!
//! One golden request for each rule; where the client sends it on top of a running conversation, that conversation's
//! block must be in it again.

use std::path::Path;

use muninn_tests::{TestEnv, Upstream};
use serde_json::{Value, json};

use crate::MUNINN;
use crate::spans::inserted;
use crate::stage::{QUESTION, Stage};

/// A request of a rule, as a client sends it, and one that only looks like it.
struct Golden {
    name: String,
    rule: String,
    target: String,
    request: Value,
    near_miss: Value,
}

fn golden() -> Vec<Golden> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("session/src/golden");
    let mut all: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let golden: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
            Golden {
                name: path.file_stem().unwrap().to_string_lossy().into_owned(),
                rule: golden["rule"].as_str().unwrap().to_owned(),
                target: golden["path"].as_str().unwrap().to_owned(),
                near_miss: golden["near_miss"].clone(),
                request: golden,
            }
        })
        .collect();
    all.sort_by(|one, other| one.name.cmp(&other.name));
    assert!(all.len() >= 20, "too few to be all");
    all
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// The request's headers, with a session of the test's own under the name that the client gives it.
fn headers<'a>(request: &'a Value, session: &'a str) -> Vec<(&'a str, &'a str)> {
    let own = request["headers"].as_object().unwrap().iter();
    let mut headers: Vec<_> = own
        .filter(|(name, _)| !name.ends_with("session-id"))
        .map(|(name, value)| (name.as_str(), value.as_str().unwrap()))
        .collect();
    if request["headers"].get("x-parent-session-id").is_some() {
        headers.push(("x-parent-session-id", "parent"));
    }
    headers.push(("x-muninn-session", session));
    headers
}

/// The request as it was before the model's first word, `None` where the model has not spoken.
fn opening(body: &Value) -> Option<Value> {
    let list = if body.get("input").is_some() { "input" } else { "messages" };
    let items = body[list].as_array().unwrap();
    let spoke = items.iter().position(|item| item["role"] == "assistant")?;
    let mut opening = body.clone();
    opening[list] = items[..spoke].into();
    Some(opening)
}

#[test]
fn every_rule_has_a_golden_request_that_gets_nothing_new() {
    let stage = Stage::new();
    println!("{:<26}  {:<34}  {:<9}  put back", "rule", "golden", "outcome");
    for golden in golden() {
        let Golden { name, rule, target, request, .. } = &golden;
        let headers = headers(request, name);
        let mut earlier = Vec::new();
        // A request with its own system prompt extends no conversation, so nothing is replayed.
        let opens_alike = request["opens_alike"].as_bool().unwrap_or(true);
        let opening = opening(&request["body"]).filter(|_| opens_alike);
        if let Some(opening) = &opening {
            let opening = opening.to_string();
            let response = stage.ask(target, &headers, &opening);
            assert_eq!(response.outcome(), "injected", "{name}: {}", stage.why(&response));
            earlier = inserted(opening.as_bytes(), &stage.upstream.last().body);
            assert_eq!(earlier.len(), 1, "{name}");
        }
        let body = request["body"].to_string();
        let response = stage.ask(target, &headers, &body);
        let receipt = stage.why(&response);
        assert_eq!(receipt["side_request"], rule.as_str(), "{name}: {receipt}");
        let outcome = if opening.is_some() { "replayed" } else { "none" };
        assert_eq!(response.outcome(), outcome, "{name}");
        let sent = stage.upstream.last().body;
        assert_eq!(inserted(body.as_bytes(), &sent), earlier, "{name}: what was there, and nothing else");
        assert_eq!(receipt["items"], json!([]), "{name}");
        println!("{rule:<26}  {name:<34}  {outcome:<9}  {}", earlier.len());
    }
}

#[test]
fn a_near_miss_is_a_conversation() {
    let stage = Stage::new();
    for golden in golden() {
        let Golden { name, target, near_miss, .. } = &golden;
        let response = stage.ask(target, &headers(near_miss, name), &near_miss["body"].to_string());
        let receipt = stage.why(&response);
        assert_eq!(receipt.get("side_request"), None, "{name}: {receipt}");
        // A word alone is no question that the repository could answer.
        let question = near_miss["body"].to_string().contains(QUESTION);
        assert_eq!(response.outcome() == "injected", question, "{name}: {receipt}");
    }
}

/// The words stand in a block of their own behind the person's: on the next turn, when they are gone, the person's turn
/// still has what it had before them, and its own words are answered again.
#[test]
fn an_appended_request_leaves_the_turn_before_it_as_it_was() {
    let stage = Stage::new();
    let headers = [("x-session-id", "s")];
    let text = |words: &str| json!({"type": "text", "text": words});
    let turn = |blocks: &[Value]| json!({"model": "m", "messages": [{"role": "user", "content": blocks}]}).to_string();
    let first = turn(&[text(QUESTION)]);
    assert_eq!(stage.ask(MESSAGES, &headers, &first).outcome(), "injected");
    let block = inserted(first.as_bytes(), &stage.upstream.last().body);
    let appended = turn(&[text(QUESTION), text("CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.")]);
    assert_eq!(stage.ask(MESSAGES, &headers, &appended).outcome(), "replayed");
    assert_eq!(inserted(appended.as_bytes(), &stage.upstream.last().body), block);
    assert_eq!(stage.ask(MESSAGES, &headers, &first).outcome(), "replayed");
    assert_eq!(inserted(first.as_bytes(), &stage.upstream.last().body), block);
}

const MESSAGES: &str = "/v1/messages?beta=true";
const CHAT: &str = "/v1/chat/completions";

#[test]
fn a_conversation_that_only_looks_like_a_side_request_gets_its_block() {
    let stage = Stage::new();
    let bodies = [
        // No tools is no signature.
        (MESSAGES, json!({"model": "m", "tools": [], "messages": [user(QUESTION)]})),
        (MESSAGES, json!({"model": "m", "max_tokens": 1, "messages": [user(QUESTION)]})),
        (MESSAGES, json!({"model": "m", "max_tokens": 64, "messages": [user(QUESTION)]})),
        (
            MESSAGES,
            json!({"model": "m", "messages": [user(QUESTION)], "tools": [
                {"type": "web_search_20250305", "name": "web_search"}, {"name": "Bash", "input_schema": {}}]}),
        ),
        (CHAT, json!({"model": "m", "messages": [user(&format!("{QUESTION} And what does [SUGGESTION MODE: mean?"))]})),
    ];
    for (number, (target, body)) in bodies.into_iter().enumerate() {
        let session = format!("session-{number}");
        let response = stage.ask(target, &[("x-session-id", &session)], &body.to_string());
        assert_eq!(response.outcome(), "injected", "{body}: {}", stage.why(&response));
    }
}

#[test]
fn a_vendor_compacts_the_conversation_that_it_was_sent() {
    let stage = Stage::new();
    let item = |role: &str, text: &str| json!({"type": "message", "role": role, "content": text});
    let headers = [("session-id", "s")];
    let first = json!({"model": "m", "input": [item("user", QUESTION)]}).to_string();
    assert_eq!(stage.ask("/v1/responses", &headers, &first).outcome(), "injected");
    let block = inserted(first.as_bytes(), &stage.upstream.last().body);
    let compaction = |model: &str| {
        let input = [item("user", QUESTION), item("assistant", "ok"), item("user", QUESTION)];
        json!({"model": model, "input": input, "instructions": "Be brief."}).to_string()
    };
    for target in ["/v1/responses/compact", "/v1//responses/compact/"] {
        let answer = stage.ask(target, &headers, &compaction("m")).json();
        assert_eq!(answer["output"][0]["type"], "compaction");
        let sent = stage.upstream.last();
        assert_eq!(sent.target, "/v1/responses/compact");
        assert_eq!(inserted(compaction("m").as_bytes(), &sent.body), block, "what was there, and nothing new");
    }
    let metrics = stage.gateway.request("GET", "/metrics", &[], b"").text();
    assert!(metrics.contains("kind=\"input\"} 11") && metrics.contains("kind=\"output\"} 5"), "{metrics}");
    // A body that is no conversation is forwarded as it is.
    for body in [r#"{"model":"m","previous_response_id":"resp_1"}"#, r#"{"model":"m","input":7}"#, "{"] {
        stage.ask("/v1/responses/compact", &headers, body);
        assert_eq!(stage.upstream.last().text(), body);
    }
}

#[test]
fn a_backend_of_another_format_does_not_compact() {
    let env = TestEnv::new(MUNINN);
    let upstream = Upstream::start();
    env.write_config(&format!("[[backends]]\nname = \"b\"\nurl = \"{}\"\ndialect = \"anthropic\"\n", upstream.url()));
    let root = env.repository("demo", &[("a.rs", "fn a() {}\n")]);
    let gateway = env.serve(&root, &[]);
    let response = gateway.post("/v1/responses/compact", &[], br#"{"model":"m","input":"hi"}"#);
    assert_eq!(response.status, 404);
    assert!(response.text().contains("compact"), "{}", response.text());
    assert!(upstream.requests().iter().all(|request| request.method != "POST"));
}
