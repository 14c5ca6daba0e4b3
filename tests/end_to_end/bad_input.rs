//! Bad input: a clear error in the client's own format, or the request goes on without context. Never a panic or a hang.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use muninn_tests::http::Connection;
use muninn_tests::{TestEnv, Upstream};

use crate::MUNINN;
use crate::stage::{FILES, QUESTION, Stage, error_message, simple};

const TARGETS: [&str; 3] = ["/v1/chat/completions", "/v1/messages", "/v1/responses"];
const LIMIT: usize = 32 << 20;

#[test]
fn invalid_request_is_refused_in_the_clients_format() {
    let stage = Stage::with(Upstream::start(), "");
    let cases: [(&[u8], &str); 11] = [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b"{\"messages\":[}", "not valid JSON"),
        (b"{\"messages\":[],\"input\":[]} trailing", "not valid JSON"),
        (b"\xff\xfe{}", "not valid JSON"),
        (b"{\"messages\":[{\"role\":\"user\",\"content\":\"\xc3\x28\"}],\"input\":[]}", "not valid JSON"),
        (b"[]", "must be a JSON object"),
        (b"\"text\"", "must be a JSON object"),
        (b"null", "must be a JSON object"),
        (b"{}", "is missing"),
        (b"{\"messages\":7,\"input\":7}", "must be a"),
    ];
    for target in TARGETS {
        for (body, expected) in cases {
            let response = stage.gateway.post(target, &[], body);
            assert_eq!(response.status, 400, "{target} {body:?}");
            let message = error_message(target, &response);
            assert!(message.contains(expected), "{target} {body:?}: {message}");
        }
    }
    assert!(stage.upstream.requests().is_empty());
    stage.gateway.stop_cleanly();
}

