//! Access keys of a shared gateway: authentication, permissions, and that no key is forwarded.

mod doors;
mod personal;
mod restricted;
mod revoked;
mod stage;
mod usage;
mod websocket;
mod wiki_api;

use std::process::Command;

use muninn_tests::{Gateway, Stopped, TestEnv, Upstream, http};
use serde_json::Value;

use crate::MUNINN;
use crate::stage::{FILES, QUESTION, error_message, simple};
use stage::{Shared, kind, new_key};

const ANTHROPIC_KEY: &str = "sk-ant-api03-0000dummy0000dummy0000";

#[test]
fn without_a_key_only_liveness_is_answered() {
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
            assert_eq!(response.headers.get("x-should-retry"), Some("false"), "clients repeat a 401 without it");
            assert!(response.headers.get("www-authenticate").is_some_and(|value| value.starts_with("Bearer")));
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
    assert_eq!(shared.get("/healthz", &shared.ana).json()["root"], shared.root.to_str().unwrap());
    let renamed = [shared.ana.header(), ("Host", "evil.example")];
    let response = shared.gateway.request("GET", "/healthz", &renamed, b"");
    assert_eq!(response.status, 403, "on loopback other names stay refused, key or not");
    let large = vec![b' '; 3 << 20];
    assert_eq!(shared.gateway.post("/v1/messages", &[], &large).status, 401, "also while it is still sent");
}

#[test]
fn key_is_accepted_in_each_header_and_never_forwarded() {
    // This backend receives the client's own credentials, so a forwarded key would show here.
    let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start());
    let root = env.repository("demo", &[]);
    let ana = new_key(&env, "ana");
    env.write_config(&format!("{}client_credentials = true\n{}", upstream.backend("mock"), ana.toml));
    let gateway = env.serve(&root, &[]);
    let bearer = format!("Bearer {}", ana.key);
    let cookie = format!("a=b; key={}", ana.key);
    for headers in [
        vec![("x-muninn-key", ana.key.as_str())],
        vec![("Authorization", &bearer)],
        vec![("x-api-key", &ana.key)],
        vec![("x-muninn-key", &ana.key), ("Authorization", &bearer), ("x-api-key", &ana.key)],
        vec![("x-muninn-key", &ana.key), ("Cookie", &cookie), ("x-else", &ana.key)],
    ] {
        for (target, body) in simple("hello") {
            assert_eq!(gateway.post(target, &headers, body.as_bytes()).status, 200, "{headers:?}");
        }
        assert_eq!(gateway.post("/v1/embeddings", &headers, br#"{"model":"m"}"#).status, 200);
        assert_eq!(gateway.request("GET", "/v1/files", &headers, b"").status, 404, "the backend's own");
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
fn foreign_gateway_key_is_never_forwarded() {
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
            assert_eq!(gateway.post(target, &[header], body.as_bytes()).status, 200, "{header:?}");
        }
        assert_eq!(gateway.request("GET", "/v1/models", &[header], b"").status, 200);
    }
    for request in upstream.requests() {
        assert!(!format!("{request:?}").contains(&foreign[7..28]), "{request:?}");
    }
}

/// Starts `muninn serve` on all of this machine's addresses.
fn serve_openly(env: &TestEnv, root: &std::path::Path) -> Result<Gateway, Stopped> {
    let mut command: Command = env.muninn();
    command.args(["serve", "--listen", "0.0.0.0:0", "--root"]).arg(root);
    Gateway::spawn(command)
}

#[test]
fn remote_access_needs_keys_and_excludes_web_pages() {
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
    assert_eq!(ask(&[key, ("Host", "muninn.internal"), ("Origin", "https://evil.example")]), 403);
    assert_eq!(ask(&[key, ("Host", "")]), 403);
}

#[test]
fn repository_cannot_set_keys() {
    let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start());
    let ana = new_key(&env, "ana");
    env.connect(&upstream);
    let root = env.repository("demo", &[(".muninn/config.toml", &ana.toml)]);
    let gateway = env.serve(&root, &[]);
    let (target, body) = &simple("hello")[0];
    assert_eq!(gateway.post(target, &[], body.as_bytes()).status, 200);
    assert!(gateway.stderr().contains("`keys` may not be set by a repository"), "{}", gateway.stderr());
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
    // A configuration that requires keys but has none does not prevent `key new`.
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

#[test]
fn mcp_endpoint_needs_a_key_that_allows_the_repository() {
    let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start());
    let root = env.repository("demo", &FILES);
    let elsewhere = env.repository("other", &[]);
    let (ana, ben) = (new_key(&env, "ana"), new_key(&env, "ben"));
    let backend = upstream.backend("mock");
    env.write_config(&format!("roots = [{elsewhere:?}]\n{backend}{}{}roots = [{elsewhere:?}]\n", ana.toml, ben.toml));
    let gateway = env.serve(&root, &[]);
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"definition","arguments":{"name":"TokenBucket"}}}"#;
    let call = |key: &[(&str, &str)]| {
        let accepts = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
        let headers: Vec<_> = accepts.iter().chain(key).copied().collect();
        gateway.post("/mcp", &headers, body.as_bytes())
    };
    assert_eq!(call(&[]).status, 401);
    let found = call(&[ana.header()]);
    assert!(found.text().contains("src/rate_limiter.rs"), "{}", found.text());
    let refused = call(&[ben.header()]);
    assert_eq!(refused.json()["result"]["isError"], true, "{}", refused.text());
    assert!(refused.text().contains("does not allow"), "{}", refused.text());
    assert!(upstream.requests().is_empty(), "nothing was forwarded");
}

