//! The Model Context Protocol, as clients speak it: on the standard streams and over HTTP.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use muninn_tests::{TestEnv, wait_until};
use serde_json::{Value, json};

use crate::MUNINN;
use crate::stage::{FILES, QUESTION, Stage};

/// A client of `muninn mcp`. The server ends when it is dropped.
pub(crate) struct Client {
    server: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    requests: u64,
}

impl Client {
    /// Starts the server in a directory, and greets it.
    pub(crate) fn start(env: &TestEnv, root: &Path, adjust: impl FnOnce(&mut Command)) -> Client {
        let mut client = Client::silent(env, root, adjust);
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
        assert_eq!(client.request("initialize", &hello)["result"]["serverInfo"]["name"], "muninn");
        client.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        client
    }

    fn silent(env: &TestEnv, root: &Path, adjust: impl FnOnce(&mut Command)) -> Client {
        let mut command = env.muninn();
        command.arg("mcp").current_dir(root);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        adjust(&mut command);
        let mut server = command.spawn().unwrap();
        Client {
            input: server.stdin.take(),
            output: BufReader::new(server.stdout.take().unwrap()),
            server,
            requests: 0,
        }
    }

    fn line(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
        input.flush().unwrap();
    }

    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    pub(crate) fn request(&mut self, method: &str, parameters: &Value) -> Value {
        self.requests += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.requests, "method": method, "params": parameters});
        self.line(&request.to_string());
        let answer = self.answer();
        assert_eq!(answer["id"], self.requests, "{answer}");
        answer
    }

    /// The result of a call, and its text.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> (Value, String) {
        let answer = self.request("tools/call", &json!({"name": tool, "arguments": arguments}));
        let text = answer["result"]["content"][0]["text"].as_str();
        let text = text.unwrap_or_else(|| panic!("{answer}")).to_owned();
        (answer["result"].clone(), text)
    }

    /// The server's process.
    #[cfg(target_os = "linux")]
    pub(crate) fn id(&self) -> u32 {
        self.server.id()
    }

    /// Begins a call, whose answer nobody reads.
    #[cfg(target_os = "linux")]
    pub(crate) fn begin(&mut self, tool: &str, arguments: &Value) {
        let parameters = json!({"name": tool, "arguments": arguments});
        self.line(&json!({"jsonrpc": "2.0", "id": 0, "method": "tools/call", "params": parameters}).to_string());
    }

    /// Leaves, and returns whether the server ended well.
    pub(crate) fn leave(mut self) -> bool {
        self.input = None;
        self.server.wait().unwrap().success()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.server.kill().ok();
        self.server.wait().ok();
    }
}

/// The server opens the repository itself. `mcp_daemon` has the tests with a daemon.
pub(crate) const ALONE: &str = "[hooks]\ndaemon_idle_minutes = 0\n";

fn demo() -> (TestEnv, std::path::PathBuf) {
    let env = TestEnv::new(MUNINN);
    env.write_config(ALONE);
    let root = env.repository("demo", &FILES);
    (env, root)
}

