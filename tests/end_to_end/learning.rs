//! What an agent does becomes records, and records become segments that git takes along.

use std::fs;
use std::path::Path;

use muninn_tests::{Gateway, TestEnv, Upstream, wait_until};
use serde_json::{Value, json};

use crate::MUNINN;
use crate::stage::{FILES, QUESTION};

pub(crate) const SESSION: &str = "3f0c8c1e-0000-4000-8000-000000000001";

/// A repository that was set up to share its memory, and a gateway over it.
pub(crate) struct Team {
    pub(crate) env: TestEnv,
    pub(crate) upstream: Upstream,
    pub(crate) root: std::path::PathBuf,
}

impl Team {
    fn new(memory: &str) -> Team {
        Team::with(memory, "")
    }

    /// The same, with more TOML tables in the user's configuration.
    pub(crate) fn with(memory: &str, more: &str) -> Team {
        let env = TestEnv::new(MUNINN);
        let upstream = Upstream::start();
        env.connect_with(&upstream, more);
        let root = env.repository("demo", &FILES);
        env.stdout_of(&root, &["init", "--memory", memory]);
        env.commit(&root, "memory");
        Team { env, upstream, root }
    }

    pub(crate) fn serve(&self) -> Gateway {
        let gateway = self.env.serve(&self.root, &[]);
        gateway.wait_ready();
        gateway
    }

    /// All records of all segments below a directory, with the name of the file of each.
    pub(crate) fn segments(&self) -> Vec<(String, Value)> {
        records_in(&self.root.join(".muninn/memory/sessions"))
    }

    /// Everything that waits or was written outside the repository.
    fn state(&self) -> String {
        let mut text = String::new();
        gather(&self.env.state_dir().join("memory"), &mut text);
        text
    }
}

fn gather(dir: &Path, text: &mut String) {
    for entry in fs::read_dir(dir).into_iter().flatten() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => gather(&path, text),
            false => text.push_str(&fs::read_to_string(&path).unwrap_or_default()),
        }
    }
}

fn records_in(dir: &Path) -> Vec<(String, Value)> {
    let mut records: Vec<(String, Value)> = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        for line in fs::read_to_string(&path).unwrap().lines() {
            records.push((name.clone(), serde_json::from_str(line).unwrap()));
        }
    }
    // Ids of one process grow, and those of another begin with a later time.
    records.sort_by_key(|(_, record)| record["id"].as_str().unwrap().to_owned());
    records
}

/// A conversation of Claude Code, as it grows.
pub(crate) struct Conversation {
    root: String,
    messages: Vec<Value>,
    calls: usize,
}

impl Conversation {
    pub(crate) fn new(root: &Path) -> Conversation {
        Conversation {
            root: root.display().to_string(),
            messages: Vec::new(),
            calls: 0,
        }
    }

    pub(crate) fn says(&mut self, text: &str) {
        self.messages
            .push(json!({"role": "user", "content": [{"type": "text", "text": text}]}));
    }

    pub(crate) fn calls(&mut self, tool: &str, input: &Value, result: &str) {
        self.calls += 1;
        let id = format!("toolu_{}", self.calls);
        self.messages.push(
            json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": tool, "input": input}]}),
        );
        let content = json!([{"type": "tool_result", "tool_use_id": id, "content": result}]);
        self.messages.push(json!({"role": "user", "content": content}));
    }

    pub(crate) fn answers(&mut self, text: &str) {
        self.messages
            .push(json!({"role": "assistant", "content": [{"type": "text", "text": text}]}));
    }

    pub(crate) fn send(&self, gateway: &Gateway) {
        self.send_in(gateway, SESSION);
    }

    /// The request that goes on with it.
    pub(crate) fn body(&self) -> String {
        let body = json!({
            "model": "mock-1", "max_tokens": 64, "messages": self.messages,
            "system": [{"type": "text", "text": format!("Working directory: {}", self.root)}],
            "tools": [{"name": "Read", "input_schema": {"type": "object"}}]});
        body.to_string()
    }

