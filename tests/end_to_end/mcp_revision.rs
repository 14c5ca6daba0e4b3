//! The revision 2026-07-28 of the Model Context Protocol, and its Skills extension.

use serde_json::{Value, json};

use crate::mcp::over_http;
use crate::stage::{QUESTION, Stage};

/// A request of the revision 2026-07-28, with the headers that it asks for.
fn modern(stage: &Stage, version: &str, method: &str, params: &Value) -> (u16, Value) {
    let mut params = params.clone();
    params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}});
    let name = params["name"].as_str().or(params["uri"].as_str()).unwrap_or_default().to_owned();
    let mut headers = vec![("mcp-protocol-version", version), ("mcp-method", method)];
    if matches!(method, "tools/call" | "resources/read" | "prompts/get") {
        headers.push(("mcp-name", &name));
    }
    let request = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    let answer = over_http(stage, &headers, &request);
    (answer.status, answer.json())
}

#[test]
fn the_newest_revision_needs_no_handshake() {
    let stage = Stage::new();
    let newest = |method: &str, params: Value| modern(&stage, "2026-07-28", method, &params);
    let (status, discovered) = newest("server/discover", json!({}));
    let found = &discovered["result"];
    assert_eq!((status, &found["resultType"]), (200, &json!("complete")), "{discovered}");
    assert!(found["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")), "{discovered}");
    assert!(found["instructions"].as_str().unwrap().contains("find_context"), "{discovered}");
    assert_eq!(found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "muninn", "{discovered}");
    assert_eq!(found["capabilities"]["extensions"]["io.modelcontextprotocol/skills"], json!({}), "{discovered}");
    for method in
        ["server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list", "skills/list"]
    {
        let (status, answer) = newest(method, json!({}));
        assert_eq!((status, &answer["result"]["resultType"]), (200, &json!("complete")), "{method}: {answer}");
        assert!(answer["result"]["ttlMs"].is_u64() && answer["result"]["cacheScope"].is_string(), "{method}: {answer}");
    }
    let (status, called) = newest("tools/call", json!({"name": "find_context", "arguments": {"question": QUESTION}}));
    assert_eq!((status, &called["result"]["resultType"]), (200, &json!("complete")), "{called}");
    for (version, method, expected) in [
        ("1900-01-01", "tools/list", (400, -32022)),
        ("2026-07-28", "no/such", (404, -32601)),
        ("2026-07-28", "ping", (404, -32601)),
        ("2026-07-28", "logging/setLevel", (404, -32601)),
    ] {
        let (status, answer) = modern(&stage, version, method, &json!({}));
        assert_eq!((status, answer["error"]["code"].as_i64().unwrap()), expected, "{version} {method}: {answer}");
    }
    let missing = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {}});
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/list")];
    let answer = over_http(&stage, &headers, &missing);
    assert_eq!((answer.status, answer.json()["error"]["code"].as_i64()), (400, Some(-32602)), "{}", answer.text());
    let (_, unknown) = newest("resources/read", json!({"uri": "muninn://knowledge/none.md"}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
}

#[test]
fn skills_are_served_with_the_digests_of_their_texts() {
    let stage = Stage::new();
    let newest = |method: &str, params: Value| modern(&stage, "2026-07-28", method, &params).1;
    let listed = newest("skills/list", json!({}));
    let skills = listed["result"]["skills"].as_array().unwrap();
    let resources = newest("resources/list", json!({}))["result"]["resources"].as_array().unwrap().clone();
    let mut names = Vec::new();
    for skill in skills {
        let uri = skill["uri"].as_str().unwrap();
        let read = newest("resources/read", json!({"uri": uri}));
        let contents = &read["result"]["contents"][0];
        let text = contents["text"].as_str().unwrap();
        assert_eq!((&contents["mimeType"], &contents["uri"]), (&json!("text/markdown"), &json!(uri)));
        let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
        let hex: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        let file = json!({"uri": uri, "digest": format!("sha256:{hex}"), "size": text.len()});
        assert_eq!(skill["resources"], json!([file]));
        let name = skill["frontmatter"]["name"].as_str().unwrap();
        assert_eq!(uri, format!("skill://muninn/{name}/SKILL.md"));
        // Every key of the head, as it is written.
        let head = text.split("---").nth(1).unwrap().trim();
        assert_eq!(head.lines().count(), skill["frontmatter"].as_object().unwrap().len(), "{head}");
        for line in head.lines() {
            let (key, value) = line.split_once(": ").unwrap();
            assert_eq!(skill["frontmatter"][key], value.trim_matches('"'), "{key}");
        }
        assert_eq!(newest("skills/get", json!({"uri": uri}))["result"]["skill"], *skill);
        // A client that knows no skills finds the text too.
        assert!(resources.iter().any(|resource| resource["uri"] == uri), "{uri}");
        names.push(name.to_owned());
    }
    assert_eq!(names, ["recall", "settle", "why", "wiki"]);
    for uri in ["skill://muninn/none/SKILL.md", "skill://muninn/recall", "skill://../SKILL.md", ""] {
        assert_eq!(newest("skills/get", json!({"uri": uri}))["error"]["code"], -32602, "{uri}");
        assert_eq!(newest("resources/read", json!({"uri": uri}))["error"]["code"], -32602, "{uri}");
    }
}
