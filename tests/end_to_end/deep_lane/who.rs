//! The explorer's backend, its credentials, and the keys that may use it.

use muninn_tests::{Recorded, Reply, TestEnv, Upstream, answers, wait_until};
use serde_json::{Value, json};

use super::stage::{CITED, DEEP, Deep, MARK, TARGETS, body, finds, named};
use crate::MUNINN;
use crate::stage::{FILES, QUESTION};

/// Whether a request is an exploration's.
fn explores(request: &Recorded) -> bool {
    request.text().contains(r#""final""#)
}

/// Answers explorations in words, which is the same in all formats, and everything else with `ok`.
fn in_words(request: &Recorded) -> Reply {
    let answer = answers::ok(request);
    if !explores(request) {
        return answer;
    }
    let words = format!("See {CITED}.");
    let text = match request.target.as_str() {
        "/v1/messages" => json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
            "content": [{"type": "text", "text": words}], "stop_reason": "end_turn", "stop_sequence": null,
            "usage": {"input_tokens": 1, "output_tokens": 1}}),
        "/v1/responses" => json!({"id": "resp_1", "object": "response", "created_at": 1, "status": "completed",
            "model": "m", "output": [{"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": words, "annotations": []}]}],
            "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}}),
        _ => json!({"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m", "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": words}}]}),
    };
    Reply::json(200, text.to_string())
}

