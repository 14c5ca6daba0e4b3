//! Token counting: the backend's own count, or else an estimate that is marked as one. It includes the pack and leaves
//! no state.

use muninn_tests::http::Response;
use muninn_tests::{Gateway, Recorded, Reply, TestEnv, Upstream, answers};
use serde_json::{Value, json};

use crate::MUNINN;
use crate::formats::{Format, backend};
use crate::stage::{FILES, QUESTION};

const COUNT: &str = "/v1/messages/count_tokens";
const COUNT_INPUT: &str = "/v1/responses/input_tokens";
const SESSION: [(&str, &str); 1] = [("x-session-id", "s")];

fn serve(upstream: &Upstream, spoken: Format, more: &str) -> (TestEnv, Gateway) {
    let env = TestEnv::new(MUNINN);
    let backend = backend("b", &upstream.url(), spoken);
    env.write_config(&format!("{backend}{more}[context]\ndeadline_ms = 20000\n"));
    let root = env.repository("demo", &FILES);
    let gateway = env.serve(&root, &[]);
    gateway.wait_ready();
    (env, gateway)
}

/// A backend without any path for counting.
fn no_counter() -> Upstream {
    Upstream::start_with(|request: &Recorded| {
        if request.target.starts_with(COUNT) || request.target.starts_with(COUNT_INPUT) {
            Reply::json(404, r#"{"detail":"Not Found"}"#)
        } else {
            answers::ok(request)
        }
    })
}

fn count(gateway: &Gateway, target: &str, headers: &[(&str, &str)], body: &Value) -> (u64, Option<String>) {
    let headers = [headers, &SESSION].concat();
    let response = gateway.post(target, &headers, body.to_string().as_bytes());
    assert_eq!(response.status, 200, "{}", response.text());
    let how = response.headers.get("x-muninn-token-count").map(str::to_owned);
    (response.json()["input_tokens"].as_u64().unwrap(), how)
}

fn estimate(gateway: &Gateway, target: &str, headers: &[(&str, &str)], body: &Value) -> u64 {
    let (count, how) = count(gateway, target, headers, body);
    assert_eq!(how.as_deref(), Some("estimate"));
    count
}

fn conversation(words: &[&str]) -> Value {
    let messages = words.iter().enumerate().map(|(number, words)| {
        let role = if number % 2 == 0 { "user" } else { "assistant" };
        json!({"role": role, "content": words})
    });
    json!({"model": "m", "messages": messages.collect::<Vec<_>>()})
}

fn ask(gateway: &Gateway, body: &Value) -> Response {
    let response = gateway.post("/v1/messages", &SESSION, body.to_string().as_bytes());
    assert_eq!(response.status, 200, "{}", response.text());
    response
}

#[test]
fn counting_backend_is_asked_with_the_pack() {
    let upstream = Upstream::start();
    let (_env, gateway) = serve(&upstream, Format::Messages, "");
    assert_eq!(ask(&gateway, &conversation(&[QUESTION])).outcome(), "injected");
    let body = conversation(&[QUESTION, "ok", "Thanks a lot."]);
    assert_eq!(count(&gateway, COUNT, &[], &body), (7, None), "the backend's own number");
    let recorded = upstream.last();
    assert_eq!(recorded.target, COUNT);
    assert_eq!(recorded.text().matches("<muninn-context>").count(), 1);
    drop(count(&gateway, COUNT, &[("x-muninn-context", "bypass")], &body));
    assert_eq!(upstream.last().text(), body.to_string());
}

#[test]
fn tokens_are_estimated_for_a_backend_that_does_not_count() {
    for spoken in [Format::Messages, Format::Chat, Format::Responses] {
        let upstream = no_counter();
        let (_env, gateway) = serve(&upstream, spoken, "");
        let short = estimate(&gateway, COUNT, &[], &conversation(&["hello"]));
        let long = estimate(&gateway, COUNT, &[], &conversation(&[&"hello ".repeat(1000)]));
        assert!((1..30).contains(&short) && (900..1300).contains(&long), "{short} {long}");
        let asked = upstream.requests().iter().filter(|request| request.target == COUNT).count();
        assert_eq!(asked, if spoken == Format::Messages { 2 } else { 0 }, "only who may know is asked");
        let input = json!({"model": "m", "input": "hello ".repeat(1000)});
        let long = estimate(&gateway, COUNT_INPUT, &[], &input);
        assert!((900..1300).contains(&long), "{long}");
    }
}

#[test]
fn replayed_blocks_are_counted() {
    for spoken in [Format::Messages, Format::Chat] {
        let (upstream, body) = (no_counter(), conversation(&[QUESTION, "ok", "Thanks a lot."]));
        let (env, gateway) = serve(&upstream, spoken, "");
        let response = ask(&gateway, &conversation(&[QUESTION]));
        assert_eq!(response.outcome(), "injected");
        let with = estimate(&gateway, COUNT, &[], &body);
        let without = estimate(&gateway, COUNT, &[("x-muninn-context", "bypass")], &body);
        let block = muninn_tests::why(&env, response.request_id())["tokens"].as_u64().unwrap();
        assert!(block > 0 && (with - without).abs_diff(block) <= 10, "{with} - {without} is not {block}");
    }
}

#[test]
fn counting_a_new_turn_leaves_no_trace() {
    for upstream in [no_counter(), Upstream::start()] {
        let (_env, gateway) = serve(&upstream, Format::Messages, "");
        let body = conversation(&[QUESTION]);
        drop(count(&gateway, COUNT, &[], &body));
        drop(count(&gateway, COUNT, &[], &body));
        assert_eq!(ask(&gateway, &body).outcome(), "injected");
        let longer = conversation(&[QUESTION, "ok", "How does parse_invoice read an Invoice from a line?"]);
        drop(count(&gateway, COUNT, &[], &longer));
        assert_eq!(ask(&gateway, &longer).outcome(), "injected");
        assert_eq!(upstream.last().text().matches("<muninn-context>").count(), 2);
    }
}

#[test]
fn tools_tool_results_and_images_are_counted() {
    let upstream = no_counter();
    let (_env, gateway) = serve(&upstream, Format::Chat, "");
    let words = "word ".repeat(500);
    let plain = conversation(&["hello"]);
    let bare = estimate(&gateway, COUNT, &[], &plain);
    let with = |change: &dyn Fn(&mut Value)| {
        let mut body = plain.clone();
        change(&mut body);
        estimate(&gateway, COUNT, &[], &body) - bare
    };
    let system = with(&|body| body["system"] = words.as_str().into());
    let tools = with(&|body| {
        body["tools"] = json!([{"name": "look", "description": words, "input_schema": {"type": "object"}}]);
    });
    let schema = with(&|body| {
        body["tools"] = json!([{"name": "look", "input_schema": {"type": "object", "description": words}}]);
    });
    let result = with(&|body| {
        body["messages"] = json!([{"role": "user", "content": "hello"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "look", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": words}]}]);
    });
    for (what, tokens) in [("system", system), ("tools", tools), ("schema", schema), ("result", result)] {
        assert!((500..600).contains(&tokens), "{what}: {tokens}");
    }
    let image = with(&|body| {
        body["messages"][0]["content"] = json!([{"type": "text", "text": "hello"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A".repeat(400_000)}}]);
    });
    assert!((1000..3000).contains(&image), "not by the length of its base64: {image}");
}

#[test]
fn invalid_request_is_refused_and_backend_refusal_is_passed_on() {
    let upstream = Upstream::start_with(|_| {
        Reply::json(401, r#"{"type":"error","error":{"type":"authentication_error","message":"no"}}"#)
    });
    let (_env, gateway) = serve(&upstream, Format::Messages, "");
    let refused = gateway.post(COUNT, &[], conversation(&["hello"]).to_string().as_bytes());
    assert_eq!(refused.status, 401, "an estimate would hide a wrong key");
    for body in ["", "[]", "{", r#"{"messages":7}"#] {
        let response = gateway.post(COUNT, &[], body.as_bytes());
        assert!((400..500).contains(&response.status), "{body}: {}", response.text());
        assert_eq!(response.json()["type"], "error");
    }
}
