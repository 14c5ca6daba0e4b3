//! The table of docs/sharing.md over real sockets: every route and every tool, for every kind of callers.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use muninn_tests::{Gateway, TestEnv, Upstream, wait_until};
use serde_json::{Value, json};

use super::stage::{Key, new_key};
use crate::MUNINN;
use crate::stage::{FILES, QUESTION};

/// A word of personal memory.
const OWNER: &str = "Name: Zanzibara";
/// How refusals of tools begin to say why.
const CLOSED: [&str; 3] =
    ["is restricted and cannot use", "for their owner only", "need a program of the user that runs the gateway"];

/// A row of the documented table.
struct Row {
    name: String,
    reached_by: Vec<String>,
    rules: Vec<String>,
}

/// The rows of the documented table, and the heads of its columns of rules.
fn documented() -> (Vec<String>, Vec<Row>) {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/sharing.md")).unwrap();
    let table = page.split("<!--").find(|part| part.starts_with(" The table of doors.")).unwrap();
    let cells = |line: &str| -> Vec<String> {
        let cells = line.trim().trim_matches('|').split('|');
        cells.map(|cell| cell.trim().to_owned()).collect()
    };
    let mut lines = table.lines().filter(|line| line.starts_with('|')).map(cells);
    let heads = lines.next().unwrap().split_off(2);
    let rows = lines.skip(1).map(|mut cells| {
        let rules = cells.split_off(2);
        let reached_by = cells[1].split(", ").map(str::to_owned).collect();
        Row { name: cells.swap_remove(0), reached_by, rules }
    });
    (heads, rows.collect())
}

/// A response's status and body.
struct Answer {
    status: u16,
    text: String,
}

impl Answer {
    /// Whether the door was open. What the request then came to does not matter.
    fn is_open(&self) -> bool {
        !matches!(self.status, 401 | 403) && !CLOSED.iter().any(|words| self.text.contains(words))
    }
}

/// A kind of callers: a column of the table.
struct Caller<'a> {
    head: &'static str,
    gateway: &'a Gateway,
    headers: Vec<(String, String)>,
    /// Whether its process belongs to another user.
    is_other_user: bool,
}

impl Caller<'_> {
    fn send(&self, method: &str, target: &str, more: &[(&str, &str)], body: &str) -> Answer {
        let own = self.headers.iter().map(|(name, value)| (&**name, &**value));
        let headers: Vec<(&str, &str)> = own.chain(more.iter().copied()).collect();
        if self.is_other_user {
            return as_other_user(self.gateway.address, method, target, &headers, body);
        }
        let response = self.gateway.request(method, target, &headers, body.as_bytes());
        Answer { status: response.status, text: response.text() }
    }

    fn mcp(&self, method: &str, parameters: &Value) -> Answer {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters});
        let headers = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
        self.send("POST", "/mcp", &headers, &call.to_string())
    }

    /// Asks the question in a conversation, with tools, and returns what reached the backend.
    fn converse(&self, upstream: &Upstream) -> (Answer, String) {
        let body = json!({"model": "m", "tools": [{"name": "Read", "input_schema": {"type": "object"}}],
            "messages": [{"role": "user", "content": QUESTION}]});
        let json = [("content-type", "application/json")];
        let answer = self.send("POST", "/v1/messages", &json, &body.to_string());
        let sent = upstream.take_requests().pop();
        (answer, sent.map(|request| request.text()).unwrap_or_default())
    }

    /// Converses about a word: a decision, a command that fails, and a further question.
    fn converse_about(&self, word: &str) -> Answer {
        let tools = ["Read", "Bash"].map(|name| json!({"name": name, "input_schema": {"type": "object"}}));
        let call =
            json!({"type": "tool_use", "id": word, "name": "Bash", "input": {"command": format!("cargo test {word}")}});
        let result = json!({"type": "tool_result", "tool_use_id": word, "is_error": true, "content": "Exit code 101"});
        let messages = [
            json!({"role": "user", "content": format!("{QUESTION} Decision: we use {word} because the linter requires it.")}),
            json!({"role": "assistant", "content": [call]}),
            json!({"role": "user", "content": [result]}),
            json!({"role": "assistant", "content": "It fails."}),
            json!({"role": "user", "content": QUESTION}),
        ];
        let ask = |messages: &[Value]| {
            let body = json!({"model": "m", "max_tokens": 9, "tools": tools, "messages": messages});
            let headers = [("content-type", "application/json"), ("x-muninn-session", word)];
            self.send("POST", "/v1/messages", &headers, &body.to_string())
        };
        ask(&messages[..1]);
        ask(&messages)
    }
}