    pub(crate) fn send_in(&self, gateway: &Gateway, session: &str) {
        let response = gateway.post(
            "/v1/messages",
            &[("x-claude-code-session-id", session)],
            self.body().as_bytes(),
        );
        assert_eq!(response.status, 200, "{}", response.text());
    }

    /// A turn in which the agent reads one file, edits another, and says where a third thing is.
    pub(crate) fn turn(&mut self, question: &str) {
        let root = self.root.clone();
        self.says(question);
        self.calls(
            "Read",
            &json!({"file_path": format!("{root}/src/rate_limiter.rs")}),
            "1\tx",
        );
        self.calls(
            "Edit",
            &json!({"file_path": format!("{root}/src/parser.rs"), "old_string": "x", "new_string": "y"}),
            "ok",
        );
        self.calls(
            "Write",
            &json!({"file_path": format!("{root}/.env"), "content": "TOKEN=x"}),
            "ok",
        );
        self.calls("Read", &json!({"file_path": "/etc/passwd"}), "root");
        self.answers("Refilling is in src/rate_limiter.rs:14, invoices are kept by src/storage.rs.");
    }
}

#[test]
fn a_turn_becomes_records_of_what_was_done_and_not_of_what_was_said() {
    let team = Team::new("repo");
    let gateway = team.serve();
    let mut conversation = Conversation::new(&team.root);
    conversation.turn(&format!("{QUESTION} Ask Persephone about hunter2hunter2."));
    conversation.says("Thanks. And the parser?");
    conversation.send(&gateway);
    assert!(gateway.stop().status.success());
    let segments = team.segments();
    let hits: Vec<(&Value, &Value)> = segments
        .iter()
        .filter(|(_, record)| record["type"] == "context_hit")
        .map(|(_, record)| (&record["files"], &record["relevance"]))
        .collect();
    let expected = [
        (json!(["src/parser.rs"]), json!(0.95)),
        (json!(["src/rate_limiter.rs", "src/storage.rs"]), json!(0.8)),
    ];
    assert_eq!(
        hits,
        expected
            .iter()
            .map(|(files, relevance)| (files, relevance))
            .collect::<Vec<_>>()
    );
    let first = &segments[0].1;
    let terms: Vec<&str> = first["terms"]
        .as_array()
        .unwrap()
        .iter()
        .map(|term| term.as_str().unwrap())
        .collect();
    assert!(
        terms.contains(&"tokenbucket") || terms.contains(&"TokenBucket"),
        "{terms:?}"
    );
    assert_eq!(
        (&first["branch"], first["commit"].as_str().map(str::len)),
        (&json!("main"), Some(40))
    );
    assert_eq!(first["sources"][0]["path"], "src/parser.rs");
    let blob = team.env.git(&team.root, &["hash-object", "src/parser.rs"]);
    assert_eq!(first["sources"][0]["blob"].as_str(), Some(blob.trim()));
    let summary = segments
        .iter()
        .find(|(_, record)| record["type"] == "session_summary")
        .unwrap();
    assert_eq!(summary.1["files_touched"], json!(["src/parser.rs"]));
    let written = format!("{segments:?}{}", team.state());
    for secret in ["Persephone", "hunter2", "persephone", "passwd", ".env", "Thanks"] {
        assert!(!written.contains(secret), "{secret} in {written}");
    }
    // All that git sees are new segments, and a name says which session and which of its segments it is.
    let status = team.env.git(&team.root, &["status", "--porcelain"]);
    assert_eq!(status.trim(), "?? .muninn/memory/");
    let id = first["session"].as_str().unwrap();
    assert!(
        segments
            .iter()
            .all(|(name, _)| *name == format!("session_{id}.0.jsonl")),
        "{segments:?}"
    );
    assert_eq!(team.upstream.requests().len(), 1);
}