#[test]
fn default_explorer_is_the_requests_backend_with_its_credentials() {
    let (upstream, nobody) = (Upstream::start_with(in_words), Upstream::start());
    let env = TestEnv::new(MUNINN);
    let mock = upstream.backend("mock");
    env.write_config(&format!("{mock}client_credentials = true\n[context]\ndeadline_ms = 20000\n"));
    let deep = Deep::on(env, upstream, nobody);
    for target in TARGETS {
        for model in ["m", "m:deep"] {
            let session = format!("{model} {target}");
            let headers = [("x-session-id", &session[..]), ("Authorization", "Bearer client-key"), DEEP];
            let before = deep.upstream.requests().len();
            let (blocks, receipt) = deep.ask(target, &headers, &body(target, model, &[QUESTION]));
            assert!(blocks[0].contains(MARK), "{receipt}");
            assert_eq!(receipt["exploration"]["model"], "mock/m", "{session}");
            let sent = deep.upstream.requests().split_off(before);
            assert_eq!((explores(&sent[0]), explores(&sent[1]), sent.len()), (true, false, 2));
            for request in sent {
                assert_eq!(request.target, target, "its own format");
                assert!(request.text().contains(r#""model":"m""#), "{}", request.text());
                assert_eq!(request.headers.get("authorization"), Some("Bearer client-key"), "{session}");
            }
        }
    }
}

/// Headers that may carry the client's credentials.
fn secrets(request: &Recorded) -> Vec<&str> {
    let values = request.headers.0.iter().map(|(_, value)| value.as_str());
    values.filter(|value| value.contains("client-key")).collect()
}

#[test]
fn named_explorer_uses_only_its_own_key() {
    let own_key = "key_env = \"SCOUT_KEY\"\n";
    for (extra, expected) in [(own_key, Some("Bearer scout-key")), ("", None), ("client_credentials = true\n", None)] {
        let (upstream, explorer) = (Upstream::start_with(in_words), Upstream::start_with(finds));
        let env = TestEnv::new(MUNINN);
        let scout = named(&explorer.url(), "").replace("retries = 0\n", &format!("retries = 0\n{extra}"));
        let mock = upstream.backend("mock");
        env.write_config(&format!("{mock}client_credentials = true\n[context]\ndeadline_ms = 20000\n{scout}"));
        let root = env.repository("demo", &FILES);
        let gateway = env.serve_with(&root, &[], |command| {
            command.env("SCOUT_KEY", "scout-key");
        });
        gateway.wait_ready();
        for target in TARGETS {
            let headers = [
                ("x-session-id", target),
                ("Authorization", "Bearer client-key"),
                ("x-api-key", "client-key"),
                ("Cookie", "session=client-key"),
                DEEP,
            ];
            let response = gateway.post(target, &headers, body(target, "m", &[QUESTION]).to_string().as_bytes());
            assert_eq!(response.status, 200, "{}", response.text());
        }
        assert_eq!(explorer.requests().len(), 6, "{extra}");
        for request in explorer.requests() {
            assert_eq!(request.headers.get("authorization"), expected, "{extra}");
            assert_eq!(secrets(&request), [""; 0], "{extra}: {:?}", request.headers);
            assert!(request.text().contains(r#""model":"scout-1""#), "{}", request.text());
        }
        let sent = upstream.requests();
        assert!(sent.len() == 3 && !sent.iter().any(explores), "the explorer alone explores");
        for request in sent {
            assert_eq!(request.headers.get("authorization"), Some("Bearer client-key"));
        }
    }
}

/// A key as `muninn key new` makes it: the key itself and the lines for the configuration.
fn new_key(env: &TestEnv, name: &str) -> (String, String) {
    let made = env.stdout_of(&env.path("home"), &["key", "new", name, "--json"]);
    let made: Value = serde_json::from_str(&made).unwrap();
    let text = |field: &str| made[field].as_str().unwrap().to_owned();
    (text("key"), text("toml"))
}

#[test]
fn key_without_access_to_the_explorers_backend_gets_no_exploration() {
    for mode in ["off", "inline", "background"] {
        let (upstream, explorer) = (Upstream::start_with(in_words), Upstream::start_with(finds));
        let env = TestEnv::new(MUNINN);
        let root = env.repository("demo", &FILES);
        let ((anas, ana), (bens, ben)) = (new_key(&env, "ana"), new_key(&env, "ben"));
        let keys = format!("{ana}{ben}backends = [\"mock\"]\n");
        let explore = named(&explorer.url(), &format!("mode = \"{mode}\""));
        env.connect_with(&upstream, &format!("{keys}{explore}"));
        let gateway = env.serve(&root, &[]);
        wait_until("a ready index", || {
            let health = gateway.request("GET", "/healthz", &[("x-muninn-key", &anas)], b"");
            (health.json()["index"]["state"] == "ready").then_some(())
        });
        let ask = |key: &str, session: &str, deep: bool| {
            let mut headers = vec![("x-muninn-key", key), ("x-session-id", session)];
            headers.extend(deep.then_some(DEEP));
            let body = body(TARGETS[0], "m", &[QUESTION]).to_string();
            let response = gateway.post(TARGETS[0], &headers, body.as_bytes());
            assert_eq!(response.status, 200, "{}", response.text());
            muninn_tests::why(&env, response.request_id())
        };
        for deep in [true, false] {
            let receipt = ask(&bens, &format!("ben {deep}"), deep);
            // The deep lane by header uses the backend that the key may use.
            let model = receipt["exploration"]["model"].as_str();
            let own = (deep || mode == "inline").then_some("mock/m");
            assert_eq!(model, own, "{mode}: {receipt}");
        }
        assert_eq!(explorer.requests().len(), 0, "{mode}");
        let receipt = ask(&anas, "ana", mode == "off");
        assert_eq!(explorer.wait_for(2).len(), 2, "{mode}: ana's, and no other");
        if mode != "background" {
            assert_eq!(receipt["exploration"]["model"], "scout/scout-1", "{mode}");
        }
    }
}

#[test]
fn repository_cannot_choose_the_explorer() {
    let deep = Deep::new("");
    let config = deep.root.join(".muninn/config.toml");
    std::fs::create_dir_all(config.parent().unwrap()).unwrap();
    std::fs::write(&config, "[explore]\nmode = \"inline\"\nbackend = \"scout\"\nmodel = \"big\"\n").unwrap();
    let root = deep.root.to_str().unwrap();
    let check = deep.env.run(&deep.root, &["config", "check", "--root", root]);
    let said = String::from_utf8_lossy(&check.stderr).into_owned();
    assert_eq!(check.status.code(), Some(3), "{said}");
    let gateway = deep.env.serve(&deep.root, &[]);
    gateway.wait_ready();
    let response = gateway.post(TARGETS[0], &[], body(TARGETS[0], "m", &[QUESTION]).to_string().as_bytes());
    assert_eq!(response.outcome(), "injected", "{}", response.text());
    assert!(deep.why(&response).get("exploration").is_none());
    assert!(deep.explorer.requests().is_empty());
    for said in [said, gateway.stop().stderr] {
        for words in ["`explore`", ".muninn/config.toml"] {
            assert!(said.contains(words), "no {words} in {said}");
        }
    }
}