/// Sends a request from a process of another user. Needs root.
fn as_other_user(address: SocketAddr, method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    // HTTP/1.0, so that the body ends with the connection.
    let mut request = format!("{method} {target} HTTP/1.0\r\nhost: {address}\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request.push_str(&format!("\r\n{body}"));
    let script = format!("exec 3<>/dev/tcp/{}/{}; printf %s \"$REQUEST\" >&3; cat <&3", address.ip(), address.port());
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=65533", "--regid=65533", "--clear-groups", "bash", "-c", &script])
        .current_dir("/")
        .env("REQUEST", request);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (head, text) = text.split_once("\r\n\r\n").unwrap();
    Answer { status: head.split(' ').nth(1).unwrap().parse().unwrap(), text: text.to_owned() }
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|id| id.stdout.trim_ascii() == b"0")
}

/// Two gateways on one repository: one without keys and one with them.
struct Stage {
    env: TestEnv,
    upstream: Upstream,
    root: PathBuf,
    elsewhere: PathBuf,
    open: Gateway,
    keyed: Gateway,
    keys: Vec<(&'static str, Key)>,
}

impl Stage {
    fn new() -> Stage {
        let env = TestEnv::new(MUNINN);
        let upstream = Upstream::start();
        let root = env.repository("demo", &FILES);
        let elsewhere = env.repository("elsewhere", &[]);
        std::fs::create_dir_all(root.join(".muninn/knowledge")).unwrap();
        std::fs::write(root.join(".muninn/knowledge/a.md"), "# A\n").unwrap();
        env.stdout_of(&env.path("home"), &["personal", "init", "--name", "Zanzibara"]);
        let settings = format!(
            "roots = [{elsewhere:?}]\n{}[context]\ndeadline_ms = 20000\n[worklog]\nenabled = true\n\
             [memory]\nrecord = \"text\"\n[mcp]\n\
             tools = [\"code\", \"memory\", \"wiki\", \"journal\", \"worklog\", \"personal\"]\n",
            upstream.backend("mock")
        );
        env.write_config(&settings);
        env.stdout_of(&root, &["init", "--memory", "local"]);
        let open = env.serve(&root, &[]);
        open.wait_ready();
        let names = ["plain", "models", "roots", "owner", "owner-models"];
        let keys: Vec<_> = names.map(|name| (name, new_key(&env, name))).into_iter().collect();
        let restrictions = ["", "models = [\"*\"]\n", &format!("roots = [{elsewhere:?}]\n"), "", "models = [\"*\"]\n"];
        let entries = keys.iter().zip(restrictions).map(|((_, key), restriction)| format!("{}{restriction}", key.toml));
        env.write_config(&format!("{settings}[personal]\nkey = \"owner\"\n{}", entries.collect::<String>()));
        let keyed = env.serve(&root, &[]);
        let stage = Stage { env, upstream, root, elsewhere, open, keyed, keys };
        wait_until("a ready index", || {
            let health = stage.with_key("plain", "key").send("GET", "/healthz", &[], "");
            health.text.contains("\"settled\":true").then_some(())
        });
        stage.upstream.take_requests();
        stage
    }