#[test]
fn deep_nesting_is_forwarded() {
    let stage = Stage::with(Upstream::start(), "");
    let (open, close) = ("[".repeat(200_000), "]".repeat(200_000));
    let objects = format!("{}1{}", r#"{"a":"#.repeat(200_000), "}".repeat(200_000));
    for target in TARGETS {
        let bodies = [
            format!(r#"{{"messages":[],"input":[],"deep":{open}{close}}}"#),
            format!(r#"{{"messages":[],"input":[],"deep":{objects}}}"#),
            format!(r#"{{"messages":[{{"role":"user","content":{open}{close}}}],"input":[{open}{close}]}}"#),
            format!(
                r#"{{"messages":[],"input":[],"tools":{open}{close},"metadata":{objects},"system":{open}{close}}}"#
            ),
            format!(r#"{{"messages":[],"input":[],"output_config":{objects},"max_tokens":{open}{close}}}"#),
        ];
        for (number, body) in bodies.iter().enumerate() {
            let response = stage.ask(target, &[], body);
            assert_eq!(response.outcome(), "none", "{target} {number}");
            assert!(stage.upstream.last().body == body.as_bytes(), "{target} {number}: the bytes differ");
        }
    }
    stage.gateway.stop_cleanly();
}

/// A valid body of this many bytes.
fn body_of(size: usize) -> Vec<u8> {
    let frame = br#"{"messages":[],"input":[],"x":""}"#;
    let mut body = vec![b'a'; size];
    let (start, end) = frame.split_at(frame.len() - 2);
    body[..start.len()].copy_from_slice(start);
    body[size - end.len()..].copy_from_slice(end);
    body
}

#[test]
fn body_over_the_limit_is_refused_and_body_at_the_limit_is_not() {
    let stage = Stage::with(Upstream::start(), "");
    let too_large = body_of(LIMIT + (1 << 20));
    for target in TARGETS.into_iter().chain(["/v1/embeddings"]) {
        let response = stage.gateway.post(target, &[], &too_large);
        assert_eq!(response.status, 413, "{target}");
        let message = error_message(target, &response);
        assert!(message.contains("32 MB") && message.contains("limits.body_bytes"), "{message}");
    }
    // Without an announced length, the limit is noticed while reading.
    let mut client = Connection::open(stage.gateway.address);
    client.send("POST", TARGETS[1], &[("Transfer-Encoding", "chunked")], b"");
    for piece in too_large.chunks(1 << 20) {
        client.send_raw(format!("{:x}\r\n", piece.len()).as_bytes());
        client.send_raw(piece);
        client.send_raw(b"\r\n");
    }
    client.send_raw(b"0\r\n\r\n");
    let response = client.response();
    assert_eq!(response.status, 413);
    assert_eq!(response.json()["error"]["type"], "request_too_large");
    assert!(stage.upstream.requests().is_empty());
    let fits = body_of(LIMIT);
    assert_eq!(stage.gateway.post(TARGETS[0], &[], &fits).status, 200);
    assert!(stage.upstream.last().body == fits, "the bytes differ");
    stage.gateway.stop_cleanly();
}

#[test]
fn invalid_http_is_answered_or_closed() {
    let stage = Stage::with(Upstream::start(), "");
    for bytes in [
        &b"\x16\x03\x01\x02\x00\x01\x00"[..],
        b"GET\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nnot hex\r\n",
    ] {
        let mut client = Connection::open(stage.gateway.address);
        client.send_raw(bytes);
        assert!(client.ends_with_error_or_close(), "{:?}", String::from_utf8_lossy(bytes));
    }
    assert_eq!(stage.gateway.health()["status"], "ok");
    stage.gateway.stop_cleanly();
}

#[test]
fn client_that_leaves_mid_body_affects_no_other() {
    let stage = Stage::with(Upstream::start(), "");
    let mut client = Connection::open(stage.gateway.address);
    client.send("POST", TARGETS[0], &[("Content-Length", "1000")], b"{\"messages\":");
    client.close();
    assert_eq!(stage.gateway.health()["status"], "ok");
    assert!(stage.upstream.requests().is_empty());
    stage.gateway.stop_cleanly();
}

#[test]
fn stalled_body_times_out() {
    let stage = Stage::with(Upstream::start(), "[limits]\nidle_timeout_ms = 100\n");
    let mut client = Connection::open(stage.gateway.address);
    client.send("POST", TARGETS[1], &[("Content-Length", "1000")], b"{\"messages\":");
    let response = client.response();
    assert_eq!(response.status, 408);
    assert_eq!(response.json()["error"]["type"], "timeout_error");
    stage.gateway.stop_cleanly();
}

#[test]
fn stalled_head_times_out() {
    let stage = Stage::with(Upstream::start(), "[limits]\nheader_timeout_ms = 100\n");
    let mut client = Connection::open(stage.gateway.address);
    client.send_raw(b"POST /v1/messages HTTP/1.1\r\nHost: loc");
    assert!(client.ends_with_error_or_close());
    stage.gateway.stop_cleanly();
}

/// Serves a root, asks in every format, and returns the receipts' outcomes and reasons.
fn ask_at(env: TestEnv, upstream: Upstream, root: std::path::PathBuf) -> Vec<(String, String)> {
    let gateway = env.serve(&root, &[]);
    let stage = Stage { env, upstream, root, gateway };
    let mut outcomes = Vec::new();
    for (target, body) in simple(QUESTION) {
        let response = stage.ask(target, &[("x-session-id", target)], &body);
        assert_eq!(stage.upstream.last().text(), body);
        let receipt = stage.why(&response);
        outcomes.push((response.outcome().to_owned(), receipt["reason"].as_str().unwrap_or_default().to_owned()));
    }
    stage.gateway.stop_cleanly();
    outcomes
}

#[test]
fn a_root_that_is_no_repository_is_served_without_context() {
    let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start());
    env.connect(&upstream);
    let root = env.path("home");
    for (outcome, reason) in ask_at(env, upstream, root) {
        assert_eq!(outcome, "none");
        assert!(reason.contains("git"), "{reason}");
    }
}

#[test]
fn an_empty_repository_is_served_without_context() {
    let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start());
    env.connect(&upstream);
    let root = env.repository("empty", &[]);
    for (outcome, reason) in ask_at(env, upstream, root) {
        assert_eq!(outcome, "none");
        assert!(!reason.is_empty());
    }
}

#[test]
fn file_of_200_megabytes_is_skipped() {
    let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start());
    env.connect(&upstream);
    let root = env.repository("large", &FILES);
    File::create(root.join("src/token_bucket_refill.rs")).unwrap().set_len(200 << 20).unwrap();
    let gateway = env.serve(&root, &[]);
    gateway.wait_ready();
    let stage = Stage { env, upstream, root, gateway };
    let response = stage.ask(TARGETS[0], &[], &simple(QUESTION)[0].1);
    assert_eq!(response.outcome(), "injected");
    assert!(!stage.upstream.last().text().contains("token_bucket_refill.rs:"));
    stage.gateway.stop_cleanly();
}

#[test]
fn files_changed_while_read_cause_no_error() {
    let stage = Stage::new();
    let done = Arc::new(AtomicBool::new(false));
    let file = stage.root.join("src/rate_limiter.rs");
    let writer = std::thread::spawn({
        let done = Arc::clone(&done);
        move || {
            let mut round = 0_usize;
            while !done.load(Ordering::Relaxed) {
                round += 1;
                match round % 4 {
                    0 => drop(std::fs::remove_file(&file)),
                    1 => std::fs::write(&file, "é".repeat(round % 977)).unwrap(),
                    2 => std::fs::write(&file, [0xff, 0xfe, 0, b'\n'].repeat(round % 977)).unwrap(),
                    _ => std::fs::write(&file, FILES[0].1).unwrap(),
                }
            }
        }
    });
    for round in 0..12 {
        let (target, body) = &simple(&format!("{QUESTION} {round}"))[round % 3];
        let response = stage.ask(target, &[], body);
        assert!(["injected", "none"].contains(&response.outcome()), "{}", stage.why(&response));
        stage.env.stdout_of(&stage.root, &["index", "--json"]);
    }
    done.store(true, Ordering::Relaxed);
    writer.join().unwrap();
    stage.gateway.stop_cleanly();
}
