//! The events that a client gets while an exploration runs.

use muninn_tests::http::{Streaming, stream};
use muninn_tests::{Reply, Upstream, answers};
use serde_json::Value;

use super::stage::{DEEP, Deep, MARK, TARGETS, body, calling, citing, give, held, looking, streamed};
use crate::stage::QUESTION;

fn ask(deep: &Deep, target: &str) -> Streaming {
    let headers = [("Content-Type", "application/json"), ("x-session-id", target), DEEP];
    let body = streamed(target, "m", &[QUESTION]);
    stream(deep.gateway.address, "POST", target, &headers, body.as_bytes())
}

/// The data of a stream's events in order, after checking that there is nothing but events and comments.
fn events(text: &str) -> Vec<Value> {
    let mut events = Vec::new();
    assert!(text.ends_with("\n\n"), "it ends between events: {text}");
    for line in text.lines().filter(|line| !line.is_empty()) {
        match line.split_once(": ") {
            Some(("event", _)) => {}
            Some(("data", "[DONE]")) => events.push(Value::Null),
            Some(("data", data)) => events.push(serde_json::from_str(data).unwrap()),
            _ => assert!(line.starts_with(':'), "neither event nor comment: {line}"),
        }
    }
    events
}

fn as_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

#[test]
fn a_stream_begins_with_what_is_being_read_and_ends_with_the_backends_events() {
    let deep = Deep::new("");
    for target in TARGETS {
        let (control, answer) = held();
        deep.says(vec![Reply::json(200, looking()), answer]);
        let mut answer = ask(&deep, target);
        assert_eq!(answer.status, 200);
        assert_eq!(answer.headers.get("content-type"), Some("text/event-stream"));
        assert_eq!(answer.headers.get("x-muninn-context"), Some("exploring"));
        let mut text = answer.read_until("archive_invoice");
        assert_eq!(deep.explorer.wait_for(2).len(), 2);
        assert!(deep.upstream.requests().is_empty(), "{target}: the model has not been asked yet");
        let again = calling(&[("read", serde_json::json!({"path": "src/storage.rs", "first": 9, "last": 13}))]);
        give(&control, &again);
        text.push_str(&as_text(answer.rest().unwrap()));
        let told = text.strip_suffix(answers::streamed(target));
        let told = told.unwrap_or_else(|| panic!("{target}: the backend's own events, untouched: {text}"));
        assert!(told.contains("grep") && told.contains("src/storage.rs"), "{target}: {told}");
        let events = events(told);
        if target == TARGETS[0] {
            let lines: Vec<_> = events
                .iter()
                .map(|chunk| {
                    assert_eq!(chunk["object"], "chat.completion.chunk");
                    assert_eq!(chunk["choices"][0]["finish_reason"], Value::Null);
                    chunk["choices"][0]["delta"]["reasoning_content"].as_str().unwrap()
                })
                .collect();
            assert!(lines[0].starts_with("grep ") && lines[1].starts_with("read "), "{lines:?}");
        } else {
            assert_eq!(events, [Value::Null; 0], "{target}: comments alone");
        }
        let mut sent = body(target, "m", &[QUESTION]);
        sent["stream"] = true.into();
        assert!(deep.inserted(&sent)[0].contains(MARK), "{target}");
        let id = answer.headers.get("x-muninn-request-id").unwrap();
        let receipt = muninn_tests::why(&deep.env, id);
        assert_eq!(receipt["exploration"]["turns"].as_array().unwrap().len(), 3, "{receipt}");
    }
}

#[test]
fn a_stream_shows_a_sign_of_life_while_the_explorer_says_nothing() {
    let deep = Deep::new("deadline_ms = 600000\n[limits]\nkeep_alive_ms = 20\n");
    for target in TARGETS {
        let (control, answer) = held();
        deep.says(vec![answer]);
        let mut answer = ask(&deep, target);
        let sign = if target == TARGETS[1] { "ping" } else { ": keep-alive" };
        let mut text = answer.read_until(sign);
        assert!(deep.upstream.requests().is_empty(), "{target}");
        give(&control, &citing(&[]));
        text.push_str(&as_text(answer.rest().unwrap()));
        assert!(text.ends_with(answers::streamed(target)), "{target}: {text}");
        drop(events(&text));
    }
}

#[test]
fn what_goes_wrong_after_the_stream_began_is_said_in_it() {
    let upstream = Upstream::start_with(|request| {
        let error = match request.target.as_str() {
            "/v1/messages" => r#"{"type":"error","error":{"type":"overloaded_error","message":"too busy today"}}"#,
            _ => r#"{"error":{"message":"too busy today","type":"invalid_request_error","code":"busy"}}"#,
        };
        Reply::json(422, error)
    });
    let deep = Deep::before(upstream, "");
    for target in TARGETS {
        let mut answer = ask(&deep, target);
        assert_eq!(answer.status, 200, "{target}: begun before the backend was asked");
        let text = as_text(answer.rest().unwrap());
        let events = events(&text);
        let failed = events.iter().rev().find(|event| !event.is_null()).unwrap();
        let message = match target {
            "/v1/chat/completions" => &failed["error"]["message"],
            "/v1/messages" => {
                assert!(failed["type"] == "error" && text.contains("event: error\n"), "{text}");
                &failed["error"]["message"]
            }
            _ => {
                assert_eq!(failed["type"], "response.failed", "{text}");
                &failed["response"]["error"]["message"]
            }
        };
        assert_eq!(message, "too busy today", "{target}: {text}");
    }
}

#[test]
fn an_answer_that_is_not_streamed_comes_whole() {
    let deep = Deep::new("");
    for target in TARGETS {
        let body = body(target, "m", &[QUESTION]).to_string();
        let response = deep.gateway.post(target, &[DEEP, ("x-session-id", target)], body.as_bytes());
        assert_eq!(response.headers.get("content-type"), Some("application/json"));
        assert_eq!(response.outcome(), "injected");
        assert!(response.json()["model"] == "mock-1", "{target}: {}", response.text());
        for word in ["archive_invoice", "reasoning", "data:"] {
            assert!(!response.text().contains(word), "{target}: {}", response.text());
        }
    }
}
