//! Request smuggling: the gateway refuses ambiguous framing, or reads one request and forwards one.

use muninn_tests::Upstream;
use muninn_tests::http::Connection;

use crate::stage::Stage;

const BODY: &str = r#"{"model":"m","messages":[{"role":"user","content":"hello"}]}"#;

/// The allowed outcomes of an attack.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    /// An error or a close, and nothing at the backend.
    Refused,
    /// The same, or one request with [`BODY`].
    AtMostOne,
}
use Fate::{AtMostOne, Refused};

/// A request to be smuggled in behind another one.
fn smuggled() -> String {
    format!(
        "POST /v1/chat/completions?smuggled HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{BODY}",
        BODY.len()
    )
}

fn request(headers: &str, body: &str) -> Vec<u8> {
    format!("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n{body}").into_bytes()
}

/// A chunked body, and the size that a `Content-Length` would have to name.
fn chunked() -> (String, usize) {
    let body = format!("{:x}\r\n{BODY}\r\n0\r\n\r\n", BODY.len());
    let length = body.len();
    (body, length)
}

/// Sends bytes, and panics at another outcome than the expected one.
fn attack(stage: &Stage, name: &str, fate: Fate, bytes: &[u8]) {
    let before = stage.upstream.requests().len();
    let mut client = Connection::open(stage.gateway.address);
    client.send_raw(bytes);
    // Behind whatever was taken for requests: an answer to this one says that there are no more.
    client.send_raw(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let answers = client.everything();
    let answers = answers.split_once("HTTP/1.1 200 OK").map_or(answers.as_str(), |(before, _)| before);
    let arrived = stage.upstream.requests().split_off(before);
    let statuses: Vec<_> = answers.lines().filter(|line| line.contains("HTTP/1.1 ")).collect();
    let statuses: Vec<_> = statuses.iter().map(|line| &line[line.find("HTTP/1.1 ").unwrap()..]).collect();
    println!("{name:<56} {statuses:?}, {} forwarded", arrived.len());
    assert!(
        !arrived.iter().any(|request| request.target.contains("smuggled")),
        "{name}: a second request was forwarded: {answers}"
    );
    for request in &arrived {
        assert_eq!(request.text(), BODY, "{name}");
        assert_eq!(request.target, "/v1/chat/completions", "{name}");
    }
    match fate {
        Refused => {
            assert!(arrived.is_empty(), "{name}: {answers}");
            let refused = |status: &&str| status.starts_with("HTTP/1.1 4") || status.starts_with("HTTP/1.1 501");
            assert!(statuses.iter().all(refused), "{name}: {answers}");
        }
        AtMostOne => assert!(arrived.len() <= 1 && statuses.len() <= 1, "{name}: {answers}"),
    }
    assert_eq!(stage.gateway.health()["status"], "ok", "{name}");
}

fn stage() -> Stage {
    Stage::with(Upstream::start(), "[limits]\nheader_timeout_ms = 2000\nidle_timeout_ms = 2000\n")
}

#[test]
fn a_length_beside_chunks_smuggles_nothing() {
    let stage = stage();
    let (body, length) = chunked();
    let both = |length: usize| format!("Content-Length: {length}\r\nTransfer-Encoding: chunked\r\n");
    attack(&stage, "length and chunks that agree", AtMostOne, &request(&both(length), &body));
    let hidden = body.clone() + &smuggled();
    attack(&stage, "length over a second request", AtMostOne, &request(&both(hidden.len()), &hidden));
    attack(&stage, "length shorter than the chunks", AtMostOne, &request(&both(3), &body));
    let empty = format!("0\r\n\r\n{}", smuggled());
    attack(&stage, "no chunk, and a length over a second request", Refused, &request(&both(empty.len()), &empty));
    stage.gateway.stop_cleanly();
}

#[test]
fn two_lengths_smuggle_nothing() {
    let stage = stage();
    let length = BODY.len();
    let hidden = BODY.to_owned() + &smuggled();
    for (name, headers) in [
        ("two lengths", format!("Content-Length: {length}\r\nContent-Length: {}\r\n", hidden.len())),
        (
            "two lengths, the longer one first",
            format!("Content-Length: {}\r\nContent-Length: {length}\r\n", hidden.len()),
        ),
        ("a list of two lengths", format!("Content-Length: {length}, {}\r\n", hidden.len())),
        ("a length with a sign", format!("Content-Length: +{length}\r\n")),
        ("a negative length", "Content-Length: -1\r\n".to_owned()),
        ("a length in hex", format!("Content-Length: 0x{length:x}\r\n")),
        ("a length beyond all bounds", "Content-Length: 99999999999999999999999\r\n".to_owned()),
        ("a length with a space inside", format!("Content-Length: 1 {length}\r\n")),
    ] {
        attack(&stage, name, Refused, &request(&headers, &hidden));
    }
    stage.gateway.stop_cleanly();
}

#[test]
fn oddly_spelt_transfer_coding_smuggles_nothing() {
    let stage = stage();
    let body = chunked().0 + &smuggled();
    for coding in [
        "Transfer-Encoding: xchunked",
        "Transfer-Encoding: chunked, identity",
        "Transfer-Encoding: identity",
        "Transfer-Encoding: chunked, gzip",
        "Transfer-Encoding: \x0bchunked",
        "Transfer-Encoding : chunked",
        " Transfer-Encoding: chunked",
        "X: y\r\n Transfer-Encoding: chunked",
        "Transfer-Encoding:\r\n chunked",
        "Transfer_Encoding: chunked",
        "Transfer-Encoding: \"chunked\"",
        "Transfer\0-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
        "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked, x",
    ] {
        let headers = format!("{coding}\r\nContent-Length: {}\r\n", body.len());
        attack(&stage, &coding.escape_debug().to_string(), Refused, &request(&headers, &body));
    }
    stage.gateway.stop_cleanly();
}

#[test]
fn odd_line_ends_and_bytes_smuggle_nothing() {
    let stage = stage();
    let length = format!("Content-Length: {}\r\n", BODY.len());
    let whole = request(&length, BODY);
    let text = String::from_utf8(whole).unwrap();
    for (name, fate, bytes) in [
        ("line feeds alone", AtMostOne, text.replace("\r\n", "\n")),
        ("carriage returns alone", Refused, text.replace("\r\n", "\r")),
        ("a folded header", Refused, text.replace("Host:", "X: a\r\n b\r\nHost:")),
        ("a NUL in the request line", Refused, text.replace("/v1", "/\0v1")),
        ("a NUL in a value", Refused, text.replace("localhost", "local\0host")),
        ("a NUL in a name", Refused, text.replace("Host:", "Ho\0st:")),
        ("a line without a colon", Refused, text.replace("Host:", "nothing\r\nHost:")),
        ("a space before the colon", Refused, text.replace("Content-Length:", "Content-Length :")),
        ("two spaces in the request line", Refused, text.replace("POST /", "POST  /")),
        ("no version", Refused, text.replace(" HTTP/1.1", "")),
        ("another version", Refused, text.replace("HTTP/1.1", "HTTP/3.7")),
        ("a line end in the target", Refused, text.replace("completions", "comp\nletions")),
    ] {
        attack(&stage, name, fate, bytes.as_bytes());
    }
    stage.gateway.stop_cleanly();
}

#[test]
fn malformed_chunks_are_refused() {
    let stage = stage();
    let te = "Transfer-Encoding: chunked\r\n";
    let half = &BODY[..10];
    for (name, body) in [
        ("a chunk size beyond 64 bits", format!("fffffffffffffffff\r\n{BODY}\r\n0\r\n\r\n")),
        ("a chunk size that wraps to a small one", format!("1000000000000000a\r\n{half}\r\n0\r\n\r\n")),
        ("a negative chunk size", format!("-{:x}\r\n{BODY}\r\n0\r\n\r\n", BODY.len())),
        ("a chunk size in 0x", format!("0x{:x}\r\n{BODY}\r\n0\r\n\r\n", BODY.len())),
        ("a chunk longer than its size", format!("5\r\n{BODY}\r\n0\r\n\r\n")),
        ("an empty chunk size", format!("\r\n{BODY}\r\n0\r\n\r\n")),
        ("an extension of 4 MB", format!("{:x};{}\r\n{BODY}\r\n0\r\n\r\n", BODY.len(), "x".repeat(4 << 20))),
        ("a thousand extensions", format!("{}0\r\n\r\n", format!("1;{}\r\n \r\n", "x".repeat(1_000)).repeat(1_000))),
        ("trailers of 4 MB", format!("{:x}\r\n{BODY}\r\n0\r\n{}\r\n", BODY.len(), "x: y\r\n".repeat(700_000))),
    ] {
        attack(&stage, name, Refused, &request(te, &body));
    }
    stage.gateway.stop_cleanly();
}

#[test]
fn oversized_heads_are_refused() {
    let stage = stage();
    let length = format!("Content-Length: {}\r\n", BODY.len());
    let many: String = (0..20_000).map(|number| format!("x-{number}: y\r\n")).collect();
    let one = format!("x: {}\r\n", "y".repeat(4 << 20));
    attack(&stage, "20,000 headers", Refused, &request(&(many + &length), BODY));
    attack(&stage, "a header of 4 MB", Refused, &request(&(one + &length), BODY));
    let line = String::from_utf8(request(&length, BODY)).unwrap();
    let line = line.replace("completions", &format!("completions?{}", "x".repeat(4 << 20)));
    attack(&stage, "a request line of 4 MB", Refused, line.as_bytes());
    #[cfg(target_os = "linux")]
    {
        let peak = stage.gateway.memory_mb("VmHWM");
        assert!(peak < 400, "{peak} MB for heads that are refused");
    }
    stage.gateway.stop_cleanly();
}

#[test]
fn foreign_authority_is_never_contacted() {
    let foreign = Upstream::start();
    let stage = stage();
    let length = format!("Content-Length: {}\r\n", BODY.len());
    let text = String::from_utf8(request(&length, BODY)).unwrap();
    let absolute = |host: &str| text.replace("POST /", &format!("POST http://{host}/"));
    let there = foreign.address.to_string();
    let both = absolute("evil.example").replace("Host: localhost", "Host: evil.example");
    attack(&stage, "absolute form and Host, another host", Refused, both.as_bytes());
    attack(&stage, "absolute form, another host", AtMostOne, absolute("evil.example").as_bytes());
    attack(&stage, "absolute form, another port of this machine", AtMostOne, absolute(&there).as_bytes());
    attack(&stage, "absolute form with a user", AtMostOne, absolute("localhost@evil.example").as_bytes());
    attack(&stage, "CONNECT", Refused, format!("CONNECT {there} HTTP/1.1\r\nHost: {there}\r\n\r\n").as_bytes());
    attack(&stage, "no host", Refused, text.replace("Host: localhost\r\n", "").as_bytes());
    attack(&stage, "two hosts", Refused, text.replace("Host:", "Host: evil.example\r\nHost:").as_bytes());
    assert!(foreign.requests().is_empty(), "a request went where the target said");
    stage.gateway.stop_cleanly();
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let stage = stage();
    let one = |number: usize| {
        let body = BODY.replace("hello", &format!("number {number}"));
        String::from_utf8(request(&format!("Content-Length: {}\r\n", body.len()), &body)).unwrap()
    };
    let mut client = Connection::open(stage.gateway.address);
    client.send_raw((0..20).map(one).collect::<String>().as_bytes());
    for _ in 0..20 {
        assert_eq!(client.response().status, 200);
    }
    let arrived = stage.upstream.requests();
    for (number, request) in arrived.iter().enumerate() {
        assert!(request.text().contains(&format!("\"number {number}\"")), "{}", request.text());
    }
    assert_eq!(arrived.len(), 20);
    stage.gateway.stop_cleanly();
}

#[test]
fn truncated_request_is_not_forwarded() {
    let stage = stage();
    let whole = request(&format!("Content-Length: {}\r\n", BODY.len()), BODY);
    for at in (0..whole.len()).step_by(3) {
        let mut client = Connection::open(stage.gateway.address);
        client.send_raw(&whole[..at]);
        client.close();
    }
    let mut client = Connection::open(stage.gateway.address);
    client.send_raw(&whole);
    assert_eq!(client.response().status, 200);
    assert_eq!(stage.upstream.requests().len(), 1, "only the whole one");
    stage.gateway.stop_cleanly();
}
