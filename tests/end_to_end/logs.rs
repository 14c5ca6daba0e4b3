//! Log lines of requests, and their forms.

use muninn_tests::{TestEnv, Upstream, wait_until};
use serde_json::Value;

use crate::MUNINN;
use crate::stage::{FILES, Stage, simple};

fn lines(stderr: &str, message: &str) -> Vec<Value> {
    let lines = stderr.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}")));
    lines.filter(|line: &Value| line["message"].as_str().is_some_and(|said| said.contains(message))).collect()
}

#[test]
fn json_log_names_client_model_and_repository() {
    let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start());
    env.connect(&upstream);
    let root = env.repository("demo", &FILES);
    let gateway = env.serve_with(&root, &[], |command| {
        command.env("MUNINN_LOG_FORMAT", "json");
    });
    let [(target, body), ..] = simple("hello");
    let secret = "sk-ant-api03-Zm9vYmFyYmF6cXV4Zm9vYmFy0000";
    let body = body.replace(r#""model":"m""#, &format!(r#""model":"m {secret}""#));
    let response = gateway.post(target, &[], body.as_bytes());
    assert_eq!(response.status, 200, "{}", response.text());
    let logged = wait_until("the request's line", || lines(&gateway.stderr(), "chat").pop());
    assert_eq!(logged["level"], "INFO");
    assert_eq!(logged["id"], response.request_id());
    assert_eq!((&logged["key"], &logged["status"]), (&Value::from(""), &Value::from(200)));
    assert_eq!(logged["repository"], root.to_str().unwrap());
    assert!(logged["client"].as_str().unwrap().starts_with("127.0.0.1:"), "{logged}");
    assert!(logged["model"].as_str().unwrap().starts_with("m "), "{logged}");
    let refused = gateway.post(target, &[("Origin", "https://evil.example")], body.as_bytes());
    assert_eq!(refused.status, 403);
    let logged = wait_until("the refusal's line", || lines(&gateway.stderr(), "refused").pop());
    assert_eq!((&logged["level"], &logged["status"]), (&Value::from("WARN"), &Value::from(403)));
    assert!(logged["client"].as_str().unwrap().starts_with("127.0.0.1:"), "{logged}");
    assert!(!gateway.stderr().contains(secret), "{}", gateway.stderr());
}

#[test]
fn repeated_refusals_are_logged_at_a_limited_rate() {
    let stage = Stage::with(Upstream::start(), "");
    for _ in 0..100 {
        let refused = stage.gateway.post("/v1/messages", &[], b"no JSON");
        assert_eq!(refused.status, 400);
    }
    stage.gateway.wait_logged("refused", 10);
    let stopped = stage.gateway.stop();
    let lines: Vec<&str> = stopped.stderr.lines().filter(|line| line.contains("refused")).collect();
    assert_eq!(lines.len(), 10, "{}", stopped.stderr);
    assert!(lines.iter().all(|line| line.contains("WARN")), "{lines:?}");
}
