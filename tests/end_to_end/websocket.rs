//! Responses over a WebSocket: the same requests, blocks and answers as over HTTP, and the errors that clients understand.

use muninn_tests::socket::{Received, Socket};
use muninn_tests::{Reply, TestEnv, Upstream, answers, wait_until};
use serde_json::{Value, json};

use crate::MUNINN;
use crate::stage::{QUESTION, Stage};

fn open(stage: &Stage, session: &str) -> Socket {
    Socket::open(stage.gateway.address, &[("session-id", session)]).unwrap()
}

pub(crate) fn message(role: &str, text: &str) -> Value {
    let kind = if role == "assistant" { "output_text" } else { "input_text" };
    json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]})
}

/// A frame that asks for a response.
pub(crate) fn create(previous: Option<&str>, items: &[Value], more: Value) -> String {
    let mut frame = json!({"type": "response.create", "model": "m", "stream": true, "store": false, "input": items});
    frame["previous_response_id"] = json!(previous);
    for (name, value) in more.as_object().into_iter().flatten() {
        frame[name] = value.clone();
    }
    frame.to_string()
}

fn code(frame: &Value) -> (u64, &str) {
    assert_eq!(frame["type"], "error", "{frame}");
    (frame["status"].as_u64().unwrap(), frame["error"]["code"].as_str().unwrap_or_default())
}

pub(crate) fn last(frames: &[Value]) -> &Value {
    frames.last().unwrap()
}

#[test]
fn a_conversation_gets_the_same_blocks_as_over_http() {
    let tool = [
        json!({"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"}),
        json!({"type": "function_call_output", "call_id": "c1", "output": "text"}),
    ];
    let answer = json!({"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": "ok", "annotations": []}]});
    let turns = [
        vec![message("developer", "Be brief."), message("user", QUESTION)],
        vec![tool[0].clone(), tool[1].clone()],
        vec![message("user", "Where are invoices parsed?")],
    ];
    // Over HTTP, each request has all items.
    let http = Stage::new();
    let (mut items, mut over_http) = (Vec::new(), Vec::new());
    for turn in &turns {
        items.extend(turn.clone());
        let body = json!({"model": "m", "stream": true, "store": false, "input": items}).to_string();
        http.ask("/v1/responses", &[("session-id", "s")], &body);
        over_http.push(http.upstream.last().json());
        items.push(answer.clone());
    }
    // Over a WebSocket, each has the new ones only.
    let stage = Stage::new();
    let mut socket = open(&stage, "s");
    socket.send(create(None, &turns[0][..1], json!({"generate": false})));
    let prewarmed = socket.response();
    assert_eq!(prewarmed.len(), 2, "{prewarmed:?}");
    assert!(stage.upstream.requests().iter().all(|request| request.method != "POST"), "no call of a model");
    let mut id = last(&prewarmed)["response"]["id"].as_str().unwrap().to_owned();
    let mut over_socket = Vec::new();
    for (number, turn) in turns.iter().enumerate() {
        socket.send(create(Some(&id), &turn[usize::from(number == 0)..], json!({})));
        let frames = socket.response();
        assert_eq!(last(&frames)["type"], "response.completed", "{frames:?}");
        id = last(&frames)["response"]["id"].as_str().unwrap().to_owned();
        over_socket.push(stage.upstream.last().json());
    }
    assert_eq!(over_socket, over_http);
    let added = over_http[0]["input"][1]["content"][1]["text"].as_str().unwrap();
    assert!(added.contains("rate_limiter.rs"), "{added}");
    // The client goes on over HTTP, as after an error of the connection: the blocks are those of the WebSocket.
    let mut all = items.clone();
    all.push(message("user", "Thanks."));
    let body = json!({"model": "m", "stream": true, "store": false, "input": all}).to_string();
    stage.ask("/v1/responses", &[("session-id", "s")], &body);
    let replayed = stage.upstream.last().json();
    let newest = over_http.last().unwrap()["input"].as_array().unwrap();
    assert_eq!(&replayed["input"].as_array().unwrap()[..newest.len()], newest);
}

