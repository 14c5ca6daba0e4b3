//! Personal memory belongs to one key.

use super::stage::{Key, new_key};
use crate::MUNINN;
use crate::stage::{FILES, QUESTION, simple};
use muninn_tests::{TestEnv, Upstream, wait_until};

#[test]
fn only_the_owners_key_gets_personal_memory() {
    let env = TestEnv::new(MUNINN);
    let upstream = Upstream::start();
    let root = env.repository("demo", &FILES);
    let (ana, ben) = (new_key(&env, "ana"), new_key(&env, "ben"));
    env.connect_with(&upstream, &format!("{}{}[personal]\nkey = \"ana\"\n", ana.toml, ben.toml));
    env.stdout_of(&root, &["personal", "init", "--name", "Ana"]);
    env.stdout_of(&root, &["personal", "log", "boat", "the mast has zanzibar varnish"]);
    let gateway = env.serve(&root, &[]);
    wait_until("a ready index", || {
        let health = gateway.request("GET", "/healthz", &[ana.header()], b"").json();
        (health["index"]["state"] == "ready").then_some(())
    });
    let ask = |key: &Key, question: &str| {
        let body =
            simple(question)[1].1.replacen('{', r#"{"tools":[{"name":"Read","input_schema":{"type":"object"}}],"#, 1);
        let response = gateway.post("/v1/messages", &[key.header()], body.as_bytes());
        assert_eq!(response.status, 200, "{}", response.text());
        (upstream.last().text(), muninn_tests::why(&env, response.request_id()).to_string())
    };
    let (sent, receipt) = ask(&ana, "Which varnish has the mast?");
    assert!(sent.contains("zanzibar") && sent.contains("Name: Ana"), "{sent}");
    assert!(receipt.contains("personal:journal/"), "{receipt}");
    for question in ["Which varnish has the mast?", QUESTION] {
        let (sent, receipt) = ask(&ben, question);
        assert_eq!(sent.contains("muninn-context"), question == QUESTION, "{sent}");
        assert!(!sent.contains("zanzibar") && !sent.contains("Name: Ana"), "{sent}");
        assert!(!receipt.contains("personal"), "{receipt}");
    }
    let call = |key: &Key| {
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_context","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25"}}}"#;
        let headers =
            [key.header(), ("accept", "application/json, text/event-stream"), ("content-type", "application/json")];
        gateway.post("/mcp", &headers, body.as_bytes()).text()
    };
    assert!(!call(&ben).contains("Name: Ana"), "{}", call(&ben));
}
