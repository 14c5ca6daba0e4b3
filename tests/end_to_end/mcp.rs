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
    assert_eq!(env.run(&root, &["serve", "--listen", "127.0.0.1:0"]).status.code(), Some(3));
}

const JSON_HEADERS: [(&str, &str); 2] =
    [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];

fn over_http(stage: &Stage, headers: &[(&str, &str)], request: &Value) -> muninn_tests::http::Response {
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
