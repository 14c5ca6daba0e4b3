//! The preamble before the first block of a conversation through the gateway.

use muninn_tests::Gateway;
use muninn_tests::http::Response;
use serde_json::{Value, json};

use crate::learning::Team;
use crate::stage::QUESTION;

const CHAT: &str = "/v1/chat/completions";
const OFF_TOPIC: &str = "Write a haiku about autumn leaves, please.";

/// A gateway for a repository that was set up for Muninn.
struct Initialised {
    team: Team,
    gateway: Gateway,
}

impl Initialised {
    fn new() -> Initialised {
        let team = Team::with("repo", "");
        team.env.stdout_of(&team.root, &["remember", "Invoices are rounded to the cent."]);
        let gateway = team.serve();
        Initialised { team, gateway }
    }

    /// Sends messages in a session, with a tool and headers. Returns the response and the text that the backend received.
    fn send(&self, session: &str, tool: &str, headers: &[(&str, &str)], messages: &Value) -> (Response, String) {
        let tool = json!({"type": "function", "function": {"name": tool, "parameters": {"type": "object"}}});
        let body = json!({"model": "m", "tools": [tool], "messages": messages}).to_string();
        self.send_body(session, headers, &body)
    }

    fn send_body(&self, session: &str, headers: &[(&str, &str)], body: &str) -> (Response, String) {
        let headers: Vec<_> = headers.iter().copied().chain([("x-session-id", session)]).collect();
        let response = self.gateway.post(CHAT, &headers, body.as_bytes());
        assert_eq!(response.status, 200, "{}", response.text());
        (response, self.team.upstream.last().text())
    }

    fn receipt(&self, response: &Response) -> Value {
        muninn_tests::why(&self.team.env, response.request_id())
    }
}

fn question(text: &str) -> Value {
    json!([{"role": "user", "content": text}])
}

/// The blocks of a body, as JSON strings hold them.
fn blocks(sent: &str) -> Vec<String> {
    let parts = sent.split("<muninn-context>").skip(1);
    parts.map(|part| part.split("</muninn-context>").next().unwrap().to_owned()).collect()
}

#[test]
fn first_block_of_a_conversation_begins_with_the_preamble() {
    let stage = Initialised::new();
    let (response, sent) = stage.send("s", "Bash", &[], &question(QUESTION));
    let first = blocks(&sent);
    let (preamble, places) = first[0].split_once("## Likely places").unwrap();
    assert!(
        preamble.contains("This repository has Muninn: 1 memory") && places.contains("src/rate_limiter.rs"),
        "{first:?}"
    );
    let receipt = stage.receipt(&response);
    assert_eq!(receipt["preamble"][0]["part"], "orientation");
    let items: u64 = receipt["items"].as_array().unwrap().iter().map(|item| item["tokens"].as_u64().unwrap()).sum();
    let all = receipt["tokens"].as_u64().unwrap();
    assert!(all > items + 70, "the block's tokens include the preamble: {receipt}");
    let price = receipt["estimate"]["price"].as_f64().unwrap();
    // A token costs 5.55 by default.
    assert!(price < 5.6 * (all - 70) as f64, "the price is that of the map alone: {receipt}");

    let mut messages = question(QUESTION);
    let more =
        json!([{"role": "assistant", "content": "ok"}, {"role": "user", "content": "And where is parse_invoice?"}]);
    messages.as_array_mut().unwrap().extend(more.as_array().unwrap().clone());
    let (response, sent) = stage.send("s", "Bash", &[], &messages);
    let second = blocks(&sent);
    assert_eq!((second.len(), &second[0]), (2, &first[0]), "the first block is replayed");
    assert!(!second[1].contains("has Muninn"), "{second:?}");
    assert!(stage.receipt(&response).get("preamble").is_none());
}

