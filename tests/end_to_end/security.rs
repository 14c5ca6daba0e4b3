//! Allowed hosts, credentials, and secrets on disk and in logs.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use muninn_tests::{Gateway, Reply, TestEnv, Upstream, answers};

use crate::MUNINN;
use crate::stage::{FILES, QUESTION, Stage, error_message, simple};

const ANTHROPIC_KEY: &str = "sk-ant-api03-0000dummy0000dummy0000";
const OPENAI_KEY: &str = "sk-proj-0000dummy0000dummy0000";

#[test]
fn configured_hosts_are_answered_but_not_their_web_pages() {
    let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start());
    env.write_config(&format!(
        "allowed_hosts = [\"muninn.example:8443\", \"*.internal\"]\n{}",
        upstream.backend("mock")
    ));
    let root = env.repository("demo", &[]);
    let gateway = env.serve(&root, &[]);
    for target in ["/healthz", "/v1/models"] {
        for (host, status) in [
            ("muninn.example:8443", 200),
            ("Muninn.Internal", 200),
            ("a.b.internal:80", 200),
            ("muninn.example", 403),
            ("internal", 403),
            ("muninn.internal.evil.example", 403),
        ] {
            let response = gateway.request("GET", target, &[("Host", host)], b"");
            assert_eq!(response.status, status, "{target} {host}");
        }
        let page = [("Host", "muninn.internal"), ("Origin", "https://muninn.internal")];
        assert_eq!(gateway.request("GET", target, &page, b"").status, 403);
    }
    env.write_config("allowed_hosts = [\"*\"]\n");
    let output = env.run(&root, &["config", "check"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("allowed_hosts"), "{said}");
}

#[test]
fn foreign_hosts_and_origins_are_refused() {
    let stage = Stage::with(Upstream::start(), "");
    let own = stage.gateway.address.to_string();
    let port = stage.gateway.address.port();
    for (headers, status) in [
        (vec![("Host", "evil.example")], 403),
        (vec![("Host", "127.0.0.1.evil.example:4747")], 403),
        (vec![("Host", "localhost.evil.example")], 403),
        (vec![("Host", "10.0.0.1:4747")], 403),
        (vec![("Host", "")], 403),
        (vec![("Origin", "https://evil.example")], 403),
        (vec![("Origin", "null")], 403),
        (vec![("Origin", "http://127.0.0.1.evil.example")], 403),
        (vec![("Host", own.as_str()), ("Host", "evil.example")], 400),
        (vec![("Host", own.as_str())], 200),
        (vec![("Host", "localhost:1")], 200),
        (vec![("Host", "[::1]:4747")], 200),
        (vec![("Origin", "http://localhost:3000")], 200),
        (vec![("Origin", "http://localhost:3000"), ("Origin", "https://evil.example")], 403),
        (vec![("Sec-Fetch-Site", "cross-site")], 403),
        (vec![("Sec-Fetch-Site", "same-site")], 403),
        (vec![("Sec-Fetch-Site", "none")], 200),
        (vec![("Sec-Fetch-Site", "cross-site"), ("Origin", "http://localhost:3000")], 200),
    ] {
        for (target, body) in simple("hello") {
            let before = stage.upstream.requests().len();
            let response = stage.gateway.post(target, &headers, body.as_bytes());
            if status == 400 {
                // Two Host headers are ambiguous: neither a 200 nor a request at the backend is allowed.
                assert!([400, 403].contains(&response.status), "{headers:?}: {}", response.status);
            } else {
                assert_eq!(response.status, status, "{headers:?}: {}", response.text());
            }
            if response.status != 200 {
                assert_eq!(stage.upstream.requests().len(), before, "{headers:?}");
            }
            if response.status == 403 {
                error_message(target, &response);
            }
        }
    }
    for target in ["/healthz", "/v1/models", "/", "/v1/files"] {
        assert_eq!(stage.gateway.request("GET", target, &[("Host", "evil.example")], b"").status, 403, "{target}");
    }
    let absolute = format!("http://evil.example:{port}/v1/models");
    let response = stage.gateway.request("GET", &absolute, &[("Host", "evil.example")], b"");
    assert_eq!(response.status, 403);
}

#[test]
fn gateway_never_listens_beyond_loopback_without_keys() {
    let env = TestEnv::new(MUNINN);
    let root = env.repository("demo", &[]);
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let output = env.run(&root, &["serve", "--listen", address]);
        assert_eq!(output.status.code(), Some(3), "{address}: {output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("only loopback"), "{output:?}");
        assert!(output.stdout.is_empty());
    }
    let mut command = env.muninn();
    command.args(["serve"]).env("MUNINN_LISTEN", "0.0.0.0:0").current_dir(&root);
    assert_eq!(muninn_tests::output(command).status.code(), Some(3));
    env.write_config("listen = \"0.0.0.0:4747\"\n");
    assert_eq!(env.run(&root, &["serve"]).status.code(), Some(3));
}

