//! Background exploration: its turn does not wait, and the next turn gets the result.

use muninn_tests::Control;
use serde_json::{Value, json};

use super::stage::{CITED, Deep, MARK, TARGETS, body, citing, give, held, sources};
use crate::stage::QUESTION;

/// Questions that no exploration of [`super::stage::finds`] finds anything for.
const SECOND: &str = "And when does the TokenBucket take one of its tokens?";
const THIRD: &str = "Which capacity does the rate limiter begin with?";

const PATIENT: &str = "mode = \"background\"\ndeadline_ms = 600000";

/// A conversation whose first question is being explored: the explorer says nothing yet.
fn exploring() -> (Deep, Control) {
    let (control, answer) = held();
    let deep = Deep::new(PATIENT);
    deep.says(vec![answer]);
    (deep, control)
}

/// Asks the first question of a session.
fn first(deep: &Deep, target: &str) -> (Vec<String>, Value) {
    deep.ask(target, &[("x-session-id", "s")], &body(target, "m", &[QUESTION]))
}

/// Lets the first question's exploration end, and returns its receipt.
fn found(deep: &Deep, control: &Control) -> Value {
    deep.explorer.wait_for(1);
    give(control, &citing(&[CITED]));
    let mut explored = deep.wait_explored(1);
    assert_eq!(explored[0]["exploration"]["citations"], json!([CITED]));
    explored.remove(0)
}

fn entered(receipt: &Value) -> Vec<&str> {
    let entered = receipt["entered"].as_array().into_iter().flatten();
    entered.filter_map(Value::as_str).collect()
}

#[test]
fn background_result_enters_once_at_the_next_turn_and_is_replayed() {
    for target in TARGETS {
        let (deep, control) = exploring();
        let (before, receipt) = first(&deep, target);
        assert_eq!(receipt["outcome"], "injected", "answered while the explorer thinks");
        assert!(receipt.get("exploration").is_none(), "{receipt}");
        assert!(!before[0].contains(MARK), "{before:?}");
        deep.wait_explorations(1);
        let explored = found(&deep, &control);
        let about = explored["reason"].as_str().unwrap();
        assert!(about.contains(receipt["id"].as_str().unwrap()), "{explored}");

        let session = [("x-session-id", "s")];
        let (second, receipt) = deep.ask(target, &session, &body(target, "m", &[QUESTION, SECOND]));
        assert_eq!(second[0], before[0], "{target}: the first turn stays as it was");
        assert!(second[1].contains(MARK), "{target}: {receipt}");
        assert_eq!(entered(&receipt), [explored["id"].as_str().unwrap()]);
        assert!(sources(&receipt).iter().any(|source| source.starts_with("src/storage.rs:")));
        let told = deep.env.stdout_of(&deep.root, &["why", receipt["id"].as_str().unwrap()]);
        assert!(told.contains(explored["id"].as_str().unwrap()), "{told}");

        let (third, receipt) = deep.ask(target, &session, &body(target, "m", &[QUESTION, SECOND, THIRD]));
        assert_eq!(third[..2], second[..], "{target}: byte for byte");
        assert_eq!(entered(&receipt), [""; 0], "{receipt}");
        assert!(third[2..].iter().all(|block| !block.contains(MARK)), "{target}");
    }
}

/// The conversation went on with calls of a tool, of which these many have been answered.
fn with_results(count: usize) -> Value {
    let mut turns = vec![json!({"role": "user", "content": QUESTION})];
    for at in 0..count {
        let id = format!("toolu_{at}");
        turns.push(
            json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "Bash", "input": {}}]}),
        );
        turns.push(json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "done"}]}));
    }
    json!({"model": "m", "max_tokens": 100, "messages": turns})
}