#[test]
fn client_finds_context_and_its_receipt() {
    let (env, root) = demo();
    let mut client = Client::start(&env, &root, |_| {});
    let (result, text) = client.call("find_context", &json!({"question": QUESTION}));
    assert_eq!(result["isError"], false);
    assert!(result.get("structuredContent").is_none(), "prose is text only");
    assert!(text.contains("src/rate_limiter.rs") && text.contains("pub fn refill"), "{text}");
    let id = text.lines().next().unwrap().strip_prefix("receipt ").unwrap().to_owned();
    let address = format!("muninn://receipt/{id}");
    let read = client.request("resources/read", &json!({"uri": address}));
    let receipt: Value = serde_json::from_str(read["result"]["contents"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!((&receipt["id"], &receipt["format"], &receipt["model"]), (&json!(id), &json!("mcp"), &json!("test")));
    assert_eq!(receipt["outcome"], "injected");
    assert!(client.leave());
    let why: Value = serde_json::from_str(&env.stdout_of(&root, &["why", &id, "--json"])).unwrap();
    assert_eq!(why["items"], receipt["items"]);
}

#[test]
fn question_about_something_else_gets_the_reason() {
    let (env, root) = demo();
    let mut client = Client::start(&env, &root, |_| {});
    let (result, text) = client.call("find_context", &json!({"question": "what is the capital of France"}));
    assert_eq!(result["isError"], false);
    assert!(text.contains("below the threshold") && !text.contains("###"), "{text}");
}

#[test]
fn memory_belongs_to_the_clients_session_and_is_redacted() {
    let (env, root) = demo();
    env.write_config(&format!("{ALONE}[memory]\nwrite = \"repo\"\n"));
    env.stdout_of(&root, &["init"]);
    let key = format!("sk-ant-api03-{}", "Ab3dEf9hIj".repeat(9));
    let mut client = Client::start(&env, &root, |command| {
        command.env("CLAUDE_CODE_SESSION_ID", "session-of-claude");
    });
    let fact = format!("Refills are lazy: TokenBucket counts on take. The key is {key}.");
    let (kept, _) = client.call("remember", &json!({"text": fact, "file": "src/rate_limiter.rs"}));
    assert_eq!(kept["structuredContent"]["redacted"], true, "{kept}");
    let (found, text) = client.call("recall", &json!({"query": "lazy refills"}));
    let memory = &found["structuredContent"]["memories"][0];
    assert_eq!(memory["id"], kept["structuredContent"]["id"]);
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), found["structuredContent"], "the same in both forms");
    assert!(!text.contains(&key) && memory.get("conflict").is_none(), "{text}");
    // The session's id is ours; a second process of the same session shares it.
    let session = memory["session"].as_str().unwrap().to_owned();
    drop(client);
    let mut again = Client::start(&env, &root, |command| {
        command.env("CLAUDE_CODE_SESSION_ID", "session-of-claude");
    });
    again.call("remember", &json!({"text": "Buckets start full."}));
    let (found, _) = again.call("recall", &json!({"query": "buckets start full"}));
    assert_eq!(found["structuredContent"]["memories"][0]["session"], json!(session));
    assert!(again.leave());
    assert_eq!(env.git(&root, &["log", "--oneline"]).lines().count(), 1, "nothing is committed");
}

#[test]
fn wrong_calls_are_errors_with_a_remedy_and_the_server_goes_on() {
    let (env, root) = demo();
    let mut client = Client::start(&env, &root, |command| {
        command.args(["--tools", "code,memory"]);
    });
    for (tool, arguments, remedy) in [
        ("find_context", json!({}), "`question` is missing"),
        ("read", json!({"path": "../../etc/passwd"}), "no path inside"),
        ("read", json!({"path": "src/gone.rs"}), "does not exist"),
        ("remember", json!({"text": "x".repeat(3_000)}), "knowledge"),
        ("forget", json!({"id": "zzz"}), "no record"),
        ("resolve_conflict", json!({"id": "x", "keep": "up"}), "left, right, both, none"),
    ] {
        let (result, text) = client.call(tool, &arguments);
        assert_eq!(result["isError"], true, "{tool}: {result}");
        assert!(text.contains(remedy), "{tool}: {text}");
    }
    let unknown = client.request("tools/call", &json!({"name": "gerp", "arguments": {}}));
    assert_eq!(unknown["error"]["code"], -32602);
    let wrong = client.request("tools/call", &json!({"name": "recall", "arguments": [1]}));
    assert_eq!(wrong["error"]["code"], -32602);
    assert_eq!(client.request("no/such", &json!({}))["error"]["code"], -32601);
    let (log, _) = client.call("git_log", &json!({}));
    assert_eq!(log["structuredContent"]["commits"].as_array().unwrap().len(), 1, "{log}");
}

