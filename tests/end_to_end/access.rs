//! Sharing one gateway: who gets in, what they get, and that a key goes no further.

use std::path::PathBuf;
use std::process::Command;

use muninn_tests::http::{self, Response};
use muninn_tests::{Gateway, Reply, Stopped, TestEnv, Upstream, answers, wait_until};
use serde_json::Value;

use crate::MUNINN;
use crate::stage::{FILES, QUESTION, error_message, simple};

const ANTHROPIC_KEY: &str = "sk-ant-api03-0000dummy0000dummy0000";

/// A key as `muninn key new` makes it: the key itself and the lines for the configuration.
struct Key {
    key: String,
    toml: String,
}

fn new_key(env: &TestEnv, name: &str) -> Key {
    let made: Value = serde_json::from_str(&env.stdout_of(&env.path("home"), &["key", "new", name, "--json"])).unwrap();
    let text = |field: &str| made[field].as_str().unwrap().to_owned();
    assert_eq!(text("name"), name);
    Key {
        key: text("key"),
        toml: text("toml"),
    }
}

impl Key {
    /// The `x-muninn-key` header with it.
    fn header(&self) -> (&str, &str) {
        ("x-muninn-key", &self.key)
    }
}

/// A gateway that is shared by the holders of some keys.
struct Shared {
    env: TestEnv,
    upstream: Upstream,
    root: PathBuf,
    gateway: Gateway,
    /// Without any restriction.
    ana: Key,
    /// As the test says.
    ben: Key,
}

impl Shared {
    fn new(bens: &str) -> Shared {
        Shared::with(Upstream::start(), bens)
    }

    /// `bens` are lines of ben's entry; `ROOT` in them is the served repository.
    fn with(upstream: Upstream, bens: &str) -> Shared {
        let env = TestEnv::new(MUNINN);
        let root = env.repository("demo", &FILES);
        let (ana, ben) = (new_key(&env, "ana"), new_key(&env, "ben"));
        let bens = bens.replace("ROOT", root.to_str().unwrap());
        env.connect_with(&upstream, &format!("{}{}{bens}\n", ana.toml, ben.toml));
        let gateway = env.serve(&root, &[]);
        Shared {
            env,
            upstream,
            root,
            gateway,
            ana,
            ben,
        }
    }

    fn wait_ready(&self) {
        wait_until("a ready index", || {
            let health = self.get("/healthz", &self.ana).json();
            (health["index"]["state"] == "ready").then_some(())
        });
    }

    fn get(&self, target: &str, key: &Key) -> Response {
        self.gateway.request("GET", target, &[key.header()], b"")
    }

    fn post(&self, target: &str, key: &Key, body: &str) -> Response {
        self.gateway.post(target, &[key.header()], body.as_bytes())
    }
}

/// An error's type and code, where the path's wire format has them.
fn kind(response: &Response) -> (String, Option<String>) {
    let error = response.json()["error"].clone();
    let text = |field: &str| error[field].as_str().map(str::to_owned);
    (text("type").unwrap(), text("code"))
}

