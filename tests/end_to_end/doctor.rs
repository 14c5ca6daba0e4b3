//! `muninn doctor`: findings, their fixes, and that no key is shown.

use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

use muninn_tests::{Recorded, Reply, TestEnv, Upstream};
use serde_json::Value;

use crate::MUNINN;
use crate::stage::FILES;

/// A server that speaks chat completions and messages, and knows one model.
fn speaks(request: &Recorded) -> Reply {
    match request.target.as_str() {
        "/v1/models" => Reply::json(200, r#"{"object":"list","data":[{"id":"mock-1","max_model_len":4096}]}"#),
        "/v1/chat/completions" | "/v1/messages" => Reply::json(400, r#"{"error":{"message":"model is missing"}}"#),
        _ => Reply::json(404, r#"{"error":{"message":"not found"}}"#),
    }
}

pub(crate) struct Report {
    code: Option<i32>,
    value: Value,
}

impl Report {
    pub(crate) fn of(env: &TestEnv, root: &Path) -> Report {
        Report::read(env.run(root, &["doctor", "--json"]))
    }

    /// Reads what `muninn doctor --json` printed.
    pub(crate) fn read(output: std::process::Output) -> Report {
        let text = String::from_utf8(output.stdout).unwrap();
        let value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        Report { code: output.status.code(), value }
    }

    pub(crate) fn value(&self) -> &Value {
        &self.value
    }

    /// State and words of the findings about something.
    pub(crate) fn about(&self, about: &str) -> Vec<(&str, &str)> {
        let findings = self.value["findings"].as_array().unwrap().iter();
        findings
            .filter(|finding| finding["about"] == about)
            .map(|finding| (finding["state"].as_str().unwrap(), finding["says"].as_str().unwrap()))
            .collect()
    }

    /// The words of the one finding about something, which must be in this state.
    pub(crate) fn only(&self, about: &str, state: &str) -> &str {
        let found = self.about(about);
        assert_eq!(found.len(), 1, "{about}: {}", self.value);
        assert_eq!(found[0].0, state, "{about}: {}", self.value);
        found[0].1
    }
}

/// A free port, so that the well-known default is not taken for granted.
fn any_port() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("listen = \"{}\"\n", listener.local_addr().unwrap())
}

#[test]
fn page_redirect_or_failure_is_no_model_server() {
    for (status, content_type, body, said) in [
        (200, "text/html", "<!doctype html><title>Sign in</title>", "200 OK, and no JSON"),
        (500, "text/plain", "", "answers each request with a failure of its own"),
        (302, "text/plain", "", "it redirects to another address"),
    ] {
        let (env, upstream) =
            (TestEnv::new(MUNINN), Upstream::start_with(move |_| Reply::new(status, content_type, body)));
        let root = env.repository("demo", &FILES);
        env.write_config(&format!("{}{}", any_port(), upstream.backend("mock")));
        let report = Report::of(&env, &root);
        assert_eq!(report.code, Some(1), "{}", report.value);
        let found = report.only("backend mock", "bad");
        assert!(found.contains(said), "{found}");
    }
}

#[test]
fn probe_asks_a_model_for_one_token() {
    for (answer, state, said) in [
        (
            r#"{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"p"}}]}"#,
            "ok",
            "mock-1 answers at ",
        ),
        (
            r#"{"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}"#,
            "bad",
            "insufficient balance (1008)",
        ),
    ] {
        let upstream = Upstream::start_with(move |request| {
            if request.text().contains("max_tokens") { Reply::json(200, answer) } else { speaks(request) }
        });
        let env = TestEnv::new(MUNINN);
        let root = env.repository("demo", &FILES);
        env.write_config(&format!("{}{}", any_port(), upstream.backend("mock")));
        assert!(
            Report::of(&env, &root).about("answer of mock").is_empty(),
            "nothing is asked unless the user wants it"
        );
        let report = Report::read(env.run(&root, &["doctor", "--json", "--probe"]));
        let found = report.only("answer of mock", state);
        assert!(found.contains(said), "{found}");
        let asked = upstream.requests().into_iter().filter(|request| request.text().contains("max_tokens"));
        let bodies: Vec<Value> = asked.map(|request| serde_json::from_slice(&request.body).unwrap()).collect();
        assert_eq!(bodies.len(), 1);
        assert_eq!((&bodies[0]["model"], &bodies[0]["max_tokens"]), (&"mock-1".into(), &1.into()));
    }
}

#[test]
fn healthy_installation_has_no_findings() {
    let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start_with(speaks));
    let root = env.repository("demo", &FILES);
    env.write_config(&format!("{}{}", any_port(), upstream.backend("mock")));
    env.stdout_of(&root, &["index"]);
    let report = Report::of(&env, &root);
    assert_eq!((report.code, &report.value["ok"]), (Some(0), &true.into()), "{}", report.value);
    let said = report.only("backend mock", "ok");
    assert!(said.contains("supports chat, messages;") && said.contains("mock-1 (4096 tokens)"), "{said}");
    assert!(report.only("repository", "ok").contains("on main"));
    report.only("git", "ok");
    report.only("index", "ok");
    report.only("state", "ok");
    report.only("initialised", "note");
    assert!(report.only("address", "ok").ends_with("is free"));
    let text = env.stdout_of(&root, &["doctor"]);
    assert!(text.contains("ok    backend mock") && text.ends_with("\nno problems found\n"), "{text}");
    assert!(!root.join(".muninn").exists(), "it changes nothing");
}

#[test]
fn each_finding_has_a_fix() {
    let env = TestEnv::new(MUNINN);
    let root = env.repository("demo", &FILES);
    let upstream = Upstream::start_with(speaks);
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    env.write_config(&format!(
        "listen = \"{}\"\n[[backends]]\nname = \"gone\"\nurl = \"http://{gone}\"\ndialect = \"openai\"\n\
         [[backends]]\nname = \"other\"\nurl = \"{}\"\ndialect = \"openai\"\ndefault_model = \"nope\"\n\
         [[backends]]\nname = \"nothing\"\nurl = \"{}/v2\"\ndialect = \"openai\"\n",
        taken.local_addr().unwrap(),
        upstream.url(),
        upstream.url()
    ));
    // The process on this port never answers.
    let started = Instant::now();
    let report = Report::of(&env, &root);
    assert!(started.elapsed() < Duration::from_secs(15), "questions are bounded");
    assert_eq!((report.code, &report.value["ok"]), (Some(1), &false.into()), "{}", report.value);
    assert!(report.only("backend gone", "bad").contains("does not answer"));
    assert!(report.only("backend nothing", "bad").contains("none of our formats"));
    assert!(report.only("address", "bad").contains("another program"));
    let other = report.about("backend other");
    assert_eq!(other.len(), 2, "{other:?}");
    assert!(other[1].0 == "bad" && other[1].1.contains("`default_model` nope"), "{other:?}");
    for finding in report.value["findings"].as_array().unwrap() {
        let to_do = finding["do"].as_str().unwrap_or_default();
        assert_eq!(finding["state"] == "bad", !to_do.is_empty(), "{finding}");
    }
    let text = String::from_utf8(env.run(&root, &["doctor"]).stdout).unwrap();
    assert!(text.contains("-> start it, or correct its `url`") && text.contains("problems found"), "{text}");
}

#[test]
fn doctor_sends_the_backends_key_and_reports_a_refusal() {
    let env = TestEnv::new(MUNINN);
    let root = env.repository("demo", &FILES);
    let upstream = Upstream::start_with(|request| match request.headers.get("authorization") {
        Some("Bearer dummy-right") => speaks(request),
        _ => Reply::json(401, r#"{"error":{"message":"no"}}"#),
    });
    let key = env.path("key");
    env.write_config(&format!("{}{}key_file = {key:?}\n", any_port(), upstream.backend("mock")));
    std::fs::write(&key, "dummy-right\n").unwrap();
    let report = Report::of(&env, &root);
    report.only("backend mock", "ok");
    std::fs::write(&key, "dummy-wrong\n").unwrap();
    let report = Report::of(&env, &root);
    assert!(report.only("backend mock", "bad").contains("refuses its key"));
    assert!(!report.value.to_string().contains("dummy-wrong"));
    for request in upstream.requests() {
        let sent = request.headers.get("authorization");
        // Only the question for the models needs it.
        assert_eq!(sent.is_some(), request.method == "GET", "{}: {sent:?}", request.target);
    }
}

#[test]
fn doctor_finds_a_running_gateway() {
    let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start_with(speaks));
    env.write_config(&upstream.backend("mock"));
    let root = env.repository("demo", &FILES);
    let gateway = env.serve(&root, &[]);
    env.write_config(&format!("listen = \"{}\"\n{}", gateway.address, upstream.backend("mock")));
    let report = Report::of(&env, &root);
    assert!(report.only("address", "ok").starts_with("a Muninn "), "{}", report.value);
}

#[test]
fn wrong_file_or_directory_is_a_finding() {
    let env = TestEnv::new(MUNINN);
    env.write_config("listn = \"127.0.0.1:1\"\n");
    let report = Report::of(&env, &env.path("home"));
    assert_eq!(report.code, Some(1));
    assert!(report.only("configuration", "bad").contains("Did you mean `listen`?"));
    assert!(report.only("repository", "bad").contains("not inside a git repository"));
}