#[test]
fn malformed_lines_batches_and_calls_before_the_greeting_do_not_end_the_server() {
    let (env, root) = demo();
    let mut client = Client::silent(&env, &root, |_| {});
    client.line("{\"jsonrpc\":\"2.0\",");
    client.line(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#);
    client.line(r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{}}"#);
    let mut errors = Vec::new();
    while errors.last().is_none_or(|error: &Value| error["id"] != 7) {
        errors.push(client.answer());
    }
    assert!(errors.iter().all(|error| error["error"]["code"].is_i64()), "{errors:?}");
    client.line(
        &json!({"jsonrpc": "2.0", "id": 8, "method": "initialize", "params": {"protocolVersion": "1999-01-01",
        "capabilities": {}, "clientInfo": {"name": "old", "version": "1"}}})
        .to_string(),
    );
    assert_eq!(client.answer()["result"]["serverInfo"]["name"], "muninn");
    client.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let filler = "x".repeat(10 << 20);
    let (result, text) = client.call("recall", &json!({"query": filler}));
    assert_eq!(result["isError"], false, "{text}");
    client
        .line(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}).to_string());
    assert!(client.request("ping", &json!({}))["result"].is_object());
    assert!(client.leave());
}

/// What is no message, or hard to read, in ten ways; and what answers it: the id, and the code of an error if it is one.
const LINES: [(&[u8], Option<u64>, Option<i64>); 16] = [
    (b"{bad", None, Some(-32_700)),
    (br#"{"jsonrpc":"2.0","id":1,"method":"ping"} {}"#, None, Some(-32_700)),
    (br#"{"jsonrpc":"2.0","id":2,"method":"ping",}"#, None, Some(-32_700)),
    (b"hello", None, Some(-32_700)),
    (b"\xff\xfe", None, Some(-32_700)),
    (b"[]", None, Some(-32_600)),
    (b"42", None, Some(-32_600)),
    (br#"{"id":3,"method":"ping"}"#, Some(3), Some(-32_600)),
    (br#"{"jsonrpc":"2.0","id":4,"method":7}"#, Some(4), Some(-32_600)),
    (b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}", Some(5), None),
    (b"{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"ping\"}\0", Some(6), None),
    (br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"recall","arguments":{"query":"a \ud83d b"}}}"#, Some(7), None),
    (br#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"recall","arguments":{"query":"\ude00"}}}"#, Some(8), None),
    (b"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/call\",\"params\":{\"name\":\"recall\",\"arguments\":{\"query\":\"a \xff\"}}}", Some(9), None),
    (b"{\"jsonrpc\":\"2.0\",\"id\":10,\"method\":\"tools/call\",\"params\":{\"name\":\"recall\",\"arguments\":{\"query\":\"a\tb\"}}}", Some(10), None),
    (b"  {\"jsonrpc\": \"2.0\", \"id\" : 11, \"method\": \"ping\"}\r", Some(11), None),
];

fn assert_answered(line: &[u8], answer: &Value, id: Option<u64>, code: Option<i64>) {
    let how = format!("{}: {answer}", String::from_utf8_lossy(line));
    assert_eq!(answer.get("id"), Some(&id.map_or(Value::Null, Value::from)), "{how}");
    match code {
        Some(code) => assert_eq!(answer["error"]["code"], code, "{how}"),
        None => assert!(answer["result"].is_object(), "{how}"),
    }
}

#[test]
fn every_line_is_answered() {
    let (env, root) = demo();
    let mut client = Client::start(&env, &root, |_| {});
    for (line, id, code) in LINES {
        let input = client.input.as_mut().unwrap();
        input.write_all(&[line, b"\n"].concat()).unwrap();
        input.flush().unwrap();
        assert_answered(line, &client.answer(), id, code);
    }
    let long = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{}\"}}", "x".repeat(17 << 20));
    client.line(&long);
    assert_answered(b"long", &client.answer(), None, Some(-32_600));
    assert!(client.request("ping", &json!({}))["result"].is_object(), "the server goes on");
    assert!(client.leave());
}

#[test]
fn calls_before_the_end_of_the_input_are_answered() {
    let (env, root) = demo();
    let mut client = Client::start(&env, &root, |_| {});
    let call = |id: u64| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": "find_context", "arguments": {"question": QUESTION}}})
        .to_string()
    };
    // The last line has no end.
    let mut input = client.input.take().unwrap();
    input.write_all(format!("{}\n{}", call(1), call(2)).as_bytes()).unwrap();
    drop(input);
    let mut ids: Vec<_> = [client.answer(), client.answer()].iter().map(|answer| answer["id"].clone()).collect();
    ids.sort_by_key(Value::as_u64);
    assert_eq!(ids, [1, 2]);
    assert!(client.leave());
}

#[test]
fn every_body_over_http_is_answered_in_the_protocol() {
    let stage = Stage::new();
    let with = |headers: &[(&str, &str)], body: &[u8]| stage.gateway.post("/mcp", headers, body);
    for (line, id, code) in LINES {
        let response = with(&JSON_HEADERS, line);
        assert_eq!(response.status, if code.is_some() { 400 } else { 200 }, "{}", response.text());
        assert_answered(line, &response.json(), id, code);
    }
    let ping = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    for accept in
        ["*/*", "", "application/json", "application/*", "text/event-stream", "*/*;q=0.8", "text/html, */*;q=0.1"]
    {
        let response = with(&[("content-type", "application/json"), ("accept", accept)], ping);
        assert_eq!(response.status, 200, "{accept}: {}", response.text());
    }
    for kind in ["application/json; charset=utf-8", "text/plain", "application/json-rpc"] {
        assert_eq!(with(&[("content-type", kind)], ping).status, 200, "{kind}");
    }
    assert_eq!(with(&[], ping).status, 200, "without headers");
    let version = [JSON_HEADERS[0], JSON_HEADERS[1], ("mcp-protocol-version", "1999-01-01")];
    for response in [with(&version, ping), with(&JSON_HEADERS, &vec![b' '; 2 << 20])] {
        assert!(response.json()["error"]["code"].is_i64(), "{}", response.text());
    }
}

#[test]
fn pages_of_this_machine_may_use_the_endpoint() {
    let stage = Stage::new();
    let asked =
        [("access-control-request-method", "POST"), ("access-control-request-headers", "content-type, x-muninn-key")];
    for origin in ["http://localhost:3000", "http://127.0.0.1:5173", "https://localhost", "http://[::1]:8080"] {
        let headers: Vec<_> = asked.into_iter().chain([("origin", origin)]).collect();
        let allowed = stage.gateway.request("OPTIONS", "/mcp", &headers, b"");
        assert_eq!(allowed.status, 204, "{origin}: {}", allowed.text());
        assert_eq!(allowed.headers.get("access-control-allow-headers"), Some("content-type, x-muninn-key"));
        let answer = over_http(&stage, &[("origin", origin)], &context_call());
        assert_eq!(answer.status, 200);
        for response in [allowed, answer] {
            assert_eq!(response.headers.get("access-control-allow-origin"), Some(origin));
        }
    }
    for origin in ["http://evil.example", "null", "http://localhost.evil.example"] {
        let headers: Vec<_> = asked.into_iter().chain([("origin", origin)]).collect();
        let refused = stage.gateway.request("OPTIONS", "/mcp", &headers, b"");
        assert_eq!((refused.status, refused.headers.get("access-control-allow-origin")), (403, None), "{origin}");
        let refused = stage.gateway.request("OPTIONS", "/v1/models", &headers, b"");
        assert_eq!(refused.status, 403);
    }
    let elsewhere =
        stage.gateway.request("OPTIONS", "/v1/models", &[("origin", "http://localhost:3000"), asked[0]], b"");
    assert_eq!(elsewhere.headers.get("access-control-allow-origin"), None, "only this endpoint");
}

#[test]
fn two_servers_in_one_repository_share_memory() {
    let (env, root) = demo();
    let (mut one, mut other) = (Client::start(&env, &root, |_| {}), Client::start(&env, &root, |_| {}));
    one.call("remember", &json!({"text": "Invoices are archived in memory only."}));
    let (found, _) = other.call("recall", &json!({"query": "archived invoices"}));
    assert_eq!(found["structuredContent"]["memories"][0]["text"], "Invoices are archived in memory only.");
    assert!(one.leave() && other.leave());
}

#[test]
fn server_of_a_client_that_dies_in_a_call_ends() {
    let (env, root) = demo();
    let mut client = Client::start(&env, &root, |_| {});
    client.line(
        &json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call",
        "params": {"name": "find_context", "arguments": {"question": QUESTION}}})
        .to_string(),
    );
    client.input = None;
    wait_until("the server to end", || client.server.try_wait().unwrap());
}