#[test]
fn configured_backend_gets_only_its_configured_credentials() {
    let client = [
        ("x-muninn-key", "mk-0000"),
        ("Authorization", "Bearer clients-own"),
        ("x-api-key", ANTHROPIC_KEY),
        ("Cookie", "session=1"),
        ("OpenAI-Organization", "org-1"),
    ];
    let names = ["authorization", "x-api-key", "cookie", "openai-organization"];
    let recorded = |more: &str| {
        let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start());
        let key = env.path("key");
        std::fs::write(&key, "own-key\n").unwrap();
        env.write_config(&format!("{}{}", upstream.backend("mock"), more.replace("KEY", key.to_str().unwrap())));
        let root = env.repository("demo", &[]);
        let gateway = env.serve(&root, &[]);
        assert_eq!(gateway.post("/v1/chat/completions", &client, br#"{"messages":[]}"#).status, 200);
        assert_eq!(gateway.post("/v1/embeddings", &client, br#"{"model":"m"}"#).status, 200);
        assert_eq!(gateway.request("GET", "/v1/models", &client, b"").status, 200);
        let recorded = upstream.requests();
        assert_eq!(recorded.len(), 3);
        recorded
    };
    for request in recorded("") {
        for name in names.iter().chain(&["x-muninn-key"]) {
            assert_eq!(request.headers.get(name), None, "{}: {name}", request.target);
        }
    }
    for request in recorded("client_credentials = true\n") {
        assert_eq!(request.headers.all("authorization"), ["Bearer clients-own"], "{}", request.target);
        assert_eq!(request.headers.all("x-api-key"), [ANTHROPIC_KEY]);
        assert_eq!(request.headers.get("x-muninn-key"), None);
    }
    for request in recorded("key_file = \"KEY\"\n") {
        assert_eq!(request.headers.all("authorization"), ["Bearer own-key"], "{}", request.target);
        assert_eq!(request.headers.get("x-api-key"), None);
        assert_eq!(request.headers.get("cookie"), None);
    }
}

/// A gateway without any configuration whose way out is a proxy that records what it is asked to connect to.
fn behind_a_proxy(env: &TestEnv, root: &Path, proxy: &Upstream) -> Gateway {
    env.serve_with(root, &[], |command| {
        command.env("HTTPS_PROXY", proxy.url()).env("https_proxy", proxy.url());
    })
}

#[test]
fn vendor_key_routes_to_its_vendor_only() {
    let env = TestEnv::new(MUNINN);
    let root = env.repository("demo", &[]);
    let proxy = Upstream::start_with(|_| Reply::json(502, ""));
    let gateway = behind_a_proxy(&env, &root, &proxy);
    let bearer = |key: &str| format!("Bearer {key}");
    let (anthropic, openai) = (bearer(ANTHROPIC_KEY), bearer(OPENAI_KEY));
    let [chat, messages, responses] = simple("hello");
    for ((target, body), header, key, goes_to) in [
        (&messages, "x-api-key", ANTHROPIC_KEY, Some("api.anthropic.com:443")),
        (&messages, "authorization", &anthropic, Some("api.anthropic.com:443")),
        (&chat, "authorization", &openai, Some("api.openai.com:443")),
        (&responses, "authorization", &openai, Some("api.openai.com:443")),
        (&messages, "authorization", &openai, None),
        (&messages, "x-api-key", OPENAI_KEY, None),
        (&chat, "authorization", &anthropic, None),
        (&messages, "x-api-key", "dummy", None),
        (&chat, "authorization", "Bearer dummy", None),
        (&chat, "authorization", "Bearer sk-short", None),
        (&chat, "x-other", "1", None),
    ] {
        let before = proxy.requests().len();
        let response = gateway.post(target, &[(header, key)], body.as_bytes());
        let asked = proxy.requests().split_off(before);
        let message = error_message(target, &response);
        match goes_to {
            Some(host) => {
                assert_eq!(response.status, 502, "{header}: {key}");
                assert!(!asked.is_empty(), "{header}: {key}");
                for request in asked {
                    assert_eq!((request.method.as_str(), request.target.as_str()), ("CONNECT", host), "{key}");
                    assert!(!format!("{:?}", request.headers).contains(key), "a proxy is told no key");
                }
            }
            None => {
                assert_eq!(response.status, 503, "{target} {header}: {key}: {message}");
                assert!(asked.is_empty(), "{asked:?}");
                assert!(message.contains("no model is connected") && message.contains("[[backends]]"), "{message}");
            }
        }
        assert!(!message.contains(key) || key.len() < 2, "{message}");
    }
    assert!(!gateway.stderr().contains("dummy"), "{}", gateway.stderr());
}

/// A gateway that looks for model servers on these ports.
fn discovering(env: &TestEnv, ports: &[u16]) -> Gateway {
    env.write_config(&format!("[test]\ndiscovery_ports = {ports:?}\n"));
    let root = env.repository("demo", &[]);
    env.serve_with(&root, &[], |command| {
        command.env_remove("MUNINN_DISCOVER");
    })
}

#[test]
fn discovered_server_never_gets_a_credential() {
    let env = TestEnv::new(MUNINN);
    let server = Upstream::start();
    let gateway = discovering(&env, &[server.address.port()]);
    let credentials = [
        ("Authorization", "Bearer dummy-key"),
        ("x-api-key", "dummy-key"),
        ("api-key", "dummy-key"),
        ("Cookie", "dummy-key"),
        ("x-muninn-key", "dummy-key"),
    ];
    for (target, body) in simple("hello") {
        let response = gateway.post(target, &credentials, body.as_bytes());
        assert_eq!(response.status, 200, "{target}: {}", response.text());
    }
    assert_eq!(gateway.request("GET", "/v1/models", &credentials, b"").status, 200);
    let requests = server.requests();
    assert!(requests.len() >= 5, "the probe, three requests, and the list");
    for request in requests {
        assert!(!format!("{request:?}").contains("dummy-key"), "{request:?}");
    }
}

#[test]
fn vendor_key_is_never_sent_to_a_discovered_server() {
    let env = TestEnv::new(MUNINN);
    let server = Upstream::start();
    let gateway = discovering(&env, &[server.address.port()]);
    // A key in a request of the other vendor's format: the request may go to the local server, the key may not.
    for (target, body) in [&simple("hello")[0], &simple("hello")[2]] {
        let response = gateway.post(target, &[("x-api-key", ANTHROPIC_KEY)], body.as_bytes());
        assert_eq!(response.status, 200, "{}", response.text());
    }
    for request in server.requests() {
        assert!(!format!("{request:?}").contains("sk-ant"), "{request:?}");
    }
}

#[test]
fn server_with_malformed_answers_is_not_discovered() {
    for models in [
        "hello",
        "{}",
        r#"{"data":[]}"#,
        r#"{"data":"x"}"#,
        r#"{"models":[{"name":"m"}]}"#,
        r#"{"data":[{"name":"no id"}]}"#,
        r#"{"data":[{"id":"muninn/context"}]}"#,
    ] {
        let env = TestEnv::new(MUNINN);
        let server = Upstream::start_with(move |request| match request.method.as_str() {
            "GET" => Reply::json(200, models),
            _ => answers::ok(request),
        });
        let gateway = discovering(&env, &[server.address.port()]);
        let (target, body) = &simple("hello")[0];
        let response = gateway.post(target, &[], body.as_bytes());
        assert_eq!(response.status, 503, "{models}");
        let message = error_message(target, &response);
        assert!(message.contains(&server.address.port().to_string()), "it says where it looked: {message}");
        assert!(server.requests().iter().all(|request| request.method == "GET"), "{models}");
    }
}

#[test]
fn discovery_is_off_once_a_backend_is_configured() {
    let (env, configured, other) = (TestEnv::new(MUNINN), Upstream::start(), Upstream::start());
    env.connect_with(&configured, &format!("[test]\ndiscovery_ports = [{}]\n", other.address.port()));
    let root = env.repository("demo", &[]);
    let gateway = env.serve_with(&root, &[], |command| {
        command.env_remove("MUNINN_DISCOVER");
    });
    for (target, body) in simple("hello") {
        let response = gateway.post(target, &[("x-api-key", ANTHROPIC_KEY)], body.as_bytes());
        assert_eq!(response.status, 200);
    }
    assert!(other.requests().is_empty());
}

#[test]
fn logs_hold_no_key_or_prompt_and_state_is_private() {
    let canary = "Xylophone-canary";
    let token = "ghp_0123456789abcdefghijABCDEFGHIJ0123";
    let stage = Stage::new();
    let question = format!("{QUESTION} {canary} {token}");
    let headers = [("Authorization", OPENAI_KEY), ("x-api-key", ANTHROPIC_KEY), ("x-muninn-key", "mk-dummy-0000")];
    for (target, body) in simple(&question) {
        let response = stage.ask(target, &headers, &body);
        let receipt = stage.why(&response).to_string();
        assert!(!receipt.contains(token), "{receipt}");
        drop(stage.gateway.post(target, &headers, format!("{{\"{canary}").as_bytes()));
    }
    drop(stage.gateway.request("GET", &format!("/{canary}"), &headers, b""));
    for entry in std::fs::read_dir(stage.env.state_dir()).unwrap() {
        let path = entry.unwrap().path();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        if path.is_dir() {
            // The directory of the socket.
            assert_eq!(mode, 0o700, "{}", path.display());
            continue;
        }
        assert_eq!(mode, 0o600, "{}", path.display());
        let bytes = std::fs::read(&path).unwrap();
        for secret in [token, OPENAI_KEY, ANTHROPIC_KEY, "mk-dummy"] {
            assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()), "{}", path.display());
        }
    }
    let mode = std::fs::metadata(stage.env.state_dir()).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o700, "the state directory");
    let stderr = stage.gateway.stop().stderr;
    assert!(stderr.contains("outcome="), "one line for each request: {stderr}");
    for secret in [canary, "TokenBucket", token, "sk-proj", "sk-ant", "mk-dummy", FILES[0].0] {
        assert!(!stderr.contains(secret), "{secret}: {stderr}");
    }
}