    fn without_key(&self, head: &'static str) -> Caller<'_> {
        Caller { head, gateway: &self.open, headers: Vec::new(), is_other_user: false }
    }

    fn with_key(&self, name: &str, head: &'static str) -> Caller<'_> {
        let key = self.keys.iter().find(|(known, _)| *known == name).map(|(_, key)| &*key.key);
        let unknown = format!("muninn-{}", "0".repeat(64));
        Caller {
            head,
            gateway: &self.keyed,
            headers: vec![("x-muninn-key".to_owned(), key.unwrap_or(&unknown).to_owned())],
            is_other_user: false,
        }
    }

    /// A caller of each column that comes through the network.
    fn callers(&self) -> Vec<Caller<'_>> {
        let mut callers = vec![
            self.without_key("no keys: your program"),
            Caller {
                headers: vec![("origin".to_owned(), "http://localhost:3000".to_owned())],
                ..self.without_key("no keys: another user")
            },
            self.with_key("plain", "key"),
            self.with_key("models", "restricted key"),
            self.with_key("owner", "key of `[personal]`"),
            self.with_key("unknown", "no valid key"),
            Caller { headers: Vec::new(), ..self.with_key("unknown", "no valid key") },
            Caller {
                headers: vec![("origin".to_owned(), "https://evil.example".to_owned())],
                ..self.without_key("web page")
            },
            Caller {
                headers: vec![("sec-fetch-site".to_owned(), "cross-site".to_owned())],
                ..self.without_key("web page")
            },
        ];
        // Without root, the unit tests of the table check this kind alone.
        if is_root() {
            callers.push(Caller { is_other_user: true, ..self.without_key("no keys: another user") });
        }
        callers
    }

    fn worklog(&self) -> String {
        std::fs::read_to_string(self.root.join("JOURNAL.md")).unwrap_or_default()
    }

    /// Whether each way to a door was open for a caller, with the requests that showed it.
    fn knock(&self, row: &Row, caller: &Caller<'_>) -> Vec<(String, Answer, bool)> {
        let is_change = row.name == "changes of the wiki";
        let mut answers = Vec::new();
        let mut note = |way: String, answer: Answer, is_open: Option<bool>| {
            let is_open = is_open.unwrap_or_else(|| answer.is_open());
            answers.push((way, answer, is_open));
        };
        for way in &row.reached_by {
            let way = way.trim_matches('`');
            let mut send = |method: &str, target: &str, body: &str| {
                note(
                    format!("{method} {target}"),
                    caller.send(method, target, &[("content-type", "application/json")], body),
                    None,
                );
            };
            let asked = r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"input":"hi"}"#;
            match way {
                "/healthz" if row.name.starts_with("details") => {
                    let answer = caller.send("GET", "/healthz", &[], "");
                    let is_open = answer.text.contains("\"root\"");
                    note(way.to_owned(), answer, Some(is_open));
                }
                "every other path" => send("GET", "/elsewhere", ""),
                "/v1/..." => {
                    send("GET", "/v1/files", "");
                    send("POST", "/v1/batches", "{}");
                    send("DELETE", "/v1/messages", "");
                }
                "/v1/chat/completions"
                | "/v1/messages"
                | "/v1/responses"
                | "/v1/embeddings"
                | "/v1/completions"
                | "/v1/messages/count_tokens"
                | "/v1/responses/compact"
                | "/v1/responses/input_tokens" => send("POST", way, asked),
                "/api/wiki/pages/PAGE" if is_change => {
                    send("PUT", "/api/wiki/pages/a", r##"{"content": "# A\n"}"##);
                    send("POST", "/api/wiki/pages/a", r##"{"content": "# A\n"}"##);
                    send("DELETE", "/api/wiki/pages/none", "");
                }
                "/api/wiki/move" => send("POST", way, r#"{"from": "none", "to": "other"}"#),
                "/api/wiki/search" => send("GET", "/api/wiki/search?query=a", ""),
                "/mcp" => {
                    note("tools/list".to_owned(), caller.mcp("tools/list", &json!({})), None);
                    note("prompts/list".to_owned(), caller.mcp("prompts/list", &json!({})), None);
                }
                "conversations" if row.name.starts_with("learning") => {
                    let letters: String = caller.head.chars().filter(char::is_ascii_alphabetic).collect();
                    let word = format!("{letters}{}{}", caller.headers.len(), caller.is_other_user);
                    let answer = caller.converse_about(&word);
                    let is_open = self.worklog().contains(&word);
                    note(way.to_owned(), answer, Some(is_open));
                }
                "conversations" => {
                    let (answer, sent) = caller.converse(&self.upstream);
                    let is_open = sent.contains(OWNER);
                    note(way.to_owned(), answer, Some(is_open));
                }
                "muninn hook" => {}
                address if address.starts_with("muninn://") => {
                    let address = format!("{address}01HZZZZZZZ");
                    note(address.clone(), caller.mcp("resources/read", &json!({"uri": address})), None);
                }
                path if path.starts_with('/') => send("GET", &path.replace("PAGE", "a"), ""),
                tool => note(tool.to_owned(), caller.mcp("tools/call", &json!({"name": tool, "arguments": {}})), None),
            }
        }
        answers
    }
}

#[test]
fn documented_table_holds_over_sockets() {
    let stage = Stage::new();
    let (heads, rows) = documented();
    let mut asked = 0;
    for caller in stage.callers() {
        let column = heads.iter().position(|head| head == caller.head).unwrap();
        for row in &rows {
            let expected = row.rules[column] != "no";
            for (way, answer, is_open) in stage.knock(row, &caller) {
                let context = format!("{}: {way} for `{}`: {} {}", row.name, caller.head, answer.status, answer.text);
                assert_eq!(is_open, expected, "{context}");
                if !answer.is_open() {
                    let root = stage.root.to_str().unwrap();
                    assert!(!answer.text.contains(root), "names the directory: {context}");
                }
                asked += 1;
            }
        }
    }
    assert!(asked > 500, "{asked}");
    assert_eq!(std::fs::read_to_string(stage.root.join(".muninn/knowledge/a.md")).unwrap(), "# A\n");
}

/// What a key with `roots` elsewhere, and one with models that owns personal memory, get.
#[test]
fn restrictions_and_ownership_combine() {
    let stage = Stage::new();
    let (_, rows) = documented();
    let elsewhere = stage.with_key("roots", "restricted key");
    for row in rows.iter().filter(|row| row.rules.iter().any(|rule| rule == "its roots")) {
        for (way, answer, _) in stage.knock(row, &elsewhere) {
            let is_refused = answer.text.contains("does not allow this") || answer.text.contains("there is no tool");
            assert!(is_refused, "{way}: {}", answer.text);
            assert!(!answer.text.contains(stage.root.to_str().unwrap()), "{way}: {}", answer.text);
        }
    }
    // A directory that is served but not allowed, and one that does not exist, get the same words.
    let grep = |root: &Path| {
        let arguments = json!({"pattern": "refill", "root": root});
        elsewhere.mcp("tools/call", &json!({"name": "grep", "arguments": arguments})).text
    };
    assert!(grep(&stage.root).contains("does not allow this"), "{}", grep(&stage.root));
    assert_eq!(grep(&stage.root), grep(&stage.env.path("home")));
    assert_eq!(grep(&stage.root), grep(Path::new("/no/such/directory")));
    assert!(!grep(&stage.elsewhere).contains("does not allow"), "its own directory");

    let restricted = stage.with_key("models", "restricted key");
    let (answer, sent) = restricted.converse(&stage.upstream);
    assert!(answer.status == 200 && !sent.contains(OWNER), "{sent}");
}

/// The block of the owner's conversation is in the ledger. The same words of another user do not bring it back.
#[test]
fn owners_block_is_not_replayed_for_another_user() {
    let stage = Stage::new();
    let own = stage.without_key("no keys: your program");
    let page = Caller {
        headers: vec![("origin".to_owned(), "http://localhost:3000".to_owned())],
        ..stage.without_key("no keys: another user")
    };
    let (_, sent) = own.converse(&stage.upstream);
    assert!(sent.contains(OWNER), "{sent}");
    let mut strangers = vec![page];
    if is_root() {
        strangers.push(Caller { is_other_user: true, ..stage.without_key("no keys: another user") });
    }
    for stranger in strangers {
        let (answer, sent) = stranger.converse(&stage.upstream);
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert!(!sent.contains("Zanzibara"), "{sent}");
        let counted = stranger.send(
            "POST",
            "/v1/messages/count_tokens",
            &[("content-type", "application/json")],
            &json!({"model": "m", "messages": [{"role": "user", "content": QUESTION}]}).to_string(),
        );
        assert_eq!(counted.status, 200);
        let sent: String = stage.upstream.take_requests().iter().map(muninn_tests::Recorded::text).collect();
        assert!(!sent.contains("Zanzibara"), "{sent}");
    }
}

/// `muninn run` removes the keys for its command. Others than the user's programs still get nothing personal of it.
#[test]
fn gateway_of_muninn_run_gives_personal_memory_to_the_users_programs_only() {
    let stage = Stage::new();
    let body = json!({"model": "m", "tools": [{"name": "Read", "input_schema": {"type": "object"}}],
        "messages": [{"role": "user", "content": QUESTION}]})
    .to_string();
    let script = "host=${ANTHROPIC_BASE_URL#http://}; exec 3<>/dev/tcp/${host%:*}/${host#*:}; \
        printf 'POST /v1/messages HTTP/1.0\\r\\nhost: %s\\r\\n%scontent-type: application/json\\r\\ncontent-length: %s\\r\\n\\r\\n%s' \
        \"$host\" \"$MORE\" \"${#BODY}\" \"$BODY\" >&3; cat <&3";
    let run = |before: &[&str], more: &str| {
        let mut command = stage.env.muninn();
        command
            .args(["run", "--"])
            .args(before)
            .args(["bash", "-c", script])
            .current_dir(&stage.root)
            .env("BODY", &body)
            .env("MORE", more);
        let output = muninn_tests::output(command);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains(" 200 "), "{output:?}");
        stage.upstream.take_requests().pop().unwrap().text()
    };
    let as_other = ["setpriv", "--reuid=65533", "--regid=65533", "--clear-groups"];
    if is_root() {
        let sent = run(&as_other, "");
        assert!(!sent.contains("Zanzibara"), "{sent}");
    }
    let sent = run(&[], "origin: http://localhost:3000\r\n");
    assert!(!sent.contains("Zanzibara"), "{sent}");
    let sent = run(&[], "");
    assert!(sent.contains(OWNER), "{sent}");
}

/// Records are made in the background, at the latest when a gateway stops.
#[test]
fn records_are_made_of_the_conversations_of_those_who_may_write() {
    let stage = Stage::new();
    let (heads, rows) = documented();
    let row = rows.iter().find(|row| row.name.starts_with("learning")).unwrap();
    let mut expected = Vec::new();
    for (at, caller) in stage.callers().iter().enumerate() {
        let column = heads.iter().position(|head| head == caller.head).unwrap();
        let word = format!("gadget{at}x");
        caller.converse_about(&word);
        expected.push((word, caller.head, row.rules[column] != "no"));
    }
    let Stage { env, root, open, keyed, .. } = stage;
    open.stop_cleanly();
    keyed.stop_cleanly();
    let records = records(&env.state_dir()) + &records(&root.join(".muninn"));
    for (word, head, is_expected) in expected {
        assert_eq!(records.contains(&word), is_expected, "{head}: {word}: {records}");
    }
}

/// The text of all records below a directory.
fn records(directory: &Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            text.push_str(&records(&path));
        } else if path.extension().is_some_and(|extension| extension == "jsonl") {
            text.push_str(&std::fs::read_to_string(path).unwrap());
        }
    }
    text
}
