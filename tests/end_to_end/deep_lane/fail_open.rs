//! A failing explorer: the request gets the lexical pack, and the receipt names the reason.

use std::net::TcpListener;

use muninn_tests::{Reply, TestEnv, Upstream};
use serde_json::{Value, json};

use super::stage::{DEEP, Deep, TARGETS, body, held, named};
use crate::MUNINN;
use crate::stage::QUESTION;

/// Asks through the deep lane and without it: both get the same block. Returns what the exploration came to.
fn explored(deep: &Deep, session: &str) -> Value {
    let headers = [DEEP, ("x-session-id", session)];
    let (blocks, receipt) = deep.ask(TARGETS[0], &headers, &body(TARGETS[0], "m", &[QUESTION]));
    assert_eq!(receipt["outcome"], "injected", "{receipt}");
    assert_eq!(blocks, deep.by_words(QUESTION), "{receipt}");
    receipt["exploration"].clone()
}

fn assert_failed(trace: &Value, words: &str) {
    assert_eq!(trace["ended"], "model", "{trace}");
    assert_eq!(trace["citations"], json!([]), "{trace}");
    let problem = trace["problem"].as_str().unwrap_or_default();
    assert!(problem.contains(words) && problem.contains("scout"), "no `{words}`: {trace}");
}

#[test]
fn unreachable_explorer_fails_open() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start());
    env.connect_with(&upstream, &named(&format!("http://{port}"), ""));
    let deep = Deep::on(env, upstream, Upstream::start());
    assert_failed(&explored(&deep, "deep"), "connect");
}

#[test]
fn explorer_error_fails_open() {
    // Failures in a row would open the circuit of the explorer's backend.
    let deep = Deep::new("[limits]\ncircuit_failures = 0");
    let fails = |case: &str, replies: Vec<Reply>, words: &str| {
        println!("{case}");
        deep.says(replies);
        assert_failed(&explored(&deep, case), words);
    };
    let broken = || Reply::json(500, r#"{"error":{"message":"out of memory","type":"server_error"}}"#);
    fails("an error", vec![broken(), broken(), broken()], "out of memory");
    for answer in [r#"{"id":"x","object":"chat.completion","choices":[{"mess"#, "<html>Bad gateway</html>", ""] {
        fails(&format!("nonsense: {answer}"), vec![Reply::json(200, answer)], "not in its wire format");
    }
    let content = "src/storage.rs:9-13 ".repeat(5 << 16);
    let message = json!({"role": "assistant", "content": content});
    let answer = json!({"object": "chat.completion", "choices": [{"index": 0, "message": message}]}).to_string();
    assert!(answer.len() > 5 << 20);
    fails("megabytes", vec![Reply::json(200, answer)], "longer than");
    let (control, broken) = held();
    control.head_with(200, &[("content-type", "application/json")]);
    control.send("{\"choices\":");
    control.abort();
    fails("an answer that breaks off", vec![broken], "");
}

#[test]
fn explorer_without_tools_is_asked_in_text() {
    let refusal = Reply::json(400, r#"{"error":{"message":"no tools here","type":"x"}}"#);
    let deep = Deep::new("");
    deep.says(vec![refusal]);
    let headers = [DEEP, ("x-session-id", "deep")];
    let (_, receipt) = deep.ask(TARGETS[0], &headers, &body(TARGETS[0], "m", &[QUESTION]));
    let asked = deep.explorer.requests();
    let tools = |at: usize| serde_json::from_slice::<Value>(&asked[at].body).unwrap()["tools"].is_array();
    assert!(tools(0) && !tools(1), "{receipt}");
}

#[test]
fn an_explorer_that_says_nothing_until_the_deadline() {
    let (control, silence) = held();
    // Long enough for a busy machine to get as far as asking.
    let deep = Deep::new("deadline_ms = 4000");
    deep.says(vec![silence]);
    let trace = explored(&deep, "deep");
    assert_eq!(trace["ended"], "deadline", "{trace}");
    assert!(trace["problem"].as_str().unwrap().contains("scout"), "{trace}");
    control.wait_for_client_gone();
}