#[test]
fn background_result_enters_behind_tool_results_in_messages() {
    let (deep, control) = exploring();
    let (before, _) = first(&deep, "/v1/messages");
    let session = [("x-session-id", "s")];
    let ask = |body: &Value| deep.ask("/v1/messages", &session, body);
    let (early, receipt) = ask(&with_results(1));
    assert_eq!(early, before, "nothing is found yet: {receipt}");
    let explored = found(&deep, &control);

    let (again, _) = ask(&with_results(1));
    assert_eq!(again, before, "a turn that went without stays without");
    let (second, receipt) = ask(&with_results(2));
    assert_eq!(second[0], before[0]);
    assert!(second[1].contains(MARK), "{receipt}");
    assert_eq!(entered(&receipt), [explored["id"].as_str().unwrap()]);
    let sent: Value = serde_json::from_slice(&deep.upstream.last().body).unwrap();
    let behind = sent["messages"][4]["content"].as_array().unwrap();
    let kinds: Vec<_> = behind.iter().map(|block| block["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["tool_result", "text"], "{sent}");

    let (third, receipt) = ask(&with_results(3));
    assert_eq!(third, second, "byte for byte, and nothing new: {receipt}");
    let mut asked = with_results(3);
    // Some clients clear old results.
    asked["messages"][4]["content"][0]["content"] = "[cleared]".into();
    let turns = asked["messages"].as_array_mut().unwrap();
    turns.push(json!({"role": "assistant", "content": "ok"}));
    turns.push(json!({"role": "user", "content": SECOND}));
    let (fourth, receipt) = ask(&asked);
    assert_eq!(fourth[..2], second[..], "{receipt}");
}

#[test]
fn other_conversations_and_side_requests_get_no_background_result() {
    let target = TARGETS[1];
    let (deep, control) = exploring();
    drop(first(&deep, target));
    drop(found(&deep, &control));

    let other = [("x-session-id", "other")];
    for questions in [&[SECOND][..], &[SECOND, THIRD], &[SECOND, QUESTION]] {
        let (blocks, receipt) = deep.ask(target, &other, &body(target, "m", questions));
        assert!(blocks.iter().all(|block| !block.contains(MARK)), "{questions:?}: {receipt}");
        assert_eq!(entered(&receipt), [""; 0], "{questions:?}");
    }
    let session = [("x-session-id", "s")];
    let text = |words: &str| json!({"type": "text", "text": words});
    let mut side = body(target, "m", &[QUESTION, SECOND]);
    side["messages"][2]["content"] =
        json!([text(SECOND), text("CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.")]);
    let (blocks, receipt) = deep.ask(target, &session, &side);
    assert!(receipt["side_request"].is_string(), "{receipt}");
    assert_eq!(blocks.len(), 1, "put back, and nothing else");
    let off = [("x-session-id", "s"), ("x-muninn-context", "off")];
    let (blocks, _) = deep.ask(target, &off, &body(target, "m", &[QUESTION, THIRD]));
    assert_eq!(blocks.len(), 1, "who wants nothing new gets nothing new");

    // The result was kept for its own turn.
    let (blocks, receipt) = deep.ask(target, &session, &body(target, "m", &[QUESTION, SECOND]));
    assert!(blocks[1].contains(MARK), "{receipt}");
}

#[test]
fn edited_file_is_not_packed_from_a_background_result() {
    let target = TARGETS[1];
    let (deep, control) = exploring();
    drop(first(&deep, target));
    drop(found(&deep, &control));
    let file = deep.root.join("src/storage.rs");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("// Rewritten.\n{text}")).unwrap();
    let session = [("x-session-id", "s")];
    let (blocks, receipt) = deep.ask(target, &session, &body(target, "m", &[QUESTION, SECOND]));
    assert_eq!(entered(&receipt), [""; 0], "{receipt}");
    assert!(blocks.iter().all(|block| !block.contains(MARK)), "{receipt}");
}

#[test]
fn retried_turn_is_not_explored_again() {
    let target = TARGETS[0];
    let (deep, control) = exploring();
    let (blocks, _) = first(&deep, target);
    deep.explorer.wait_for(1);
    let (again, _) = first(&deep, target);
    assert_eq!(again, blocks);
    give(&control, &citing(&[CITED]));
    drop(deep.wait_explored(1));
    let (again, _) = first(&deep, target);
    assert_eq!(again, blocks, "the turn went without, and stays without");
    assert_eq!(deep.explorer.requests().len(), 1);
}

#[test]
fn stop_does_not_wait_for_a_background_exploration() {
    let (deep, control) = exploring();
    drop(first(&deep, TARGETS[0]));
    deep.explorer.wait_for(1);
    deep.wait_explorations(1);
    deep.gateway.stop_cleanly();
    control.wait_for_client_gone();
}