#[test]
fn without_a_key_nothing_is_answered_but_that_it_lives() {
    let shared = Shared::new("");
    let before = shared.upstream.requests().len();
    let wrong = format!("muninn-{}", "0".repeat(64));
    for headers in [
        vec![],
        vec![("x-muninn-key", wrong.as_str())],
        vec![("x-muninn-key", "")],
        vec![("x-api-key", &wrong)],
        vec![("x-api-key", ANTHROPIC_KEY)],
        vec![("Authorization", "Bearer dummy")],
    ] {
        for (target, body) in simple(QUESTION) {
            let response = shared.gateway.post(target, &headers, body.as_bytes());
            assert_eq!(response.status, 401, "{target} {headers:?}");
            assert!(
                response
                    .headers
                    .get("www-authenticate")
                    .is_some_and(|value| value.starts_with("Bearer"))
            );
            let message = error_message(target, &response);
            assert!(!message.contains(&wrong), "{message}");
            let expected = if target == "/v1/messages" {
                ("authentication_error".to_owned(), None)
            } else {
                ("invalid_request_error".to_owned(), Some("invalid_api_key".to_owned()))
            };
            assert_eq!(kind(&response), expected);
        }
        for target in ["/v1/models", "/v1/files", "/metrics", "/", "/elsewhere"] {
            let response = shared.gateway.request("GET", target, &headers, b"");
            assert_eq!(response.status, 401, "{target} {headers:?}");
        }
        let health = shared.gateway.request("GET", "/healthz", &headers, b"");
        assert_eq!((health.status, health.text().as_str()), (200, r#"{"status":"ok"}"#));
    }
    assert_eq!(shared.upstream.requests().len(), before, "nothing reached the backend");
    assert_eq!(
        shared.get("/healthz", &shared.ana).json()["root"],
        shared.root.to_str().unwrap()
    );
    let large = vec![b' '; 3 << 20];
    assert_eq!(
        shared.gateway.post("/v1/messages", &[], &large).status,
        401,
        "also while it is still sent"
    );
}

#[test]
fn a_key_opens_from_each_place_and_reaches_no_backend() {
    // The backend that may have the client's own credential is the one that a key could slip through to.
    let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start());
    let root = env.repository("demo", &[]);
    let ana = new_key(&env, "ana");
    env.write_config(&format!(
        "{}client_credentials = true\n{}",
        upstream.backend("mock"),
        ana.toml
    ));
    let gateway = env.serve(&root, &[]);
    let bearer = format!("Bearer {}", ana.key);
    let cookie = format!("a=b; key={}", ana.key);
    for headers in [
        vec![("x-muninn-key", ana.key.as_str())],
        vec![("Authorization", &bearer)],
        vec![("x-api-key", &ana.key)],
        vec![
            ("x-muninn-key", &ana.key),
            ("Authorization", &bearer),
            ("x-api-key", &ana.key),
        ],
        vec![("x-muninn-key", &ana.key), ("Cookie", &cookie), ("x-else", &ana.key)],
    ] {
        for (target, body) in simple("hello") {
            assert_eq!(
                gateway.post(target, &headers, body.as_bytes()).status,
                200,
                "{headers:?}"
            );
        }
        assert_eq!(
            gateway.post("/v1/embeddings", &headers, br#"{"model":"m"}"#).status,
            200
        );
        assert_eq!(
            gateway.request("GET", "/v1/files", &headers, b"").status,
            404,
            "the backend's own"
        );
        assert_eq!(gateway.request("GET", "/v1/models", &headers, b"").status, 200);
    }
    let digits = &ana.key[7..40];
    for request in upstream.requests() {
        assert!(!format!("{request:?}").contains(digits), "{request:?}");
    }
    let in_address = format!("/v1/embeddings?key={}", ana.key);
    let response = gateway.post(&in_address, &[("x-muninn-key", &ana.key)], b"{}");
    assert_eq!(response.status, 400, "a key does not belong in an address");
    assert!(!response.text().contains(digits));
    // A vendor's credential travels beside it.
    let both = [("x-muninn-key", ana.key.as_str()), ("x-api-key", ANTHROPIC_KEY)];
    let (target, body) = &simple("hello")[1];
    assert_eq!(gateway.post(target, &both, body.as_bytes()).status, 200);
    assert_eq!(upstream.last().headers.get("x-api-key"), Some(ANTHROPIC_KEY));
    let stderr = gateway.stop().stderr;
    assert!(!stderr.contains(digits), "{stderr}");
}

#[test]
fn a_key_for_another_gateway_reaches_no_backend_either() {
    let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start());
    let root = env.repository("demo", &[]);
    let foreign = new_key(&env, "somebody").key;
    env.write_config(&format!("{}client_credentials = true\n", upstream.backend("mock")));
    let gateway = env.serve(&root, &[]);
    let bearer = format!("Bearer {foreign}");
    let piece = format!("Bearer {}", &foreign[..30]);
    for header in [
        ("x-muninn-key", foreign.as_str()),
        ("Authorization", &bearer),
        ("Authorization", &piece),
        ("x-api-key", &foreign),
        ("x-else", &foreign),
    ] {
        for (target, body) in simple("hello") {
            assert_eq!(
                gateway.post(target, &[header], body.as_bytes()).status,
                200,
                "{header:?}"
            );
        }
        assert_eq!(gateway.request("GET", "/v1/models", &[header], b"").status, 200);
    }
    for request in upstream.requests() {
        assert!(!format!("{request:?}").contains(&foreign[7..28]), "{request:?}");
    }
}

#[test]
fn a_key_that_is_held_to_models_gets_no_other() {
    let shared = Shared::new("models = [\"mock-1\", \"qwen*\"]");
    let with = |body: &str, model: &str| body.replacen("\"model\":\"m\"", model, 1);
    for (target, body) in simple(QUESTION) {
        for model in ["\"model\":\"mock-1\"", "\"model\":\"qwen3-coder\""] {
            assert_eq!(
                shared.post(target, &shared.ben, &with(&body, model)).status,
                200,
                "{model}"
            );
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
        assert_eq!(
            shared
                .post(target, &shared.ana, &with(&body, "\"model\":\"mock-2\""))
                .status,
            200
        );
    }
    for target in ["/v1/messages/count_tokens", "/v1/embeddings", "/v1/completions"] {
        assert_eq!(
            shared.post(target, &shared.ben, r#"{"model":"mock-1"}"#).status,
            200,
            "{target}"
        );
        for body in [
            r#"{"model":"mock-2"}"#,
            "{}",
            "",
            "[",
            r#"{"model":"mock-1","models":["mock-2"]}"#,
        ] {
            assert_eq!(shared.post(target, &shared.ben, body).status, 403, "{target} {body}");
        }
        assert_eq!(
            shared.post(target, &shared.ana, r#"{"model":"mock-2"}"#).status,
            200,
            "{target}"
        );
    }
    let listed = |key: &Key| {
        let list = shared.get("/v1/models", key).json();
        let models = list["data"].as_array().unwrap().iter();
        models
            .map(|model| model["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(listed(&shared.ben), ["mock-1"]);
    assert_eq!(listed(&shared.ana), ["mock-1", "mock-2", "muninn/context"]);
}

#[test]
fn a_restricted_key_gets_nothing_that_is_forwarded_unseen() {
    for restriction in ["models = [\"*\"]", "backends = [\"mock\"]", "roots = [\"ROOT\"]"] {
        let shared = Shared::new(restriction);
        let before = shared.upstream.requests().len();
        for (method, target) in [
            ("GET", "/v1/files"),
            ("POST", "/v1/batches"),
            ("GET", "/v1/embeddings"),
            ("POST", "/v1/embeddings/"),
            ("POST", "/v1//embeddings"),
            ("GET", "/v1/models/mock-2"),
            ("GET", "/v1/responses/resp_1"),
            ("DELETE", "/v1/chat/completions"),
        ] {
            let response = shared.gateway.request(method, target, &[shared.ben.header()], b"");
            assert_eq!(response.status, 403, "{restriction}: {method} {target}");
        }
        assert_eq!(shared.upstream.requests().len(), before, "{restriction}");
        assert_eq!(shared.get("/v1/files", &shared.ana).status, 404, "the backend's own");
        let (target, body) = &simple("hello")[0];
        assert_eq!(shared.post(target, &shared.ben, body).status, 200, "{restriction}");
    }
}

#[test]
fn a_key_that_is_held_to_backends_gets_no_other() {
    let (env, first, second) = (TestEnv::new(MUNINN), Upstream::start(), Upstream::start());
    let root = env.repository("demo", &[]);
    let ben = new_key(&env, "ben");
    let route = "[[routes]]\nmodel = \"second-*\"\nbackend = \"second\"\n";
    env.write_config(&format!(
        "{}{}{route}{}backends = [\"second\"]\n",
        first.backend("first"),
        second.backend("second"),
        ben.toml
    ));
    let gateway = env.serve(&root, &[]);
    for (target, body) in simple("hello") {
        assert_eq!(
            gateway.post(target, &[ben.header()], body.as_bytes()).status,
            403,
            "{target}"
        );
        let body = body.replace("\"m\"", "\"second-1\"");
        assert_eq!(
            gateway.post(target, &[ben.header()], body.as_bytes()).status,
            200,
            "{target}"
        );
    }
    let embeddings = |body: &[u8]| gateway.post("/v1/embeddings", &[ben.header()], body).status;
    assert_eq!(
        (embeddings(br#"{"model":"m"}"#), embeddings(br#"{"model":"second-1"}"#)),
        (403, 200)
    );
    assert!(first.requests().is_empty());
    let list = gateway.request("GET", "/v1/models", &[ben.header()], b"").json();
    let owners = list["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|model| model["owned_by"].clone());
    assert!(
        owners.clone().all(|owner| owner == "second" || owner == "muninn"),
        "{list}"
    );
}

#[test]
fn a_key_that_is_held_to_other_directories_sees_nothing_of_this_one() {
    let env = TestEnv::new(MUNINN);
    let upstream = Upstream::start();
    let (root, other) = (env.repository("demo", &FILES), env.repository("other", &[]));
    let (ana, ben) = (new_key(&env, "ana"), new_key(&env, "ben"));
    let keys = format!("{}{}roots = [{other:?}]\n", ana.toml, ben.toml);
    // A directory that is not served at all is a mistake in the configuration.
    env.connect_with(&upstream, &keys);
    let refused = env.run(&root, &["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(refused.status.code(), Some(3), "{refused:?}");
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("keys[1].roots"),
        "{refused:?}"
    );

    let config = std::fs::read_to_string(env.path("muninn.toml")).unwrap();
    env.write_config(&format!("roots = [{other:?}]\n{config}"));
    let gateway = env.serve(&root, &[]);
    let health = |key: &Key| gateway.request("GET", "/healthz", &[key.header()], b"").json();
    wait_until("a ready index", || {
        (health(&ana)["index"]["state"] == "ready").then_some(())
    });
    assert_eq!(health(&ben), serde_json::json!({"status": "ok"}));
    for (target, body) in simple(QUESTION) {
        // The three bodies say the same words, so each is a session of its own.
        let session = ("x-muninn-session", target);
        let response = gateway.post(target, &[ben.header(), session], body.as_bytes());
        assert_eq!((response.status, response.outcome()), (200, "none"), "{target}");
        assert_eq!(upstream.last().text(), body, "{target}: not a byte is added");
        let receipt = muninn_tests::why(&env, response.request_id());
        assert_eq!(receipt["key"], "ben");
        assert!(receipt["reason"].as_str().unwrap().contains("is not for"), "{receipt}");
        let context = body.replace("\"m\"", "\"muninn/context\"");
        let response = gateway.post(target, &[ben.header()], context.as_bytes());
        assert_eq!(response.status, 200);
        assert!(!response.text().contains("TokenBucket {"), "{}", response.text());
        // The same words by somebody else are another conversation, and get their block.
        let response = gateway.post(target, &[ana.header(), session], body.as_bytes());
        assert_eq!(response.outcome(), "injected", "{target}");
    }
}

#[test]
fn a_key_may_ask_so_often_in_a_minute() {
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
    assert_eq!(shared.get("/v1/models", &shared.ben).status, 429);
    // Looking at the gateway is not what the limit is for.
    let metrics = shared.get("/metrics", &shared.ben).text();
    assert!(
        metrics.contains(r#"muninn_refused_requests_total{key="ben",reason="rate_limited"} 4"#),
        "{metrics}"
    );
}

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
fn usage_is_told_by_key_while_it_runs_and_after() {
    let shared = Shared::with(Upstream::start_with(counting), "");
    shared.wait_ready();
    let [chat, messages, _] = simple(QUESTION);
    let streamed = chat.1.replacen('{', "{\"stream\":true,", 1);
    for (target, body) in [
        (chat.0, &streamed),
        (messages.0, &messages.1),
        (messages.0, &messages.1),
    ] {
        assert_eq!(shared.post(target, &shared.ana, body).status, 200);
    }
    assert_eq!(shared.post(messages.0, &shared.ben, &messages.1).status, 200);
    assert_eq!(shared.post(messages.0, &shared.ben, "{").status, 400);
    assert_eq!(
        shared.post("/v1/embeddings", &shared.ben, r#"{"model":"m"}"#).status,
        200
    );
    // A request is written down once its last byte is out, which the client may know before we do.
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
    assert!(
        metrics.contains(r#"muninn_context_outcomes_total{outcome="injected"}"#),
        "{metrics}"
    );
    for secret in ["TokenBucket", "rate_limiter", shared.ana.key.as_str(), "\"m\""] {
        assert!(!metrics.contains(secret), "{secret}: {metrics}");
    }
    let Shared {
        env,
        root,
        gateway,
        ana,
        ..
    } = shared;
    assert!(gateway.stop().status.success());

    let status: Value = serde_json::from_str(&env.stdout_of(&root, &["status", "--json"])).unwrap();
    let expected = serde_json::json!({"requests": 3, "input": 300, "output": 21, "cached": 270});
    assert_eq!(status["usage"][0]["key"], "ana", "{status}");
    assert_eq!(
        status["usage"][1]["all"]["requests"], 2,
        "ben's message and embedding: {status}"
    );
    for span in ["thirty_days", "all"] {
        assert_eq!(status["usage"][0][span], expected, "{span}");
    }
    let again = env.serve(&root, &[]);
    let response = again.post(messages.0, &[ana.header()], messages.1.as_bytes());
    assert_eq!(response.status, 200);
    assert!(again.stop().status.success());
    let said = env.stdout_of(&root, &["status"]);
    let all = said
        .lines()
        .find(|line| line.starts_with("ana") && line.contains("  all "))
        .unwrap();
    let numbers: Vec<_> = all.split_whitespace().collect();
    assert_eq!(numbers, ["ana", "all", "4", "400", "360", "28"], "{said}");
    assert!(!said.contains(&ana.key[7..]), "{said}");
}

#[test]
fn without_keys_metrics_are_as_open_as_everything_else() {
    let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start());
    env.connect(&upstream);
    let root = env.repository("demo", &[]);
    let gateway = env.serve(&root, &[]);
    let response = gateway.request("GET", "/metrics", &[], b"");
    assert_eq!(response.status, 200);
    assert!(response.headers.get("content-type").unwrap().contains("openmetrics"));
    assert!(response.text().contains("muninn_active_requests 0"));
    assert_eq!(
        gateway
            .request("GET", "/metrics", &[("Host", "evil.example")], b"")
            .status,
        403
    );
}

/// Starts `muninn serve` on all of this machine's addresses.
fn serve_openly(env: &TestEnv, root: &std::path::Path) -> Result<Gateway, Stopped> {
    let mut command: Command = env.muninn();
    command.args(["serve", "--listen", "0.0.0.0:0", "--root"]).arg(root);
    Gateway::spawn(command)
}

#[test]
fn other_machines_are_listened_to_with_keys_only_and_pages_never() {
    let env = TestEnv::new(MUNINN);
    let upstream = Upstream::start();
    let root = env.repository("demo", &[]);
    env.connect(&upstream);
    let stopped = serve_openly(&env, &root).err().unwrap();
    assert_eq!(stopped.status.code(), Some(3));
    assert!(stopped.stderr.contains("muninn key new"), "{}", stopped.stderr);

    let ana = new_key(&env, "ana");
    env.connect_with(&upstream, &ana.toml);
    let gateway = serve_openly(&env, &root).unwrap_or_else(|stopped| panic!("{stopped:?}"));
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], gateway.address.port()));
    let (target, body) = &simple("hello")[0];
    let ask = |headers: &[(&str, &str)]| http::request(address, "POST", target, headers, body.as_bytes()).status;
    let key = ana.header();
    assert_eq!(ask(&[key, ("Host", "muninn.internal:4747")]), 200);
    assert_eq!(ask(&[("Host", "muninn.internal:4747")]), 401);
    assert_eq!(
        ask(&[key, ("Host", "muninn.internal"), ("Origin", "https://evil.example")]),
        403
    );
    assert_eq!(ask(&[key, ("Host", "")]), 403);
}

#[test]
fn a_repository_sets_no_keys() {
    let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start());
    let ana = new_key(&env, "ana");
    env.connect(&upstream);
    let root = env.repository("demo", &[(".muninn/config.toml", &ana.toml)]);
    let gateway = env.serve(&root, &[]);
    let (target, body) = &simple("hello")[0];
    assert_eq!(gateway.post(target, &[], body.as_bytes()).status, 200);
    assert!(
        gateway.stderr().contains("`keys` may not be set by a repository"),
        "{}",
        gateway.stderr()
    );
}

#[test]
fn a_new_key_is_shown_once_and_its_lines_load() {
    let env = TestEnv::new(MUNINN);
    let home = env.path("home");
    let output = env.run(&home, &["key", "new", "Ana \"A\" Ek"]);
    assert!(output.status.success(), "{output:?}");
    let stdout = String::from_utf8(output.stdout).unwrap();
    let (key, toml) = stdout.split_once('\n').unwrap();
    assert!(key.starts_with("muninn-") && key.len() == 71, "{key}");
    assert!(!toml.contains(&key[7..]), "only the hash is kept");
    env.write_config(toml);
    let said = env.stdout_of(&home, &["config", "check"]);
    assert!(said.contains("Ana \"A\" Ek (not restricted)"), "{said}");
    // The configuration that waits for its first key is no obstacle to making it.
    env.write_config("listen = \"0.0.0.0:4747\"\n");
    assert!(env.run(&home, &["key", "new", "ben"]).status.success());
    assert_eq!(env.run(&home, &["key", "new", " "]).status.code(), Some(2));
    assert!(!env.state_dir().exists(), "nothing is kept");
}

#[test]
fn the_users_own_commands_need_no_key() {
    let shared = Shared::new("");
    let asked = shared.env.stdout_of(&shared.root, &["ask", "--json", QUESTION]);
    assert_eq!(serde_json::from_str::<Value>(&asked).unwrap()["answer"], "ok");
    shared.env.stdout_of(&shared.root, &["run", "--", "true"]);
}
