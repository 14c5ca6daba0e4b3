//! What each key used, in the metrics and in `muninn status`.

use muninn_tests::{Reply, TestEnv, Upstream, answers, wait_until};
use serde_json::Value;

use super::stage::Shared;
use crate::MUNINN;
use crate::stage::{QUESTION, simple};

/// Answers that count what the metrics should show: 100 tokens of prompt, 90 of them cached, 7 of answer.
fn counting(request: &muninn_tests::Recorded) -> Reply {
    let openai = r#"{"prompt_tokens":100,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":90}}"#;
    match request.target.as_str() {
        "/v1/chat/completions" if answers::wants_stream(&request.body) => Reply::new(
            200,
            "text/event-stream",
            format!("data: {{\"choices\":[],\"usage\":{openai}}}\n\ndata: [DONE]\n\n"),
        ),
        "/v1/messages" => Reply::json(
            200,
            r#"{"type":"message","content":[],"usage":{"input_tokens":9,"cache_creation_input_tokens":1,"cache_read_input_tokens":90,"output_tokens":7}}"#,
        ),
        _ => answers::ok(request),
    }
}

#[test]
fn usage_by_key_is_reported_live_and_after_the_stop() {
    let shared = Shared::with(Upstream::start_with(counting), "");
    shared.wait_ready();
    let [chat, messages, _] = simple(QUESTION);
    let streamed = chat.1.replacen('{', "{\"stream\":true,", 1);
    for (target, body) in [(chat.0, &streamed), (messages.0, &messages.1), (messages.0, &messages.1)] {
        assert_eq!(shared.post(target, &shared.ana, body).status, 200);
    }
    assert_eq!(shared.post(messages.0, &shared.ben, &messages.1).status, 200);
    assert_eq!(shared.post(messages.0, &shared.ben, "{").status, 400);
    assert_eq!(shared.post("/v1/embeddings", &shared.ben, r#"{"model":"m"}"#).status, 200);
    // Usage is recorded after the last byte was sent, so the client may see the end first.
    let metrics = wait_until("four requests in the metrics", || {
        let text = shared.get("/metrics", &shared.ana).text();
        let of = |line: &str| text.lines().any(|known| known == line);
        (of(r#"muninn_requests_total{key="ana",format="messages",backend="mock",backend_format="messages",status="2xx",stream="false"} 2"#)
            && of(r#"muninn_requests_total{key="ana",format="chat",backend="mock",backend_format="chat",status="2xx",stream="true"} 1"#)
            && of(r#"muninn_requests_total{key="ben",format="messages",backend="mock",backend_format="messages",status="2xx",stream="false"} 1"#)
            && of(r#"muninn_requests_total{key="ben",format="messages",backend="none",backend_format="none",status="4xx",stream="false"} 1"#)
            && of(r#"muninn_forwarded_requests_total{key="ben",backend="mock",status="2xx"} 1"#)
            && of("muninn_active_requests 0"))
        .then_some(text)
    });
    for line in [
        r#"muninn_tokens_total{key="ana",backend="mock",kind="input"} 300"#,
        r#"muninn_tokens_total{key="ana",backend="mock",kind="cached"} 270"#,
        r#"muninn_tokens_total{key="ana",backend="mock",kind="output"} 21"#,
        r#"muninn_tokens_total{key="ben",backend="mock",kind="output"} 7"#,
        r#"muninn_first_byte_seconds_count{backend="mock"} 4"#,
        r#"muninn_added_seconds_count{format="messages"} 3"#,
    ] {
        assert!(metrics.lines().any(|known| known == line), "{line}\n{metrics}");
    }
    assert!(metrics.contains(r#"muninn_context_outcomes_total{outcome="injected"}"#), "{metrics}");
    for secret in ["TokenBucket", "rate_limiter", shared.ana.key.as_str(), "\"m\""] {
        assert!(!metrics.contains(secret), "{secret}: {metrics}");
    }
    let Shared { env, root, gateway, ana, .. } = shared;
    gateway.stop_cleanly();

    let status: Value = serde_json::from_str(&env.stdout_of(&root, &["status", "--json"])).unwrap();
    let expected = serde_json::json!({"requests": 3, "input": 300, "output": 21, "cached": 270});
    assert_eq!(status["usage"][0]["key"], "ana", "{status}");
    assert_eq!(status["usage"][1]["all"]["requests"], 2, "ben's message and embedding: {status}");
    for span in ["thirty_days", "all"] {
        assert_eq!(status["usage"][0][span], expected, "{span}");
    }
    let again = env.serve(&root, &[]);
    let response = again.post(messages.0, &[ana.header()], messages.1.as_bytes());
    assert_eq!(response.status, 200);
    again.stop_cleanly();
    let said = env.stdout_of(&root, &["status"]);
    let all = said.lines().find(|line| line.trim_start().starts_with("ana") && line.contains("  all ")).unwrap();
    let numbers: Vec<_> = all.split_whitespace().collect();
    assert_eq!(numbers, ["ana", "all", "4", "400", "360", "28"], "{said}");
    assert!(!said.contains(&ana.key[7..]), "{said}");
}

#[test]
fn metrics_need_no_key_if_none_is_configured() {
    let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start());
    env.connect(&upstream);
    let root = env.repository("demo", &[]);
    let gateway = env.serve(&root, &[]);
    let response = gateway.request("GET", "/metrics", &[], b"");
    assert_eq!(response.status, 200);
    assert!(response.headers.get("content-type").unwrap().contains("openmetrics"));
    assert!(response.text().contains("muninn_active_requests 0"));
    assert_eq!(gateway.request("GET", "/metrics", &[("Host", "evil.example")], b"").status, 403);
}