#[test]
fn preamble_waits_for_the_first_question_about_the_repository() {
    let stage = Initialised::new();
    let (response, sent) = stage.send("s", "Bash", &[], &question(OFF_TOPIC));
    assert!(blocks(&sent).is_empty(), "{sent}");
    let receipt = stage.receipt(&response);
    assert_eq!((&receipt["tokens"], &receipt["outcome"]), (&json!(0), &json!("none")));
    let shown = stage.team.env.stdout_of(&stage.team.root, &["why", "--last"]);
    assert!(shown.contains("the preamble waits for a question about the repository"), "{shown}");

    let mut messages = question(OFF_TOPIC);
    let more = json!([{"role": "assistant", "content": "ok"}, {"role": "user", "content": QUESTION}]);
    messages.as_array_mut().unwrap().extend(more.as_array().unwrap().clone());
    let (response, sent) = stage.send("s", "Bash", &[], &messages);
    let first = blocks(&sent);
    assert!(first.len() == 1 && first[0].contains("has Muninn: 1 memory. It adds"), "{first:?}");
    assert_eq!(stage.receipt(&response)["preamble"][0]["part"], "orientation");
}

#[test]
fn preamble_names_what_the_client_has() {
    let stage = Initialised::new();
    let (_, sent) = stage.send("shell", "Bash", &[], &question(QUESTION));
    let first = blocks(&sent);
    assert!(first[0].contains("`muninn recall WORDS`") && !first[0].contains("MCP server"), "{first:?}");
    let (_, sent) = stage.send("reader", "Read", &[], &question(QUESTION));
    let first = blocks(&sent);
    assert!(!first[0].contains("has Muninn"), "it can ask nothing: {first:?}");
    let tools = ["Read", "mcp__muninn__recall"]
        .map(|name| json!({"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}));
    let body = json!({"model": "m", "tools": tools, "messages": question(QUESTION)}).to_string();
    let (_, sent) = stage.send_body("tools", &[], &body);
    let first = blocks(&sent);
    assert!(first[0].contains("MCP server `muninn`") && !first[0].contains("`muninn recall"), "{first:?}");
}

#[test]
fn empty_memory_has_no_preamble() {
    let team = Team::with("repo", "");
    let stage = Initialised { gateway: team.serve(), team };
    let (response, sent) = stage.send("s", "Bash", &[], &question(QUESTION));
    let first = blocks(&sent);
    assert!(first[0].contains("src/rate_limiter.rs") && !first[0].contains("has Muninn"), "{first:?}");
    assert!(stage.receipt(&response).get("preamble").is_none());
}

#[test]
fn other_requests_get_no_preamble() {
    let stage = Initialised::new();
    let with_hooks = format!("{QUESTION}\n<muninn-context>\nThis repository has Muninn.\n</muninn-context>");
    let answered = json!([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"},
        {"role": "user", "content": QUESTION}]);
    for (name, tool, headers, messages) in [
        ("no tool reads files", "get_weather", &[][..], question(QUESTION)),
        ("a subagent", "Bash", &[("x-claude-code-agent-id", "a1")], question(QUESTION)),
        ("no new context", "Bash", &[("x-muninn-context", "off")], question(QUESTION)),
        ("a later turn", "Bash", &[], answered),
        ("a hook gave it", "Bash", &[], question(&with_hooks)),
    ] {
        let (_, sent) = stage.send(name, tool, headers, &messages);
        let count = sent.matches("has Muninn:").count();
        assert_eq!(count, 0, "{name}: {sent}");
    }
    let tools = json!([{"type": "function", "function": {"name": "Bash", "parameters": {"type": "object"}}}]);
    let body = json!({"model": "m", "tools": tools, "messages": question(&with_hooks)}).to_string();
    let escaped = body.replace('<', "\\u003c").replace('>', "\\u003e");
    let (_, sent) = stage.send_body("a client that escapes brackets", &[], &escaped);
    assert!(!sent.contains("has Muninn:"), "{sent}");
}