#[test]
fn a_wiki_outside_of_the_repository_is_for_keys_that_may_use_it_and_shows_no_secret() {
    let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start());
    let root = env.repository("demo", &FILES);
    let vault = env.path("vault");
    std::fs::create_dir_all(&vault).unwrap();
    let token = ["ghp_", "0123456789abcdefghijABCDEFGHIJ012345"].concat();
    let text = format!("# Access\nThe token of the mirror is {token}. {token} opens it.\n");
    for page in ["access", "b", "c", "d", "e", "f"] {
        std::fs::write(vault.join(format!("{page}.md")), &text).unwrap();
    }
    let vault = vault.canonicalize().unwrap();
    let [ana, ben, cleo] = ["ana", "ben", "cleo"].map(|name| new_key(&env, name));
    let wiki = format!("[wiki]\npath = {vault:?}\n");
    let keys = format!("{}{}roots = [{root:?}]\n{}roots = [{root:?}, {vault:?}]\n", ana.toml, ben.toml, cleo.toml);
    env.write_config(&format!("{wiki}[mcp]\ntools = [\"wiki\"]\n{}{keys}", upstream.backend("mock")));
    let gateway = env.serve(&root, &[]);
    let tool =
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_page","arguments":{"path":"access"}}}"#;
    for (key, may) in [(&ana, true), (&ben, false), (&cleo, true)] {
        let status = if may { 200 } else { 403 };
        for path in ["pages/access", "pages", "search?query=token", "links", "context", "backlinks/access"] {
            let response = gateway.request("GET", &format!("/api/wiki/{path}"), &[key.header()], b"");
            assert_eq!(response.status, status, "{path}: {}", response.text());
            assert!(!response.text().to_lowercase().contains("ghp_"), "{path}: {}", response.text());
        }
        let digest = gateway.request("GET", "/api/digest", &[key.header()], b"");
        assert_eq!(digest.status, status, "{}", digest.text());
        assert!(!digest.text().to_lowercase().contains("ghp_"), "{}", digest.text());
        let accepts = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
        let headers: Vec<_> = accepts.into_iter().chain([key.header()]).collect();
        let page = gateway.post("/mcp", &headers, tool.as_bytes()).text();
        assert_eq!(page.contains("The token of the mirror"), may, "{page}");
        assert_eq!(page.contains("does not allow"), !may, "{page}");
    }
}