#[test]
fn unknown_tool_names_are_configuration_errors() {
    let (env, root) = demo();
    let output = env.run(&root, &["mcp", "--tools", "gerp"]);
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("`gerp`") && said.contains("code, memory, wiki, journal, worklog, personal, find_context"),
        "{said}"
    );
    env.write_config("[mcp]\ntools = [\"grap\"]\n");
    for command in [&["serve", "--listen", "127.0.0.1:0"][..], &["config", "check"]] {
        let output = env.run(&root, command);
        assert_eq!(output.status.code(), Some(3), "{command:?}");
        assert!(String::from_utf8(output.stderr).unwrap().contains("`grap`"));
    }
}

const JSON_HEADERS: [(&str, &str); 2] =
    [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];

pub(crate) fn over_http(stage: &Stage, headers: &[(&str, &str)], request: &Value) -> muninn_tests::http::Response {
    let headers: Vec<_> = JSON_HEADERS.iter().chain(headers).copied().collect();
    stage.gateway.post("/mcp", &headers, request.to_string().as_bytes())
}

fn context_call() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "find_context",
        "arguments": {"question": QUESTION}}})
}

#[test]
fn gateway_answers_over_http_behind_its_own_checks() {
    let stage = Stage::new();
    let answer = over_http(&stage, &[], &context_call());
    assert_eq!(answer.status, 200, "{}", answer.text());
    let text = answer.json()["result"]["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(text.contains("src/rate_limiter.rs"), "{text}");
    for hostile in [("host", "evil.example"), ("origin", "http://evil.example")] {
        let refused = over_http(&stage, &[hostile], &context_call());
        assert_eq!(refused.status, 403, "{hostile:?}");
    }
    let large = json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": "y".repeat(2 << 20)}});
    assert_eq!(over_http(&stage, &[], &large).status, 413);
    assert_eq!(stage.gateway.request("GET", "/mcp", &JSON_HEADERS, b"").status, 405);
    assert!(stage.upstream.requests().is_empty(), "nothing was forwarded");
}

/// The newest revision repeats the method and the tool in headers, for servers in between.
#[test]
fn headers_that_contradict_the_body_are_refused() {
    let stage = Stage::new();
    let mut call = context_call();
    call["params"]["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}});
    let send = |method: &str, name: &str| {
        let version = ("mcp-protocol-version", "2026-07-28");
        over_http(&stage, &[version, ("mcp-method", method), ("mcp-name", name)], &call)
    };
    let agreeing = send("tools/call", "find_context");
    assert_eq!(agreeing.status, 200, "{}", agreeing.text());
    for (method, name) in [("tools/list", "find_context"), ("tools/call", "remember")] {
        let refused = send(method, name);
        assert_eq!(refused.status, 400, "{method} {name}: {}", refused.text());
    }
}

#[test]
fn endpoint_can_be_switched_off() {
    let stage = Stage::with(muninn_tests::Upstream::start(), "[mcp]\nhttp = false\n");
    assert_eq!(over_http(&stage, &[], &context_call()).status, 404);
}
