//! The wiki over HTTP.

use muninn_tests::http::Response;
use muninn_tests::{TestEnv, Upstream};
use serde_json::{Value, json};

use super::stage::{Key, Shared};
use crate::MUNINN;
use crate::stage::FILES;

fn request(shared: &Shared, key: &Key, method: &str, target: &str, headers: &[(&str, &str)], body: &Value) -> Response {
    let headers: Vec<_> = headers.iter().copied().chain([key.header()]).collect();
    let body = if body.is_null() { String::new() } else { body.to_string() };
    shared.gateway.request(method, target, &headers, body.as_bytes())
}

#[test]
fn pages_are_read_and_written_with_a_key() {
    let shared = Shared::new("roots = [\"/\"]\n");
    std::fs::create_dir_all(shared.root.join(".muninn/knowledge")).unwrap();
    let ask = |method: &str, target: &str, body: Value| {
        let response = request(&shared, &shared.ana, method, target, &[], &body);
        (response.status, response.json())
    };
    let created = ask("POST", "/api/wiki/pages/http/errors", json!({"content": "# Errors\nSee [[money]].\n"}));
    assert_eq!((created.0, &created.1["path"]), (201, &json!("http/errors")));
    let money = "/api/wiki/pages/gr%C3%B6%C3%9Fe/money";
    assert_eq!(ask("POST", money, json!({"content": "# Money\n"})).0, 201);
    assert_eq!(ask("POST", money, json!({"content": "x"})).0, 409);
    let page = ask("GET", money, Value::Null).1;
    assert_eq!((&page["path"], &page["backlinks"]), (&json!("größe/money"), &json!(["http/errors"])));
    let etag = format!("\"{}\"", page["etag"].as_str().unwrap());
    let update = |etag: &str| {
        let body = json!({"content": "# Money\nIntegers.\n"});
        request(&shared, &shared.ana, "PUT", money, &[("if-match", etag)], &body)
    };
    assert_eq!(update(&etag).status, 200);
    assert_eq!(ask("PUT", money, json!({"frontmatter": {"unit": "cent"}})).0, 200);
    assert_eq!(ask("GET", money, Value::Null).1["frontmatter"], json!({"unit": "cent"}));
    assert_eq!(ask("PUT", money, json!({"frontmatter": {"unit": null}})).0, 200);
    let refused = update(&etag);
    assert_eq!(refused.status, 412);
    assert!(refused.text().contains("was changed since it was read"));
    let moved = ask("POST", "/api/wiki/move", json!({"from": "größe/money", "to": "amounts"}));
    assert_eq!((moved.0, &moved.1["rewritten"]), (200, &json!(["http/errors"])));
    assert_eq!(ask("GET", "/api/wiki/search?query=integers&limit=5", Value::Null).1[0]["path"], "amounts");
    assert_eq!(ask("GET", "/api/wiki/backlinks/amounts", Value::Null).1[0]["path"], "http/errors");
    assert_eq!(ask("GET", "/api/wiki/pages?prefix=http/", Value::Null).1.as_array().unwrap().len(), 1);
    assert_eq!(ask("GET", "/api/wiki/context", Value::Null).1["page_count"], 2);
    let digest = ask("GET", "/api/digest", Value::Null).1;
    assert!(
        digest["markdown"].as_str().unwrap().contains("## Recently active\n- amounts: \"Money\"\n- http/errors\n"),
        "{digest}"
    );
    assert_eq!(ask("DELETE", "/api/wiki/pages/amounts", Value::Null).0, 200);
    let links = ask("GET", "/api/wiki/links", Value::Null).1;
    assert_eq!(links["broken"], json!([{"page": "http/errors", "target": "amounts"}]));
    for (method, target, body, status) in [
        ("GET", "/api/wiki/pages/gone", Value::Null, 404),
        ("GET", "/api/wiki/pages/nul", Value::Null, 400),
        ("POST", "/api/wiki/pages/x", json!({"text": "no content"}), 400),
        ("POST", "/api/wiki/pages/x", Value::Null, 400),
        ("POST", "/api/wiki/pages/%2e%2e/%2e%2e/x", json!({"content": ""}), 400),
        ("GET", "/api/wiki/search", Value::Null, 400),
        ("PUT", "/api/wiki/pages/http/errors", json!({}), 400),
        ("PUT", "/api/wiki/pages/http/errors", json!({"frontmatter": {"a: b": 1}}), 400),
    ] {
        let (found, answer) = ask(method, target, body);
        assert_eq!(found, status, "{method} {target}: {answer}");
    }
    let foreign =
        request(&shared, &shared.ana, "GET", "/api/digest", &[("origin", "https://evil.example")], &Value::Null);
    assert_eq!(foreign.status, 403, "web pages never pass");
}

#[test]
fn without_keys_the_users_programs_write_and_pages_do_not() {
    let env = TestEnv::new(MUNINN);
    let root = env.repository("demo", &FILES);
    std::fs::create_dir_all(root.join(".muninn/knowledge")).unwrap();
    std::fs::write(root.join(".muninn/knowledge/a.md"), "# A\n").unwrap();
    env.connect_with(&Upstream::start(), "");
    let gateway = env.serve(&root, &[]);
    assert_eq!(gateway.request("GET", "/api/wiki/pages/a", &[], b"").status, 200);
    let changes =
        [("PUT", "/api/wiki/pages/a", 200), ("POST", "/api/wiki/pages/b", 201), ("DELETE", "/api/wiki/pages/a", 200)];
    for (method, target, _) in changes {
        let page = [("Origin", "http://localhost:3000")];
        let refused = gateway.request(method, target, &page, br#"{"content": "x"}"#);
        assert_eq!(refused.status, 403, "{method}");
        assert!(refused.text().contains("muninn key new"), "{}", refused.text());
    }
    let file = root.join(".muninn/knowledge/a.md");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "# A\n");
    for (method, target, status) in changes {
        let changed = gateway.request(method, target, &[], br#"{"content": "x"}"#);
        assert_eq!(changed.status, status, "{method}: {}", changed.text());
    }
    assert!(!file.exists());
}

#[test]
fn key_for_another_repository_sees_no_page() {
    let shared = Shared::new("roots = [\"ROOT/src\"]\n");
    std::fs::create_dir_all(shared.root.join(".muninn/knowledge")).unwrap();
    let refused = request(&shared, &shared.ben, "GET", "/api/digest", &[], &Value::Null);
    assert_eq!(refused.status, 403);
}
