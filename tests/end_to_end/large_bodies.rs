//! Many large requests at once: their total size in memory is bounded.

use muninn_tests::http::Connection;
use muninn_tests::{Upstream, wait_until};

use crate::stage::{Stage, error_message, quoted};

const LIMITS: &str = "[limits]\nbody_bytes = 1000000\ntotal_body_bytes = 1000000\n";

fn body(bytes: usize) -> String {
    format!(r#"{{"model":"m","max_tokens":1,"messages":[{{"role":"user","content":{}}}]}}"#, quoted(&"x".repeat(bytes)))
}

/// The bytes of bodies that the gateway holds.
fn held(stage: &Stage) -> usize {
    let metrics = stage.gateway.request("GET", "/metrics", &[], b"").text();
    let line = metrics.lines().find_map(|line| line.strip_prefix("muninn_body_bytes "));
    line.unwrap().parse().unwrap()
}

#[test]
fn bodies_over_the_total_limit_get_retry_after() {
    let stage = Stage::with(Upstream::start(), LIMITS);
    let (large, small) = (body(600_000), body(10));
    // An announced length reserves no memory.
    let mut announced = Connection::open(stage.gateway.address);
    announced.send_raw(b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000\r\n\r\n{");
    let mut first = Connection::open(stage.gateway.address);
    let head = format!("POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", large.len());
    let (begin, end) = large.split_at(large.len() - 1);
    first.send_raw(format!("{head}{begin}").as_bytes());
    wait_until("the first body's bytes", || (held(&stage) == begin.len() + 1).then_some(()));
    for target in ["/v1/messages", "/v1/messages/count_tokens", "/v1/embeddings"] {
        let refused = stage.gateway.post(target, &[], large.as_bytes());
        assert_eq!(refused.status, 503, "{}", refused.text());
        assert_eq!(refused.headers.get("retry-after"), Some("2"));
        assert!(error_message(target, &refused).contains("limits.total_body_bytes"));
    }
    stage.ask("/v1/messages", &[], &small);
    first.send_raw(end.as_bytes());
    assert_eq!(first.response().status, 200);
    wait_until("room again", || {
        (stage.gateway.post("/v1/messages", &[], large.as_bytes()).status == 200).then_some(())
    });
    wait_until("all bytes let go but the one announced", || (held(&stage) == 1).then_some(()));
    let metrics = stage.gateway.request("GET", "/metrics", &[], b"").text();
    assert!(metrics.contains("reason=\"body_memory\""), "{metrics}");
    stage.gateway.wait_logged("limits.total_body_bytes", 1);
    announced.close();
}

#[test]
fn a_large_request_is_answered_like_a_small_one() {
    let stage = Stage::with(Upstream::start(), "");
    let large = body(2 << 20);
    let response = stage.ask("/v1/messages", &[], &large);
    assert_eq!(stage.upstream.last().text(), large);
    assert_eq!(response.json()["content"][0]["text"], "ok");
    let counted = stage.ask("/v1/messages/count_tokens", &[], &large);
    assert_eq!(counted.json()["input_tokens"], 7);
    let wrong = format!("{}]", large);
    let refused = stage.gateway.post("/v1/messages", &[], wrong.as_bytes());
    assert_eq!(refused.status, 400, "{}", refused.text());
}
