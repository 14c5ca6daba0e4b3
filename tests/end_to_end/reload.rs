//! SIGHUP: the configuration is reloaded completely or not at all, without effect on running requests.

use std::path::PathBuf;

use muninn_tests::http::stream;
use muninn_tests::{Gateway, TestEnv, Upstream};

use crate::MUNINN;
use crate::stage::{FILES, QUESTION, quoted};

const CHAT: &str = "/v1/chat/completions";
const IN_FORCE: &str = "the configuration was reloaded";
const STAYS: &str = "the previous configuration stays in force";

fn plain(words: &str) -> String {
    format!(r#"{{"model":"m","messages":[{{"role":"user","content":{}}}]}}"#, quoted(words))
}

fn start(env: &TestEnv, config: &str) -> (PathBuf, Gateway) {
    env.write_config(config);
    let root = env.repository("demo", &FILES);
    let gateway = env.serve(&root, &[]);
    (root, gateway)
}

#[test]
fn reload_applies_to_the_next_request() {
    let env = TestEnv::new(MUNINN);
    let (old, new) = (Upstream::start(), Upstream::start());
    let (_root, gateway) = start(&env, &old.backend("mock"));
    assert_eq!(gateway.post(CHAT, &[], plain("hi").as_bytes()).status, 200);
    assert_eq!((old.requests().len(), new.requests().len()), (1, 0));

    env.write_config(&new.backend("mock"));
    assert_eq!(gateway.post(CHAT, &[], plain("hi").as_bytes()).status, 200);
    assert_eq!(old.requests().len(), 2, "a file is not read again unasked");
    gateway.hang_up();
    gateway.wait_logged(IN_FORCE, 1);
    assert_eq!(gateway.post(CHAT, &[], plain("hi").as_bytes()).status, 200);
    assert_eq!((old.requests().len(), new.requests().len()), (2, 1));
}

#[test]
fn reload_applies_to_the_wiki() {
    let env = TestEnv::new(MUNINN);
    let upstream = Upstream::start();
    let (root, gateway) = start(&env, &upstream.backend("mock"));
    for (folder, text) in [(".muninn/knowledge", "alpha beta gamma"), ("docs", "delta delta epsilon")] {
        std::fs::create_dir_all(root.join(folder)).unwrap();
        std::fs::write(root.join(folder).join("page.md"), text).unwrap();
    }
    let terms = || -> Vec<String> {
        let digest = gateway.request("GET", "/api/digest", &[], b"").json();
        let terms = digest["cloud"].as_array().unwrap().iter();
        terms.map(|term| term["term"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(terms(), ["alpha", "alpha beta", "beta", "beta gamma", "gamma"]);
    let settings = "[wiki]\npath = \"docs\"\n[wiki.digest]\ncloud_size = 1\nstopwords_extra = [\"Delta\"]\n";
    env.write_config(&format!("{}{settings}", upstream.backend("mock")));
    gateway.hang_up();
    gateway.wait_logged(IN_FORCE, 1);
    assert_eq!(terms(), ["epsilon"]);
}

#[test]
fn invalid_file_changes_nothing_and_is_reported() {
    let env = TestEnv::new(MUNINN);
    let upstream = Upstream::start();
    let good = upstream.backend("mock");
    let (_root, gateway) = start(&env, &good);
    let wrong = [
        (format!("{good}[limits]\nbody_bites = 1\n"), "body_bites"),
        (format!("{good}[[routes]]\nmodel = \"*\"\nbackend = \"nowhere\"\n"), "routes[0].backend"),
        ("roots = [\"/there/is/no/such/place\"]\n".to_owned(), "roots"),
        (format!("{good}[wiki.digest]\nstopwords_extra = 7\n"), "expected a list"),
        (format!("{good}[wiki.digest]\ncloud_sise = 7\n"), "cloud_sise"),
        ("not toml".to_owned(), "line 1"),
    ];
    for (number, (text, said)) in wrong.iter().enumerate() {
        env.write_config(text);
        gateway.hang_up();
        gateway.wait_logged(STAYS, number + 1);
        let log = gateway.stderr();
        let line = log.lines().rfind(|line| line.contains(STAYS)).unwrap();
        assert!(line.contains("ERROR") && line.contains("muninn.toml") && line.contains(said), "{line}");
        assert_eq!(gateway.post(CHAT, &[], plain("hi").as_bytes()).status, 200, "{text}");
    }
    std::fs::remove_file(env.path("muninn.toml")).unwrap();
    gateway.hang_up();
    gateway.wait_logged(STAYS, wrong.len() + 1);
    assert_eq!(gateway.post(CHAT, &[], plain("hi").as_bytes()).status, 200, "the file is gone");
    assert_eq!(upstream.requests().len(), wrong.len() + 1);
    gateway.stop_cleanly();
}

#[test]
fn reload_does_not_affect_a_running_stream() {
    let env = TestEnv::new(MUNINN);
    let (old, control) = Upstream::start_scripted();
    let new = Upstream::start();
    let (_root, gateway) = start(&env, &old.backend("mock"));
    let body = r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}"#;
    control.head(200);
    control.send("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"one\"}}]}\n\n");
    let headers = [("content-type", "application/json")];
    let mut streaming = stream(gateway.address, "POST", CHAT, &headers, body.as_bytes());
    assert!(streaming.read_until("one").contains("one"));

    env.write_config(&new.backend("mock"));
    gateway.hang_up();
    gateway.wait_logged(IN_FORCE, 1);
    assert_eq!(gateway.post(CHAT, &[], plain("hi").as_bytes()).status, 200);
    assert_eq!(new.requests().len(), 1);
    control.send("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"two\"}}]}\n\n");
    assert!(streaming.read_until("two").contains("two"));
    control.send("data: [DONE]\n\n");
    control.finish();
    let rest = streaming.rest().unwrap();
    assert!(String::from_utf8_lossy(&rest).contains("[DONE]"));
}

#[test]
fn reload_applies_context_and_roots_and_names_fixed_settings() {
    let env = TestEnv::new(MUNINN);
    let upstream = Upstream::start();
    let patient = format!("{}[context]\ndeadline_ms = 20000\n", upstream.backend("mock"));
    let (root, gateway) = start(&env, &patient);
    gateway.wait_ready();
    let ask = |session: &str, repository: &str| {
        let headers = [("x-session-id", session), ("x-muninn-repo", repository)];
        let response = gateway.post(CHAT, &headers, plain(QUESTION).as_bytes());
        (response.outcome().to_owned(), muninn_tests::why(&env, response.request_id()))
    };
    let other = env.repository("other", &FILES);
    let (root, other) = (root.to_str().unwrap(), other.to_str().unwrap());
    assert_eq!(ask("a", root).0, "injected");
    assert_eq!(ask("b", other).0, "none");

    let roots = format!("listen = \"127.0.0.1:4799\"\nroots = [{other:?}]\n{patient}");
    env.write_config(&roots);
    gateway.hang_up();
    gateway.wait_logged(IN_FORCE, 1);
    let (outcome, receipt) = ask("c", other);
    assert!(outcome == "injected" || outcome == "partial", "{receipt}");
    assert_eq!(receipt["worktree"], other);

    env.write_config(&format!("{}[context]\nenabled = false\n[limits]\nledger_days = 3\n", upstream.backend("mock")));
    gateway.hang_up();
    gateway.wait_logged(IN_FORCE, 2);
    assert_eq!(ask("d", root).0, "off");
    assert_eq!(ask("e", other).0, "none", "and its worktree is closed again");
    gateway.wait_logged("limits.ledger_days stays 30 until a restart", 1);
}
