//! Keys with restrictions.

use muninn_tests::{TestEnv, Upstream, wait_until};

use super::stage::{Key, Shared, kind, new_key};
use crate::MUNINN;
use crate::stage::{FILES, QUESTION, error_message, simple};

#[test]
fn key_that_may_not_write_reads_and_leaves_no_record() {
    let shared = Shared::new("write = false");
    shared.wait_ready();
    let call = |key: &Key, tool: &str, arguments: &str| {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
        );
        let headers =
            [key.header(), ("accept", "application/json, text/event-stream"), ("content-type", "application/json")];
        shared.gateway.post("/mcp", &headers, body.as_bytes()).text()
    };
    let fact = r#"{"text":"Invoices are in cents"}"#;
    let refused = call(&shared.ben, "remember", fact);
    assert!(refused.contains("`ben` is restricted and cannot use tools that write"), "{refused}");
    let recalled = call(&shared.ben, "recall", r#"{"query":"cents"}"#);
    assert!(recalled.contains("memories") && !recalled.contains("Invoices"), "{recalled}");
    let kept = call(&shared.ana, "remember", fact);
    assert!(kept.contains("redacted"), "{kept}");
}

#[test]
fn key_restricted_to_models_gets_no_other() {
    let shared = Shared::new("models = [\"mock-1\", \"qwen*\"]");
    let with = |body: &str, model: &str| body.replacen("\"model\":\"m\"", model, 1);
    for (target, body) in simple(QUESTION) {
        for model in ["\"model\":\"mock-1\"", "\"model\":\"qwen3-coder\""] {
            assert_eq!(shared.post(target, &shared.ben, &with(&body, model)).status, 200, "{model}");
        }
        let before = shared.upstream.requests().len();
        for model in [
            "\"model\":\"mock-2\"",
            "\"x\":1",
            "\"model\":\"mock-1\",\"model\":\"mock-2\"",
            "\"model\":\"mock-2\",\"model\":\"mock-1\"",
            "\"model\":\"mock-1\",\"Model\":\"mock-2\"",
            "\"model\":\"mock-1\",\"fallbacks\":[\"mock-2\"]",
            "\"model\":\"muninn/context\"",
        ] {
            let response = shared.post(target, &shared.ben, &with(&body, model));
            assert_eq!(response.status, 403, "{model}");
            if target == "/v1/messages" {
                assert_eq!(kind(&response).0, "permission_error");
            }
            assert!(error_message(target, &response).contains("`ben`"));
        }
        assert_eq!(shared.upstream.requests().len(), before);
        assert_eq!(shared.post(target, &shared.ana, &with(&body, "\"model\":\"mock-2\"")).status, 200);
    }
    let count = |model: &str| {
        let body = format!("{{{model},\"messages\":[{{\"role\":\"user\",\"content\":\"hi\"}}]}}");
        shared.post("/v1/messages/count_tokens", &shared.ben, &body).status
    };
    assert_eq!(count("\"model\":\"mock-1\""), 200);
    for model in ["\"model\":\"mock-2\"", "\"model\":\"mock-1\",\"models\":[\"mock-2\"]"] {
        assert_eq!(count(model), 403, "{model}");
    }
    for target in ["/v1/embeddings", "/v1/completions", "/v1/responses/compact"] {
        assert_eq!(shared.post(target, &shared.ben, r#"{"model":"mock-1"}"#).status, 200, "{target}");
        for body in [r#"{"model":"mock-2"}"#, "{}", "", "[", r#"{"model":"mock-1","models":["mock-2"]}"#] {
            assert_eq!(shared.post(target, &shared.ben, body).status, 403, "{target} {body}");
        }
        assert_eq!(shared.post(target, &shared.ana, r#"{"model":"mock-2"}"#).status, 200, "{target}");
    }
    let listed = |key: &Key| {
        let list = shared.get("/v1/models", key).json();
        let models = list["data"].as_array().unwrap().iter();
        models.map(|model| model["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(listed(&shared.ben), ["mock-1"]);
    assert_eq!(listed(&shared.ana), ["mock-1", "mock-2", "muninn/context"]);
}

#[test]
fn restricted_key_cannot_use_unparsed_paths() {
    for restriction in ["models = [\"*\"]", "backends = [\"mock\"]", "roots = [\"ROOT\"]"] {
        let shared = Shared::new(restriction);
        let before = shared.upstream.requests().len();
        for (method, target) in [
            ("GET", "/v1/files"),
            ("POST", "/v1/batches"),
            ("GET", "/v1/embeddings"),
            ("GET", "/v1/models/mock-2"),
            ("GET", "/v1/responses/resp_1"),
            ("DELETE", "/v1/chat/completions"),
        ] {
            let response = shared.gateway.request(method, target, &[shared.ben.header()], b"");
            assert_eq!(response.status, 403, "{restriction}: {method} {target}");
        }
        assert_eq!(shared.upstream.requests().len(), before, "{restriction}");
        // Other spellings of a parsed path are equal to it.
        for target in ["/v1/embeddings/", "/v1//embeddings"] {
            assert_eq!(shared.post(target, &shared.ben, r#"{"model":"mock-1"}"#).status, 200, "{target}");
            let refused = shared.post(target, &shared.ben, r#"{"model":"mock-1","model":"mock-2"}"#).status;
            assert_eq!(refused, if restriction.starts_with("models") { 403 } else { 200 }, "{target}");
            assert_eq!(shared.upstream.last().target, "/v1/embeddings");
        }
        assert_eq!(shared.get("/v1/files", &shared.ana).status, 404, "the backend's own");
        let (target, body) = &simple("hello")[0];
        assert_eq!(shared.post(target, &shared.ben, body).status, 200, "{restriction}");
    }
}

#[test]
fn key_restricted_to_backends_gets_no_other() {
    let (env, first, second) = (TestEnv::new(MUNINN), Upstream::start(), Upstream::start());
    let root = env.repository("demo", &[]);
    let ben = new_key(&env, "ben");
    let route = "[[routes]]\nmodel = \"first-*\"\nbackend = \"first\"\n";
    env.write_config(&format!(
        "{}{}{route}{}backends = [\"second\"]\n",
        first.backend("first"),
        second.backend("second"),
        ben.toml
    ));
    let gateway = env.serve(&root, &[]);
    for (target, body) in simple("hello") {
        let status = |body: &str| gateway.post(target, &[ben.header()], body.as_bytes()).status;
        assert_eq!(status(&body), 200, "{target}: what no route decides goes where it may");
        assert_eq!(status(&body.replace("\"m\"", "\"first-1\"")), 403, "{target}");
    }
    let listed = gateway.request("GET", "/v1/models", &[ben.header()], b"").json();
    let owners = listed["data"].as_array().unwrap().iter();
    let owners: Vec<_> = owners.map(|model| model["owned_by"].as_str().unwrap()).collect();
    assert!(owners.contains(&"second") && !owners.contains(&"first"), "{listed}");
    let asked = first.requests().iter().any(|request| request.target == "/v1/models");
    assert!(!asked, "a backend that the key may not use is not asked for its models");
    let embeddings = |body: &[u8]| gateway.post("/v1/embeddings", &[ben.header()], body).status;
    assert_eq!((embeddings(br#"{"model":"first-1"}"#), embeddings(br#"{"model":"m"}"#)), (403, 200));
    assert!(first.requests().is_empty());
    let list = gateway.request("GET", "/v1/models", &[ben.header()], b"").json();
    let owners = list["data"].as_array().unwrap().iter().map(|model| model["owned_by"].clone());
    assert!(owners.clone().all(|owner| owner == "second" || owner == "muninn"), "{list}");
}

#[test]
fn key_restricted_to_other_directories_gets_no_context() {
    let env = TestEnv::new(MUNINN);
    let upstream = Upstream::start();
    let (root, other) = (env.repository("demo", &FILES), env.repository("other", &[]));
    let (ana, ben) = (new_key(&env, "ana"), new_key(&env, "ben"));
    let keys = format!("{}{}roots = [{other:?}]\n", ana.toml, ben.toml);
    // A directory that is not served at all is a mistake in the configuration.
    env.connect_with(&upstream, &keys);
    let refused = env.run(&root, &["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(refused.status.code(), Some(3), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("keys[1].roots"), "{refused:?}");

    let config = std::fs::read_to_string(env.path("muninn.toml")).unwrap();
    env.write_config(&format!("roots = [{other:?}]\n{config}"));
    let gateway = env.serve(&root, &[]);
    let health = |key: &Key| gateway.request("GET", "/healthz", &[key.header()], b"").json();
    wait_until("a ready index", || (health(&ana)["index"]["state"] == "ready").then_some(()));
    assert_eq!(health(&ben), serde_json::json!({"status": "ok"}));
    for (target, body) in simple(QUESTION) {
        // The three bodies say the same words, so each is a session of its own.
        let session = ("x-muninn-session", target);
        let response = gateway.post(target, &[ben.header(), session], body.as_bytes());
        assert_eq!((response.status, response.outcome()), (200, "none"), "{target}");
        assert_eq!(upstream.last().text(), body, "{target}: not a byte is added");
        let receipt = muninn_tests::why(&env, response.request_id());
        assert_eq!(receipt["key"], "ben");
        assert!(receipt["reason"].as_str().unwrap().contains("`ben` does not allow"), "{receipt}");
        let context = body.replace("\"m\"", "\"muninn/context\"");
        let response = gateway.post(target, &[ben.header()], context.as_bytes());
        assert_eq!(response.status, 200);
        assert!(!response.text().contains("TokenBucket {"), "{}", response.text());
        // The same text under another key is another conversation and gets a block.
        let response = gateway.post(target, &[ana.header(), session], body.as_bytes());
        assert_eq!(response.outcome(), "injected", "{target}");
    }
}

#[test]
fn rate_limit_counts_requests_to_every_door() {
    for (target, open) in [
        ("/metrics", 200),
        ("/", 200),
        ("/elsewhere", 404),
        ("/v1/files", 404),
        ("/api/digest", 404),
        ("/api/wiki/pages/none", 404),
        ("/mcp", 405),
    ] {
        let shared = Shared::new("requests_per_minute = 2");
        for status in [open, open, 429] {
            assert_eq!(shared.get(target, &shared.ben).status, status, "{target}");
        }
    }
    let shared = Shared::new("requests_per_minute = 2");
    let health = |key: &Key| shared.get("/healthz", key).json();
    for has_details in [true, true, false] {
        assert_eq!(health(&shared.ben).get("root").is_some(), has_details);
    }
    assert_eq!(shared.get("/v1/models", &shared.ben).status, 429, "details were counted");
}

#[test]
fn refused_requests_do_not_use_up_a_limit() {
    let shared = Shared::new("requests_per_minute = 2\nmodels = [\"m\"]\nwrite = false");
    let create = || shared.post("/api/wiki/pages/a", &shared.ben, "{\"content\":\"a\"}").status;
    for (target, body) in simple("hello") {
        for refused in ["{", "[]", r#"{"messages":[{"role":"user","content":5}]}"#, &body.replace("\"m\"", "\"other\"")]
        {
            let status = shared.post(target, &shared.ben, refused).status;
            assert!(matches!(status, 400 | 403), "{target} {refused}: {status}");
        }
        assert_eq!(create(), 403, "a door that is closed");
    }
    let bodies = simple("hello");
    for status in [200, 200, 429] {
        assert_eq!(shared.post(bodies[0].0, &shared.ben, &bodies[0].1).status, status);
    }
    assert_eq!(shared.post(bodies[0].0, &shared.ben, "{").status, 429, "the limit itself holds for every request");
}

#[test]
fn key_has_a_rate_limit() {
    let shared = Shared::new("requests_per_minute = 3");
    let bodies = simple("hello");
    for (target, body) in &bodies {
        assert_eq!(shared.post(target, &shared.ben, body).status, 200);
    }
    for (target, body) in &bodies {
        let response = shared.post(target, &shared.ben, body);
        assert_eq!(response.status, 429);
        let wait: u64 = response.headers.get("retry-after").unwrap().parse().unwrap();
        assert!((1..=60).contains(&wait), "{wait}");
        let expected = if *target == "/v1/messages" {
            ("rate_limit_error".to_owned(), None)
        } else {
            ("requests".to_owned(), Some("rate_limit_exceeded".to_owned()))
        };
        assert_eq!(kind(&response), expected);
        assert!(error_message(target, &response).contains("`ben`"));
        assert_eq!(shared.post(target, &shared.ana, body).status, 200, "ana has no limit");
    }
    for target in ["/v1/models", "/metrics", "/mcp", "/api/digest", "/", "/elsewhere", "/v1/files"] {
        assert_eq!(shared.get(target, &shared.ben).status, 429, "{target}");
    }
    for _ in 0..5 {
        let live = shared.get("/healthz", &shared.ben);
        assert_eq!((live.status, live.text().as_str()), (200, r#"{"status":"ok"}"#), "never limited, without details");
    }
    let metrics = shared.get("/metrics", &shared.ana).text();
    assert!(metrics.contains(r#"muninn_refused_requests_total{key="ben",reason="rate_limited"} 10"#), "{metrics}");
}
