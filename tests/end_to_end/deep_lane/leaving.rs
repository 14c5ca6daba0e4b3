//! A client that leaves while a model explores for it.

use muninn_tests::http::{Connection, stream};
use muninn_tests::{Control, Reply};
use serde_json::{Value, json};

use super::stage::{DEEP, Deep, MARK, TARGETS, body, held, looking, streamed};
use crate::stage::QUESTION;

const PATIENT: &str = "deadline_ms = 600000";

/// Everything ends at the explorer; the next try of the same turn is a first one.
fn assert_forgotten(deep: &Deep, control: &Control, target: &str, body: &Value) {
    control.wait_for_client_gone();
    deep.wait_explorations(0);
    assert!(deep.upstream.requests().is_empty(), "{target}: nobody is there to be answered");
    let before = deep.explorer.requests().len();
    let (blocks, receipt) = deep.ask(target, &[DEEP, ("x-session-id", target)], body);
    assert!(blocks[0].contains(MARK), "{target}: {receipt}");
    assert_eq!(receipt["exploration"]["ended"], "final", "{target}: {receipt}");
    assert_eq!(deep.explorer.requests().len() - before, 2, "{target}: explored anew");
}

#[test]
fn client_that_leaves_before_the_answer_cancels_the_exploration() {
    let deep = Deep::new(PATIENT);
    for target in TARGETS {
        let (control, answer) = held();
        deep.says(vec![answer]);
        let body = body(target, "m", &[QUESTION]);
        let mut client = Connection::open(deep.gateway.address);
        client.send("POST", target, &[DEEP, ("x-session-id", target)], body.to_string().as_bytes());
        deep.explorer.wait_for(1);
        deep.wait_explorations(1);
        client.close();
        assert_forgotten(&deep, &control, target, &body);
    }
}

#[test]
fn client_that_leaves_mid_stream_cancels_the_exploration() {
    let deep = Deep::new(PATIENT);
    for target in TARGETS {
        let (control, answer) = held();
        deep.says(vec![Reply::json(200, looking()), answer]);
        let asked = streamed(target, "m", &[QUESTION]);
        let headers = [DEEP, ("x-session-id", target)];
        let mut client = stream(deep.gateway.address, "POST", target, &headers, asked.as_bytes());
        drop(client.read_until("archive_invoice"));
        deep.explorer.wait_for(2);
        deep.wait_explorations(1);
        client.leave();
        let mut again = body(target, "m", &[QUESTION]);
        again["stream"] = true.into();
        assert_forgotten(&deep, &control, target, &again);
    }
}

/// A body so large that it is looked into on a thread of its own.
#[test]
fn client_that_leaves_with_a_large_body_cancels_the_exploration() {
    let (control, answer) = held();
    let deep = Deep::new(PATIENT);
    deep.says(vec![answer]);
    let mut body = body(TARGETS[0], "m", &[QUESTION]);
    body["metadata"] = json!({"padding": "x".repeat(2 << 20)});
    let mut client = Connection::open(deep.gateway.address);
    client.send("POST", TARGETS[0], &[DEEP, ("x-session-id", TARGETS[0])], body.to_string().as_bytes());
    deep.explorer.wait_for(1);
    client.close();
    assert_forgotten(&deep, &control, TARGETS[0], &body);
}
