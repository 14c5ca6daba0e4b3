//! Forwarding: requests and answers pass unchanged, as they arrive.

use muninn_tests::http::{self, Connection};
use muninn_tests::{Reply, TestEnv, Upstream, answers, wait_until};

use crate::MUNINN;
use crate::stage::{Stage, error_message, simple};

const CHAT: &str = "/v1/chat/completions";
const STREAMED: &[u8] = br#"{"model":"m","stream":true,"messages":[]}"#;

fn stage() -> Stage {
    Stage::with(Upstream::start(), "")
}

#[test]
fn headers_travel_except_those_of_the_connection_and_ours() {
    let stage = stage();
    let headers = [
        ("anthropic-beta", "a-1,b-2"),
        ("anthropic-beta", "c-3"),
        ("X-Claude-Code-Session-Id", "s"),
        ("User-Agent", "claude-cli/2.1.329"),
        ("Connection", "keep-alive, X-Hop"),
        ("X-Hop", "1"),
        ("Keep-Alive", "timeout=5"),
        ("TE", "trailers"),
        ("Proxy-Authorization", "Basic eDp5"),
        ("x-muninn-key", "mk-secret"),
        ("x-muninn-context", "off"),
        ("X-Muninn-Repo", "demo"),
    ];
    drop(stage.gateway.post("/v1/messages?beta=true&x=%2F", &headers, br#"{"messages":[]}"#));
    let recorded = stage.upstream.last();
    assert_eq!((recorded.method.as_str(), recorded.target.as_str()), ("POST", "/v1/messages?beta=true&x=%2F"));
    assert_eq!(recorded.headers.all("anthropic-beta"), ["a-1,b-2", "c-3"]);
    for (name, value) in &headers[2..4] {
        assert_eq!(recorded.headers.get(name), Some(*value), "{name}");
    }
    assert_eq!(recorded.headers.get("host"), Some(stage.upstream.address.to_string().as_str()));
    assert_eq!(recorded.headers.all("content-length"), ["15"]);
    for (name, _) in &headers[5..] {
        assert_eq!(recorded.headers.get(name), None, "{name}");
    }
    let connection = recorded.headers.get("connection").unwrap_or_default().to_ascii_lowercase();
    assert!(!connection.contains("x-hop"), "{connection}");
}

#[test]
fn the_backends_own_errors_are_passed_on_verbatim() {
    let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded — bitte später"},"x":1.0}"#;
    for status in [400, 401, 404, 429, 500, 503, 529] {
        let upstream = Upstream::start_with(move |_| {
            Reply::new(status, "application/problem+json; charset=utf-8", error)
                .header("retry-after", "7")
                .header("x-should-retry", "false")
                .header("set-cookie", "a=1")
                .header("set-cookie", "b=2")
        });
        let stage = Stage::with(upstream, "");
        let response = stage.gateway.post("/v1/messages", &[], br#"{"messages":[]}"#);
        assert_eq!(response.status, status);
        assert_eq!(response.text(), error);
        assert_eq!(response.headers.get("content-type"), Some("application/problem+json; charset=utf-8"));
        assert_eq!(response.headers.get("retry-after"), Some("7"));
        assert_eq!(response.headers.get("x-should-retry"), Some("false"));
        assert_eq!(response.headers.all("set-cookie"), ["a=1", "b=2"]);
        assert!(!response.request_id().is_empty(), "an error has a receipt, too");
    }
}

#[test]
fn all_three_formats_are_answered_whole_and_streamed() {
    let stage = stage();
    for (target, body) in simple("hello") {
        let whole = stage.ask(target, &[], &body);
        assert!(whole.text().contains("ok"), "{target}");
        let streamed = stage.ask(target, &[], &body.replacen('{', r#"{"stream":true,"#, 1));
        assert_eq!(streamed.headers.get("content-type"), Some("text/event-stream"), "{target}");
        assert!(streamed.text().contains("data: "), "{target}");
    }
}

#[test]
fn an_event_arrives_while_the_next_is_held_back() {
    let (stage, control) = Stage::scripted();
    control.head(200);
    let mut stream = http::stream(stage.gateway.address, "POST", CHAT, &[], STREAMED);
    assert_eq!(stream.status, 200);
    for number in 0..20 {
        control.send(format!("data: {number}\n\n"));
        assert_eq!(stream.read_until(&format!("data: {number}\n\n")), format!("data: {number}\n\n"));
    }
    control.finish();
    assert_eq!(stream.next_chunk().unwrap(), None, "a proper end");
}

#[test]
fn the_head_arrives_before_the_first_event() {
    let (stage, control) = Stage::scripted();
    control.head(200);
    let stream = http::stream(stage.gateway.address, "POST", CHAT, &[], STREAMED);
    assert_eq!((stream.status, stream.headers.get("content-type")), (200, Some("text/event-stream")));
    drop(control);
}

#[test]
fn stream_broken_off_by_the_backend_ends_with_an_error_event() {
    let (stage, control) = Stage::scripted();
    control.head(200);
    control.send("data: 1\n\n");
    let mut stream = http::stream(stage.gateway.address, "POST", CHAT, &[], STREAMED);
    assert_eq!(stream.read_until("data: 1\n\n"), "data: 1\n\n");
    control.send("data: half an ev");
    control.abort();
    let rest = String::from_utf8(stream.rest().unwrap()).unwrap();
    assert!(
        rest.starts_with("data: {\"error\":{\"message\":\"the backend's stream broke off"),
        "a cut-off stream must not look like a finished one: {rest}"
    );
    assert!(!rest.contains("half an ev"), "{rest}");
}

#[test]
fn leaving_before_the_head_cancels_the_request() {
    let (stage, control) = Stage::scripted();
    let mut client = Connection::open(stage.gateway.address);
    client.send("POST", CHAT, &[], STREAMED);
    stage.upstream.wait_for(1);
    client.close();
    control.wait_for_client_gone();
}

#[test]
fn leaving_mid_stream_cancels_the_request() {
    let (stage, control) = Stage::scripted();
    control.head(200);
    control.send("data: 1\n\n");
    let mut stream = http::stream(stage.gateway.address, "POST", CHAT, &[], STREAMED);
    stream.read_until("data: 1\n\n");
    stream.leave();
    control.wait_for_client_gone();
}

#[test]
fn other_paths_are_forwarded_untouched() {
    let stage = stage();
    for (method, target, body) in [
        (
            "POST",
            "/v1/messages/count_tokens?beta=true",
            r#"{"model":"m","messages":[{"role":"user","content":"count"}],"x":1.0}"#,
        ),
        ("POST", "/v1/embeddings", r#"{ "input" : ["a"],"model":"m" }"#),
        ("POST", "/v1/completions", r#"{"model":"m","prompt":"TokenBucket refill"}"#),
        ("POST", "/v1/audio/transcriptions", "--x\r\n\u{0}not json at all\r\n--x--"),
        ("GET", "/v1/files?limit=2", ""),
        ("DELETE", "/v1/responses/resp_1", ""),
        ("GET", "/v1/responses/resp_1?stream=true", ""),
        ("PUT", "/v1/some/new/thing", "{"),
    ] {
        let response = stage.gateway.request(method, target, &[("Content-Type", "text/x-odd")], body.as_bytes());
        let recorded = stage.upstream.last();
        assert_eq!((recorded.method.as_str(), recorded.target.as_str()), (method, target));
        assert_eq!(recorded.text(), body, "{target}");
        assert_eq!(recorded.headers.get("content-type"), Some("text/x-odd"));
        let expected = if target.contains("count_tokens") || body.contains("model") { 200 } else { 404 };
        assert_eq!(response.status, expected, "{target}: {}", response.text());
    }
}

#[test]
fn the_gateways_own_paths_answer() {
    let stage = stage();
    assert_eq!(stage.gateway.request("HEAD", "/", &[], b"").status, 200);
    assert_eq!(stage.gateway.request("GET", "/", &[], b"").status, 200);
    let health = stage.gateway.health();
    assert_eq!(health["status"], "ok");
    assert_eq!(health["ledger"], "ok");
    assert_eq!(health["root"], stage.root.to_str().unwrap());
    let missing = stage.gateway.request("GET", "/api/hello", &[], b"");
    assert_eq!(missing.status, 404);
    assert!(error_message("/api/hello", &missing).contains("/api/hello"));
    assert!(stage.upstream.requests().is_empty(), "none of this is the backend's business");
}

#[test]
fn models_of_all_backends_are_listed_with_our_own() {
    let env = TestEnv::new(MUNINN);
    let first = Upstream::start();
    let second = Upstream::start_with(|_| {
        Reply::json(200, r#"{"data":[{"id":"other","display_name":"Another","description":"Small."},{"id":"mock-1"}]}"#)
    });
    let silent = Upstream::start_with(|_| Reply::json(500, "oh"));
    env.write_config(&format!(
        "{}{}{}{}{}",
        first.backend("a"),
        second.backend("b"),
        silent.backend("c").replace("mock-1", "kept"),
        "[[routes]]\nmodel = \"fast\"\nbackend = \"c\"\n",
        "[[routes]]\nmodel = \"m*\"\nbackend = \"c\"\n",
    ));
    let root = env.repository("demo", &[]);
    let gateway = env.serve(&root, &[]);
    let ids = |headers: &[(&str, &str)]| -> Vec<String> {
        let list = gateway.request("GET", "/v1/models", headers, b"").json();
        let models = list["data"].as_array().unwrap().iter();
        models.map(|model| model["id"].as_str().unwrap().to_owned()).collect()
    };
    let expected = ["mock-1", "mock-2", "other", "kept", "fast", "muninn/context"];
    assert_eq!(ids(&[]), expected);
    let vendor = [("anthropic-version", "2023-06-01")];
    assert_eq!(ids(&vendor), expected);
    let vendors = gateway.request("GET", "/v1/models?limit=2&after_id=mock-1", &vendor, b"").json();
    assert_eq!((&vendors["data"][0]["type"], &vendors["has_more"]), (&"model".into(), &true.into()));
    assert_eq!((&vendors["first_id"], &vendors["last_id"]), (&"mock-2".into(), &"other".into()));
    assert_eq!(vendors["data"][0]["display_name"], "mock-2");
    let other = &vendors["data"][1];
    assert_eq!((&other["display_name"], &other["description"]), (&"Another".into(), &"Small.".into()));
    assert_eq!(gateway.request("GET", "/v1/models?limit=0", &vendor, b"").status, 400);
    for (id, asked) in [("fast", &vendor[..]), ("muninn/context", &[])] {
        let model = gateway.request("GET", &format!("/v1/models/{id}"), asked, b"");
        assert_eq!((model.status, &model.json()["id"]), (200, &id.into()));
    }
    // A backend that is down keeps its names.
    drop((first, second));
    assert_eq!(ids(&[]), expected);
}

#[test]
fn a_chunked_request_is_read_whole() {
    let stage = stage();
    let mut client = Connection::open(stage.gateway.address);
    client.send("POST", CHAT, &[("Transfer-Encoding", "chunked")], b"");
    for piece in [&br#"{"messages""#[..], b":[", b"],\"x\":1.0}"] {
        client.send_raw(format!("{:x}\r\n", piece.len()).as_bytes());
        client.send_raw(piece);
        client.send_raw(b"\r\n");
    }
    client.send_raw(b"0\r\n\r\n");
    assert_eq!(client.response().status, 200);
    assert_eq!(stage.upstream.last().text(), r#"{"messages":[],"x":1.0}"#);
}

#[test]
fn expect_continue_gets_100_continue() {
    let stage = stage();
    let body = br#"{"messages":[]}"#;
    let mut client = Connection::open(stage.gateway.address);
    client.send("POST", CHAT, &[("Expect", "100-continue"), ("Content-Length", "15")], b"");
    client.send_raw(body);
    assert_eq!(client.response().status, 200);
    assert_eq!(stage.upstream.last().headers.get("expect"), None);
}

#[test]
fn one_connection_serves_many_requests_on_both_sides() {
    let stage = stage();
    let mut client = Connection::open(stage.gateway.address);
    for _ in 0..5 {
        client.send("POST", CHAT, &[], STREAMED);
        assert_eq!(client.response().status, 200);
    }
    assert_eq!(stage.upstream.requests().len(), 5);
    assert_eq!(stage.upstream.connections(), 1);
}

#[test]
fn closed_pooled_connection_fails_no_request() {
    let stage = Stage::with(Upstream::start_with(|request| answers::ok(request).then_close()), "");
    let mut client = Connection::open(stage.gateway.address);
    for round in 1..=5 {
        client.send("POST", CHAT, &[], STREAMED);
        let response = client.response();
        assert_eq!(response.status, 200, "{}", response.text());
        stage.upstream.wait_closed(round);
    }
    assert_eq!(stage.upstream.requests().len(), 5, "no request was sent twice");
}

#[test]
fn unreachable_backend_is_reported_in_the_clients_format() {
    let stage = Stage::with(Upstream::start_with(|_| Reply::hangup()), "[limits]\ncircuit_failures = 0\n");
    for (target, body) in simple("hello") {
        let response = stage.gateway.post(target, &[], body.as_bytes());
        assert_eq!(response.status, 502);
        let message = error_message(target, &response);
        assert!(message.contains("mock") && message.contains("broke off"), "{message}");
    }
    let Stage { upstream, gateway, .. } = stage;
    let address = upstream.address;
    drop(upstream);
    wait_until("a closed port", || std::net::TcpStream::connect(address).err());
    for (target, body) in simple("hello") {
        let response = gateway.post(target, &[], body.as_bytes());
        assert_eq!(response.status, 502);
        assert!(error_message(target, &response).contains("mock"));
    }
}

#[test]
fn a_renamed_model_is_not_contradicted_by_a_header() {
    let upstream = Upstream::start_with(|request| answers::ok(request).header("openai-model", "real"));
    let env = TestEnv::new(MUNINN);
    let route = "[[routes]]\nmodel = \"alias\"\nbackend = \"a\"\nrename = \"real\"\n";
    env.write_config(&(upstream.backend("a") + route));
    let gateway = env.serve(&env.repository("demo", &[]), &[]);
    for (model, named) in [("alias", None), ("real", Some("real"))] {
        let body = format!(r#"{{"model":"{model}","input":"hi"}}"#);
        let response = gateway.post("/v1/responses", &[], body.as_bytes());
        assert_eq!((response.status, response.headers.get("openai-model")), (200, named), "{model}");
    }
}
