//! Conversations that `[context] holdout` leaves without context.

use muninn_tests::why;
use serde_json::{Value, json};

use crate::learning::Team;
use crate::stage::QUESTION;

const CHAT: &str = "/v1/chat/completions";

/// A request of a turn in which the agent has called a tool.
fn body(calls: usize) -> String {
    let tool = json!({"type": "function", "function": {"name": "Bash", "parameters": {"type": "object"}}});
    let mut messages = vec![json!({"role": "user", "content": QUESTION})];
    for call in 0..calls {
        let id = format!("c{call}");
        let function = json!({"name": "Bash", "arguments": "{\"command\":\"ls\"}"});
        messages
            .push(json!({"role": "assistant", "tool_calls": [{"id": id, "type": "function", "function": function}]}));
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": "src"}));
    }
    json!({"model": "m", "tools": [tool], "messages": messages}).to_string()
}

#[test]
fn held_out_conversation_gets_nothing_and_says_so() {
    let team = Team::with("repo", "holdout = 0.5\n");
    let gateway = team.serve();
    let mut groups = [0, 0];
    for number in 0..24 {
        let session = format!("session {number}");
        let mut shown = Vec::new();
        for calls in [0, 2] {
            let response = gateway.post(CHAT, &[("x-session-id", &session)], body(calls).as_bytes());
            let is_off = response.outcome() == "off";
            let has_block = team.upstream.last().text().contains("<muninn-context>");
            assert_eq!(is_off, !has_block, "{session}");
            let receipt = why(&team.env, response.request_id());
            assert_eq!(receipt["trial"]["held_out"], json!(is_off), "{receipt}");
            assert_eq!(receipt["trial"]["calls"], json!(calls), "{receipt}");
            shown.push(is_off);
        }
        assert_eq!(shown[0], shown[1], "a conversation keeps its group");
        groups[usize::from(shown[0])] += 1;
    }
    assert!(groups.iter().all(|count| *count >= 5), "{groups:?}");
    gateway.stop_cleanly();
    let stats: Value = serde_json::from_str(&team.env.stdout_of(&team.root, &["stats", "--json"])).unwrap();
    let holdout = &stats["holdout"];
    assert_eq!([&holdout["with_context"], &holdout["held_out"]], [&json!(groups[0]), &json!(groups[1])]);
    assert_eq!(holdout["calls"], json!({"with_context": 2.0, "held_out": 2.0, "ratio": 1.0, "interval": [1.0, 1.0]}));
    assert!(holdout["tokens"]["held_out"].as_f64().is_some_and(|tokens| tokens > 0.0), "{holdout}");
    let text = team.env.stdout_of(&team.root, &["stats"]);
    assert!(text.contains("calls   2.0 with context, 2.0 held out, ratio 1.00 (1.00 to 1.00)"), "{text}");
}
