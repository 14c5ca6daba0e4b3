//! Resilience: backends that do not answer, answer badly, or stop in the middle.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use muninn_tests::http::{self, Response};
use muninn_tests::{Control, Gateway, Recorded, Reply, TestEnv, Upstream, answers, wait_until};

use crate::MUNINN;
use crate::stage::{error_message, simple};

const CHAT: &str = "/v1/chat/completions";
const BODY: &[u8] = br#"{ "model":"claude-x", "messages":[] , "n":1.0}"#;
const STREAMED: &[u8] = br#"{"model":"m","stream":true,"messages":[]}"#;

/// A gateway with this configuration, for a repository without files.
pub(crate) fn serve(config: &str) -> (TestEnv, Gateway) {
    let env = TestEnv::new(MUNINN);
    env.write_config(config);
    let root = env.repository("demo", &[]);
    let gateway = env.serve(&root, &[]);
    (env, gateway)
}

/// A backend at a port where nobody listens.
fn nobody(name: &str) -> String {
    format!("[[backends]]\nname = \"{name}\"\nurl = \"http://127.0.0.1:1\"\ndialect = [\"openai\", \"anthropic\"]\n")
}

pub(crate) fn failing(status: u16, headers: &'static [(&'static str, &'static str)]) -> Upstream {
    Upstream::start_with(move |_| {
        let reply = Reply::json(status, r#"{"error":{"message":"not now"}}"#);
        headers.iter().fold(reply, |reply, (name, value)| reply.header(name, value))
    })
}

/// A backend whose first answer is scripted.
fn scripted() -> (Upstream, Control) {
    Upstream::start_scripted()
}

/// One route for everything from the backend `a` to the fallback `b`, which knows the model under another name.
const ROUTE: &str =
    "[[routes]]\nmodel = \"claude-*\"\nbackend = \"a\"\nfallbacks = [{ backend = \"b\", rename = \"other/*\" }]\n";

fn ask(gateway: &Gateway) -> Response {
    gateway.post(CHAT, &[], BODY)
}

fn assert_the_fallback_answered(response: &Response, fallback: &Upstream) {
    assert_eq!(response.status, 200, "{}", response.text());
    assert_eq!(fallback.requests().len(), 1);
    assert_eq!(
        fallback.last().text(),
        r#"{ "model":"other/x", "messages":[] , "n":1.0}"#,
        "the fallback's own name for the model, and no other byte changed"
    );
}

#[test]
fn fallback_answers_for_an_unreachable_backend() {
    let fallback = Upstream::start();
    let (env, gateway) = serve(&[nobody("a"), fallback.backend("b"), ROUTE.to_owned()].concat());
    let response = ask(&gateway);
    assert_the_fallback_answered(&response, &fallback);
    let why = muninn_tests::why(&env, response.request_id());
    assert_eq!(why["backend"], "b", "the receipt names who answered");
}

#[test]
fn fallback_answers_for_a_busy_or_broken_backend() {
    for (status, headers, tries) in [
        (503, &[][..], 2),
        (503, &[("retry-after", "3")][..], 1),
        (502, &[][..], 2),
        (429, &[][..], 1),
        (500, &[][..], 1),
        (529, &[][..], 1),
        (402, &[][..], 1),
        (408, &[][..], 1),
        (507, &[][..], 1),
        (520, &[][..], 1),
        (522, &[][..], 1),
        (526, &[][..], 1),
        (530, &[][..], 1),
        (598, &[][..], 1),
    ] {
        let (first, fallback) = (failing(status, headers), Upstream::start());
        let (_env, gateway) = serve(&[first.backend("a"), fallback.backend("b"), ROUTE.to_owned()].concat());
        let response = ask(&gateway);
        assert_the_fallback_answered(&response, &fallback);
        assert_eq!(response.headers.get("x-muninn-backend"), Some("b"));
        assert_eq!(first.requests().len(), tries, "{status} {headers:?}");
    }
}

#[test]
fn fallback_answers_for_an_error_with_status_200() {
    let (events, json, html) = ("text/event-stream", "application/json", "text/html");
    for (content_type, body, counts) in [
        (json, r#"{"error":{"message":"no","type":"server_error"}}"#, true),
        (json, r#"{"type":"error","error":{"type":"overloaded_error","message":"no"}}"#, true),
        (json, r#"{"error":{"message":"no credit","code":402}}"#, false),
        (json, r#"[{"error":{"code":503,"message":"no","status":"UNAVAILABLE"}}]"#, true),
        (json, r#"{"base_resp":{"status_code":1000,"status_msg":"no"}}"#, true),
        (json, r#"{"base_resp":{"status_code":1002,"status_msg":"slow down"}}"#, false),
        (json, r#"{"code":500,"msg":"404 NOT_FOUND","success":false}"#, true),
        (json, "", true),
        (html, "<!doctype html><title>Sign in</title>", true),
        (json, "<html>", true),
        (events, "data: {\"error\":{\"message\":\"no\"}}\n\n", true),
        (events, ": wait\n\nevent: error\ndata: {\"message\":\"no\"}\n\n", true),
        (events, "data: {\"choices\":[{\"index\":0,\"error\":{\"message\":\"no\",\"code\":429}}]}\n\n", false),
    ] {
        let first = Upstream::start_with(move |_| Reply::new(200, content_type, body));
        let fallback = Upstream::start();
        let limits = "[limits]\ncircuit_failures = 2\ncircuit_cooldown_ms = 60000\n";
        let (_env, gateway) =
            serve(&[first.backend("a"), fallback.backend("b"), ROUTE.to_owned(), limits.to_owned()].concat());
        let response = ask(&gateway);
        assert_the_fallback_answered(&response, &fallback);
        assert_eq!(response.headers.get("x-muninn-backend"), Some("b"), "{body}");
        for _ in 0..2 {
            assert_eq!(ask(&gateway).status, 200);
        }
        assert_eq!(first.requests().len(), if counts { 2 } else { 3 }, "the circuit sees it: {body}");
    }
}

#[test]
fn answer_that_breaks_off_before_its_first_event_goes_to_the_fallback() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 900\r\n\r\n";
    let first = Upstream::start_with(move |_| Reply::raw(format!("{head}data: {{\"id\"")));
    let fallback = Upstream::start();
    let (_env, gateway) = serve(&[first.backend("a"), fallback.backend("b"), ROUTE.to_owned()].concat());
    assert_the_fallback_answered(&ask(&gateway), &fallback);
}

#[test]
fn client_error_is_not_sent_to_a_fallback() {
    for status in [400, 401, 404, 413, 422] {
        let (first, fallback) = (failing(status, &[]), Upstream::start());
        let (_env, gateway) = serve(&[first.backend("a"), fallback.backend("b"), ROUTE.to_owned()].concat());
        assert_eq!(ask(&gateway).status, status);
        assert_eq!((first.requests().len(), fallback.requests().len()), (1, 0));
    }
}

#[test]
fn a_backends_own_fallbacks_serve_requests_without_a_route() {
    let fallback = Upstream::start();
    let (_env, gateway) = serve(&[nobody("a"), "fallbacks = [\"b\"]\n".to_owned(), fallback.backend("b")].concat());
    assert_eq!(ask(&gateway).status, 200);
    assert_eq!(fallback.last().text().as_bytes(), BODY, "the client's own model, untouched");
}

#[test]
fn last_candidates_answer_is_passed_on_unchanged() {
    let told = [("retry-after", "7"), ("retry-after-ms", "7000"), ("x-should-retry", "true")];
    let (first, last) = (
        failing(503, &[("retry-after", "1")]),
        failing(429, &[("retry-after", "7"), ("retry-after-ms", "7000"), ("x-should-retry", "true")]),
    );
    let (_env, gateway) = serve(&[first.backend("a"), last.backend("b"), ROUTE.to_owned()].concat());
    let response = ask(&gateway);
    assert_eq!(response.status, 429);
    assert_eq!(response.text(), r#"{"error":{"message":"not now"}}"#);
    for (name, value) in told {
        assert_eq!(response.headers.get(name), Some(value));
    }
}

#[test]
fn error_answer_wins_over_an_unreachable_fallback() {
    let first = failing(429, &[("retry-after", "7")]);
    let (_env, gateway) = serve(&[first.backend("a"), nobody("b"), ROUTE.to_owned()].concat());
    let response = ask(&gateway);
    assert_eq!((response.status, response.headers.get("retry-after")), (429, Some("7")));
}

#[test]
fn connection_broken_before_the_answer_is_retried_once() {
    let failed = AtomicBool::new(false);
    let upstream =
        Upstream::start_with(
            move |request: &Recorded| {
                if failed.swap(true, Ordering::SeqCst) { answers::ok(request) } else { Reply::hangup() }
            },
        );
    let (_env, gateway) = serve(&upstream.backend("a"));
    assert_eq!(ask(&gateway).status, 200);
    assert_eq!(upstream.requests().len(), 2);
}

#[test]
fn retries_can_be_switched_off() {
    let upstream = failing(503, &[]);
    let (_env, gateway) = serve(&format!("{}retries = 0\n", upstream.backend("a")));
    assert_eq!(ask(&gateway).status, 503);
    assert_eq!(upstream.requests().len(), 1);
}

#[test]
fn nothing_is_retried_after_the_first_byte() {
    let (first, control) = scripted();
    let fallback = Upstream::start();
    let (_env, gateway) =
        serve(&[first.backend("a"), "fallbacks = [\"b\"]\n".to_owned(), fallback.backend("b")].concat());
    control.head(200);
    control.send("data: 1\n\n");
    let mut stream = http::stream(gateway.address, "POST", CHAT, &[], STREAMED);
    stream.read_until("data: 1\n\n");
    control.abort();
    drop(stream.rest());
    assert_eq!((first.requests().len(), fallback.requests().len()), (1, 0));
}

#[test]
fn first_byte_timeout_ends_the_attempt() {
    let (first, _silent) = scripted();
    let fallback = Upstream::start();
    let config =
        [first.backend("a"), "first_byte_timeout_ms = 200\n".to_owned(), fallback.backend("b"), ROUTE.to_owned()];
    let (_env, gateway) = serve(&config.concat());
    assert_the_fallback_answered(&ask(&gateway), &fallback);
    assert_eq!(first.requests().len(), 1, "what took too long once is not waited for again");
    first.wait_closed(1);
}

#[test]
fn timeout_without_fallback_is_504_in_every_format() {
    for (target, body) in simple("hello") {
        let (upstream, _silent) = scripted();
        let limits = "[limits]\nfirst_byte_timeout_ms = 200\n";
        let (_env, gateway) = serve(&[upstream.backend("slow"), limits.to_owned()].concat());
        let response = gateway.post(target, &[], body.as_bytes());
        assert_eq!(response.status, 504, "{target}");
        let message = error_message(target, &response);
        assert!(message.contains("`slow`") && message.contains("did not begin to answer within 200 ms"), "{message}");
    }
}

#[test]
fn idle_timeout_ends_the_stream_on_both_sides() {
    let (upstream, control) = scripted();
    let limits = "[limits]\nstream_idle_timeout_ms = 300\n";
    let (_env, gateway) = serve(&[upstream.backend("a"), limits.to_owned()].concat());
    control.head(200);
    control.send("data: 0\n\n");
    let mut stream = http::stream(gateway.address, "POST", CHAT, &[], STREAMED);
    stream.read_until("data: 0\n\n");
    for number in 1..3 {
        control.send(format!("data: {number}\n\n"));
        stream.read_until(&format!("data: {number}\n\n"));
    }
    control.wait_for_client_gone();
    let rest = stream.rest();
    assert!(
        rest.as_ref().map_or(true, |rest| !rest.is_empty()),
        "a stream that was cut off must not look like a finished one: {rest:?}"
    );
}

#[test]
fn failing_backend_opens_its_circuit() {
    let upstream = failing(500, &[]);
    let limits = "[limits]\ncircuit_failures = 2\ncircuit_cooldown_ms = 60000\ncircuit_cooldown_max_ms = 60000\n";
    let (_env, gateway) = serve(&[upstream.backend("ailing"), limits.to_owned()].concat());
    for _ in 0..2 {
        assert_eq!(ask(&gateway).status, 500);
    }
    for (target, body) in simple("hello") {
        let response = gateway.post(target, &[], body.as_bytes());
        assert_eq!(response.status, 503);
        let message = error_message(target, &response);
        let wait: u64 = response.headers.get("retry-after").unwrap().parse().unwrap();
        assert!((1..=60).contains(&wait), "{wait}");
        assert!(message.contains("`ailing`") && message.contains(&format!("in {wait} s")), "{message}");
    }
    assert_eq!(upstream.requests().len(), 2, "and it hears nothing meanwhile");
}

#[test]
fn open_circuit_sends_requests_to_the_fallback() {
    let (first, fallback) = (failing(500, &[]), Upstream::start());
    let limits = "[limits]\ncircuit_failures = 1\ncircuit_cooldown_ms = 60000\n";
    let (_env, gateway) =
        serve(&[first.backend("a"), fallback.backend("b"), ROUTE.to_owned(), limits.to_owned()].concat());
    for _ in 0..3 {
        assert_eq!(ask(&gateway).status, 200);
    }
    assert_eq!((first.requests().len(), fallback.requests().len()), (1, 3));
}

#[test]
fn recovered_backend_closes_its_circuit() {
    let well = Arc::new(AtomicBool::new(false));
    let upstream = Upstream::start_with({
        let well = Arc::clone(&well);
        move |request| {
            if well.load(Ordering::SeqCst) { answers::ok(request) } else { Reply::json(500, "{}") }
        }
    });
    let limits = "[limits]\ncircuit_failures = 1\ncircuit_cooldown_ms = 300\n";
    let (_env, gateway) = serve(&[upstream.backend("a"), limits.to_owned()].concat());
    assert_eq!(ask(&gateway).status, 500);
    well.store(true, Ordering::SeqCst);
    wait_until("a closed circuit", || (ask(&gateway).status == 200).then_some(()));
    assert_eq!(upstream.requests().len(), 2, "one failure, one probe that was the answer");
}

#[test]
fn client_errors_do_not_open_a_circuit() {
    let upstream = failing(400, &[]);
    let limits = "[limits]\ncircuit_failures = 1\n";
    let (_env, gateway) = serve(&[upstream.backend("a"), limits.to_owned()].concat());
    for _ in 0..3 {
        assert_eq!(ask(&gateway).status, 400);
    }
    assert_eq!(upstream.requests().len(), 3);
}

#[test]
fn discovery_probes_formats_without_a_real_request() {
    let upstream = Upstream::start_with(|request: &Recorded| {
        if request.target == "/v1/messages" {
            Reply::json(404, "{}")
        } else if request.text() == "{}" {
            Reply::json(400, "{}")
        } else {
            answers::ok(request)
        }
    });
    let env = TestEnv::new(MUNINN);
    let port = upstream.address.port();
    env.write_config(&format!("[test]\ndiscovery_ports = [{port}]\n"));
    let root = env.repository("demo", &[]);
    let gateway = env.serve_with(&root, &[], |command| {
        command.env("MUNINN_DISCOVER", "1");
    });
    for _ in 0..2 {
        assert_eq!(gateway.post(CHAT, &[], BODY).status, 200);
    }
    let asked: Vec<_> = upstream.requests().iter().map(Recorded::text).collect();
    assert_eq!(asked.iter().filter(|body| *body == "{}").count(), 3, "one probe for each format");
    assert_eq!(asked.iter().filter(|body| body.as_bytes() == BODY).count(), 2);
}

#[test]
fn a_backend_that_goes_and_comes_is_warned_of_once_each() {
    let is_down = Arc::new(AtomicBool::new(true));
    let state = Arc::clone(&is_down);
    let upstream =
        Upstream::start_with(
            move |request| {
                if state.load(Ordering::SeqCst) { Reply::json(500, "{}") } else { answers::ok(request) }
            },
        );
    let (env, gateway) = serve(&format!("{}{}", nobody("gone"), upstream.backend("a")));
    let ask = |model: &str| {
        let body = format!(r#"{{"model":"{model}","messages":[]}}"#);
        gateway.post(CHAT, &[], body.as_bytes())
    };
    for (down, status) in [(true, 500), (true, 500), (false, 200), (false, 200), (true, 500)] {
        is_down.store(down, Ordering::SeqCst);
        let response = ask("mock-1");
        assert_eq!(response.status, status);
        // The receipt names the backend of the answer, also of an error.
        let receipt = muninn_tests::why(&env, response.request_id());
        assert_eq!((&receipt["backend"], &receipt["status"]), (&"a".into(), &status.into()));
    }
    let log = gateway.stop_cleanly().stderr;
    let warned: Vec<&str> = log.lines().filter(|line| line.contains("WARN")).collect();
    let words: Vec<bool> = warned.iter().map(|line| line.contains("backend a fails")).collect();
    assert_eq!(words, [true, false, true], "{log}");
    assert!(warned[1].contains("backend a answers again"), "{log}");
}

#[test]
fn an_error_log_and_receipt_name_the_same_backend() {
    let (env, gateway) = serve(&format!("{}fallbacks = [\"two\"]\n{}", nobody("one"), nobody("two")));
    let response = ask(&gateway);
    assert_eq!(response.status, 502, "{}", response.text());
    assert!(response.text().contains("`two`"), "{}", response.text());
    let receipt = muninn_tests::why(&env, response.request_id());
    assert_eq!((&receipt["backend"], &receipt["status"]), (&"two".into(), &502.into()));
    let log = gateway.stop_cleanly().stderr;
    let line = log.lines().find(|line| line.contains(response.request_id())).unwrap_or_default();
    assert!(line.contains("two"), "{log}");
}