#[test]
fn nothing_is_learned_twice_nor_from_side_requests() {
    let team = Team::new("repo");
    for _ in 0..2 {
        let gateway = team.serve();
        let mut conversation = Conversation::new(&team.root);
        conversation.turn(QUESTION);
        conversation.says("And the parser?");
        conversation.send(&gateway);
        conversation.send(&gateway);
        conversation.calls(
            "Read",
            &json!({"file_path": format!("{}/src/lib.rs", team.root.display())}),
            "1\tpub mod",
        );
        conversation.send(&gateway);
        let mut compacting = Conversation::new(&team.root);
        compacting.turn("Where is the invoice parsed?");
        compacting.says("CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\nYour task is to create a detailed summary of the conversation so far.");
        compacting.send(&gateway);
        assert!(gateway.stop().status.success());
    }
    let segments = team.segments();
    let hits = segments.iter().filter(|(_, record)| record["type"] == "context_hit");
    let files: Vec<&Value> = hits.map(|(_, record)| &record["files"]).collect();
    let expected = [
        json!(["src/parser.rs"]),
        json!(["src/rate_limiter.rs", "src/storage.rs"]),
        json!(["src/lib.rs"]),
    ];
    assert_eq!(files, expected.iter().collect::<Vec<_>>());
}

#[test]
fn what_was_learned_survives_a_kill_and_waits_for_its_branch() {
    let team = Team::new("repo");
    let gateway = team.serve();
    let mut conversation = Conversation::new(&team.root);
    conversation.turn(QUESTION);
    conversation.says("And the parser?");
    conversation.send(&gateway);
    wait_until("the records are in the spool", || {
        team.state().contains("context_hit").then_some(())
    });
    gateway.kill();
    assert!(team.segments().is_empty());
    // With records in the spool, git may go anywhere; they wait for their branch.
    team.env.git(&team.root, &["checkout", "-q", "-b", "other"]);
    team.env
        .git(&team.root, &["commit", "-q", "--allow-empty", "-m", "other"]);
    team.env.git(&team.root, &["checkout", "-q", "--orphan", "unrelated"]);
    team.env.git(&team.root, &["commit", "-q", "-m", "unrelated"]);
    let told = team.env.stdout_of(&team.root, &["flush"]);
    assert!(
        told.contains("of main wait until that is checked out or merged"),
        "{told}"
    );
    assert!(team.segments().is_empty());
    team.env.git(&team.root, &["checkout", "-q", "other"]);
    let told = team.env.stdout_of(&team.root, &["flush"]);
    assert!(
        told.contains("records written:") && told.contains(".muninn/memory/sessions/session_"),
        "{told}"
    );
    assert_eq!(team.segments().len(), 2);
    assert_eq!(team.env.stdout_of(&team.root, &["flush"]).trim(), "nothing to write");
}

#[test]
fn nothing_reaches_the_repository_uninvited() {
    for memory in ["local", "off"] {
        let team = Team::new(memory);
        let gateway = team.serve();
        let mut conversation = Conversation::new(&team.root);
        conversation.turn(QUESTION);
        conversation.says("And the parser?");
        conversation.send(&gateway);
        assert!(gateway.stop().status.success());
        assert!(team.segments().is_empty());
        assert_eq!(team.env.git(&team.root, &["status", "--porcelain"]), "", "{memory}");
        assert_eq!(team.state().contains("context_hit"), memory == "local");
    }
}

#[test]
fn what_a_person_remembers_is_recalled_until_it_is_forgotten() {
    let team = Team::new("repo");
    let said = team.env.stdout_of(
        &team.root,
        &[
            "remember",
            "Invoices over 10000 cents need a second approval ghp_0123456789abcdefghijABCDEFGHIJ012345",
            "--file",
            "src/parser.rs",
            "--json",
        ],
    );
    let id = serde_json::from_str::<Value>(&said).unwrap()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let (_, record) = team.segments().remove(0);
    assert_eq!(
        record["text"],
        "Invoices over 10000 cents need a second approval [redacted:github-token]"
    );
    assert_eq!(record["sources"][0]["path"], "src/parser.rs");
    let missing = team.env.run(&team.root, &["remember", "x", "--file", "src/none.rs"]);
    assert_eq!(missing.status.code(), Some(4));
    let unknown = team.env.run(&team.root, &["forget", "01NOSUCHRECORD"]);
    assert_eq!(unknown.status.code(), Some(4));
    assert_eq!(record["id"], id.as_str());
}