#[test]
fn a_response_that_is_not_kept_is_named_and_sent_again() {
    let stage = Stage::new();
    let mut socket = open(&stage, "s");
    let question = [message("user", "hi")];
    for unknown in ["resp_unknown", ""] {
        socket.send(create(Some(unknown), &question, json!({})));
        assert_eq!(code(last(&socket.response())), (400, "previous_response_not_found"));
    }
    socket.send(create(None, &question, json!({})));
    assert_eq!(last(&socket.response())["response"]["id"], "resp_1");
    // Each connection has its own.
    let mut other = open(&stage, "s");
    other.send(create(Some("resp_1"), &question, json!({})));
    assert_eq!(code(last(&other.response())), (400, "previous_response_not_found"));
    // A failed continuation ends the chain, as at the vendor.
    socket.send(create(Some("resp_0"), &question, json!({})));
    assert_eq!(code(last(&socket.response())), (400, "previous_response_not_found"));
    socket.send(create(Some("resp_1"), &question, json!({})));
    assert_eq!(code(last(&socket.response())), (400, "previous_response_not_found"));
    socket.send(create(None, &question, json!({})));
    assert_eq!(last(&socket.response())["type"], "response.completed");
}

#[test]
fn frames_that_are_no_requests_are_refused_and_the_connection_goes_on() {
    let stage = Stage::new();
    let mut socket = open(&stage, "s");
    for (frame, expected) in [
        ("", "invalid_request"),
        ("{", "invalid_request"),
        ("[]", "invalid_request"),
        ("\"response.create\"", "invalid_request"),
        ("{}", "invalid_request"),
        (r#"{"type":"response.steer"}"#, "invalid_request"),
        (r#"{"type":7}"#, "invalid_request"),
        (r#"{"type":"response.create","input":7}"#, "invalid_request"),
        (r#"{"type":"response.create","input":{}}"#, "invalid_request"),
        (r#"{"type":"response.create","input":[],"stream_id":"a"}"#, "invalid_stream_id"),
    ] {
        socket.send(frame);
        assert_eq!(code(last(&socket.response())), (400, expected), "{frame}");
    }
    // One that arrives after its response is over says nothing.
    socket.send(r#"{"type":"response.interrupt","response_id":"resp_9"}"#);
    for input in [json!("hi"), json!([message("user", "hi")]), json!([])] {
        socket.send(json!({"type": "response.create", "model": "m", "input": input}).to_string());
        assert_eq!(last(&socket.response())["type"], "response.completed", "{input}");
    }
    socket.send_binary(b"{}");
    assert_eq!(socket.receive(), Received::Closed(1003));
}

#[test]
fn errors_of_a_backend_are_frames_with_a_status() {
    let failing = |request: &muninn_tests::Recorded| {
        let error = |status, code: &str| {
            let body = json!({"error": {"message": "no", "type": "t", "code": code, "param": null}});
            Reply::json(status, body.to_string())
        };
        let events = |text: &str| Reply::new(200, "text/event-stream", text);
        match request.json()["model"].as_str() {
            Some("400") => error(400, "context_length_exceeded"),
            Some("429") => error(429, "rate_limit_exceeded").header("retry-after", "7"),
            Some("500") => error(500, "server_error"),
            Some("login") => Reply::new(502, "text/html", "<html>"),
            Some("failed") => events(
                "data: {\"type\":\"response.created\",\"response\":{\"id\":\"r\"}}\n\ndata: {\"type\":\"response.failed\",\"response\":{\"id\":\"r\",\"error\":{\"code\":\"x\",\"message\":\"no\"}}}\n\n",
            ),
            Some("event") => events(
                "data: {\"type\":\"response.created\",\"response\":{\"id\":\"r\"}}\n\ndata: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"no\",\"param\":null}\n\n",
            ),
            Some("short") => events("data: {\"type\":\"response.created\",\"response\":{\"id\":\"r\"}}\n\n"),
            _ => answers::ok(request),
        }
    };
    let stage = Stage::with(Upstream::start_with(failing), "[limits]\ncircuit_failures = 100\n");
    let mut socket = open(&stage, "s");
    let mut answered = Vec::new();
    for model in ["400", "429", "500", "login", "failed", "event", "short", "m"] {
        socket.send(create(None, &[message("user", "hi")], json!({"model": model})));
        let frames = socket.response();
        let frame = last(&frames);
        answered.push(match frame["type"].as_str().unwrap() {
            "error" => format!(
                "{model}: {} {} {}",
                frame["status"],
                frame["error"]["code"],
                frame["headers"]["retry-after"].as_str().unwrap_or("-")
            ),
            other => format!("{model}: {other}"),
        });
    }
    assert_eq!(
        answered,
        [
            r#"400: 400 "context_length_exceeded" -"#,
            r#"429: 429 "rate_limit_exceeded" 7"#,
            r#"500: 500 "server_error" -"#,
            r#"login: 502 null -"#,
            "failed: response.failed",
            r#"event: 500 "server_error" -"#,
            r#"short: 502 "bad_gateway" -"#,
            "m: response.completed",
        ]
    );
}

#[test]
fn a_client_may_interrupt_a_response_and_continue_it() {
    let (stage, control) = Stage::scripted();
    let mut socket = open(&stage, "s");
    socket.send(create(None, &[message("user", "hi")], json!({})));
    control.head_with(200, &[("content-type", "text/event-stream")]);
    let done = json!({"type": "response.output_item.done", "item": message("assistant", "first")});
    control.send("data: {\"type\":\"response.created\",\"response\":{\"id\":\"resp_slow\"}}\n\n");
    control.send(format!("data: {done}\n\n"));
    let mut kinds = Vec::new();
    while kinds.last().is_none_or(|kind| kind != "response.output_item.done") {
        let Received::Frame(frame) = socket.receive() else { panic!("{kinds:?}") };
        kinds.push(frame["type"].as_str().unwrap().to_owned());
    }
    assert_eq!(kinds, ["response.metadata", "response.created", "response.output_item.done"]);
    socket.send(r#"{"type":"response.interrupt","response_id":"resp_slow","mode":"discard_partial_items"}"#);
    let frames = socket.response();
    assert_eq!(last(&frames)["response"]["incomplete_details"]["reason"], "interrupted");
    control.wait_for_client_gone();
    socket.send(create(Some("resp_slow"), &[message("user", "more")], json!({})));
    let request = stage.upstream.wait_for(2).pop().unwrap().json();
    let texts: Vec<_> = request["input"].as_array().unwrap().iter().map(|item| &item["content"][0]["text"]).collect();
    assert_eq!(texts, ["hi", "first", "more"]);
}

#[test]
fn a_request_that_comes_early_waits_for_its_turn() {
    let stage = Stage::new();
    let mut socket = open(&stage, "s");
    for number in 0..5 {
        socket.send(create(None, &[message("user", &format!("hi {number}"))], json!({})));
    }
    for _ in 0..5 {
        assert_eq!(last(&socket.response())["type"], "response.completed");
    }
    let texts: Vec<_> = stage
        .upstream
        .requests()
        .iter()
        .filter(|request| request.method == "POST")
        .map(|request| request.json()["input"][0]["content"][0]["text"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(texts, ["hi 0", "hi 1", "hi 2", "hi 3", "hi 4"]);
}

#[test]
fn headers_of_the_turn_come_from_the_frame_and_go_back_as_metadata() {
    let upstream = Upstream::start_with(|request| answers::ok(request).header("x-codex-turn-state", "TS-1"));
    let stage = Stage::with(upstream, "");
    let headers = [
        ("session-id", "s"),
        ("openai-beta", "responses_websockets=2026-02-06, other=1"),
        ("x-codex-turn-metadata", "old"),
        ("x-codex-beta-features", "b"),
    ];
    let mut socket = Socket::open(stage.gateway.address, &headers).unwrap();
    let metadata = json!({
        "x-codex-turn-metadata": "new", "x-codex-turn-state": "TS-0", "x-codex-ws-stream-request-start-ms": "1",
        "ws_request_header_traceparent": "00-1", "ws_request_header_authorization": "no", "authorization": "no",
    });
    socket.send(create(None, &[message("user", "hi")], json!({"client_metadata": metadata})));
    let frames = socket.response();
    assert_eq!(frames[0]["headers"]["x-codex-turn-state"], "TS-1", "{frames:?}");
    let sent = stage.upstream.last();
    let expected = [
        ("openai-beta", Some("other=1")),
        ("x-codex-turn-metadata", Some("new")),
        ("x-codex-turn-state", Some("TS-0")),
        ("x-codex-beta-features", Some("b")),
        ("traceparent", Some("00-1")),
        ("content-type", Some("application/json")),
        ("accept", Some("text/event-stream")),
        ("x-codex-ws-stream-request-start-ms", None),
        ("authorization", None),
        ("upgrade", None),
        ("sec-websocket-key", None),
    ];
    for (name, value) in expected {
        assert_eq!(sent.headers.get(name), value, "{name}");
    }
    assert_eq!((&*sent.method, &*sent.target), ("POST", "/v1/responses"));
}

#[test]
fn a_converted_backend_is_asked_like_any_other() {
    let env = TestEnv::new(MUNINN);
    let upstream = Upstream::start();
    let url = upstream.url();
    env.write_config(&format!("[[backends]]\nname = \"b\"\nurl = \"{url}\"\ndialect = \"anthropic\"\n"));
    let root = env.repository("demo", &[("a.rs", "fn a() {}\n")]);
    let gateway = env.serve(&root, &[]);
    let mut socket = Socket::open(gateway.address, &[]).unwrap();
    let mut id = None;
    for turn in 0..3 {
        socket.send(create(id.as_deref(), &[message("user", &format!("hi {turn}"))], json!({})));
        let frames = socket.response();
        assert_eq!(last(&frames)["type"], "response.completed", "{frames:?}");
        id = Some(last(&frames)["response"]["id"].as_str().unwrap().to_owned());
    }
    let request = upstream.last();
    assert_eq!(request.target, "/v1/messages");
    assert_eq!(request.json()["messages"].as_array().unwrap().len(), 5, "{}", request.text());
}

#[test]
fn a_connection_ends_with_the_gateway_and_its_client_with_the_request() {
    let (stage, control) = Stage::scripted();
    let mut idle = open(&stage, "idle");
    let mut busy = open(&stage, "busy");
    busy.send(create(None, &[message("user", "hi")], json!({})));
    control.head_with(200, &[("content-type", "text/event-stream")]);
    stage.gateway.terminate();
    assert_eq!(idle.receive(), Received::Closed(1001));
    // A response under way is finished before.
    control.send(answers::streamed("/v1/responses"));
    control.finish();
    assert_eq!(last(&busy.response())["type"], "response.completed");
    assert_eq!(busy.receive(), Received::Closed(1001));

    let (stage, control) = Stage::scripted();
    let mut gone = open(&stage, "s");
    gone.send(create(None, &[message("user", "hi")], json!({})));
    control.head_with(200, &[("content-type", "text/event-stream")]);
    wait_until("the request", || stage.upstream.requests().iter().find(|request| request.method == "POST").map(drop));
    drop(gone);
    control.wait_for_client_gone();
    wait_until("the request ends", || (stage.gateway.active_requests() == 0).then_some(()));
}

#[test]
fn a_frame_that_is_too_long_closes_the_connection_and_its_limit_is_told() {
    let stage = Stage::with(Upstream::start(), "[limits]\nbody_bytes = 1048576\n");
    let mut socket = open(&stage, "s");
    socket.send(create(None, &[message("user", &"x".repeat(1 << 21))], json!({})));
    assert!(matches!(socket.receive(), Received::Closed(_)));
    let mut socket = open(&stage, "s");
    socket.send(create(None, &[message("user", &"x".repeat(1 << 19))], json!({})));
    assert_eq!(last(&socket.response())["type"], "response.completed");
    // All items together are a body, with the limit of bodies.
    socket.send(create(Some("resp_1"), &[message("user", &"x".repeat(1 << 19))], json!({})));
    assert_eq!(code(last(&socket.response())).0, 413);
}
