//! An agent that works through the gateway, and the records that this leaves on disk.

use std::fs;
use std::path::Path;

use muninn_tests::Gateway;
use serde_json::{Value, json};

/// The session of conversations that name no other.
pub(crate) const SESSION: &str = "3f0c8c1e-0000-4000-8000-000000000001";

/// Appends the text of all files below a directory.
pub(crate) fn gather(dir: &Path, text: &mut String) {
    for entry in fs::read_dir(dir).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() { gather(&path, text) } else { text.push_str(&fs::read_to_string(&path).unwrap_or_default()) }
    }
}

/// All records of the segments in a directory, in the order of their ids, each with the name of its file.
///
/// A new segment can be combined with others: the combined one is written first, and then the parts are removed. A part may
/// thus be gone before it is read, and until then its records are in two files.
pub(crate) fn records_in(dir: &Path) -> Vec<(String, Value)> {
    let mut records = loop {
        if let Some(records) = records_listed(dir) {
            break records;
        }
    };
    // Ids of one process grow, and those of another begin with a later time.
    records.sort_by_key(|(_, record)| id_of(record).to_owned());
    records.dedup_by(|(_, one), (_, other)| id_of(one) == id_of(other));
    records
}

fn id_of(record: &Value) -> &str {
    record["id"].as_str().unwrap()
}

/// The records of the segments that a directory lists; `None` if one of them is gone meanwhile.
fn records_listed(dir: &Path) -> Option<Vec<(String, Value)>> {
    let mut records = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        // A segment that is being written has a temporary name and may be gone before it is read.
        if !name.starts_with("session_") {
            continue;
        }
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            text => text.unwrap(),
        };
        let parsed = text.lines().map(|line| serde_json::from_str(line).unwrap());
        records.extend(parsed.map(|record| (name.clone(), record)));
    }
    Some(records)
}

/// A conversation of Claude Code, as it grows.
pub(crate) struct Conversation {
    session: String,
    root: String,
    messages: Vec<Value>,
    calls: usize,
}

impl Conversation {
    /// One of [`SESSION`].
    pub(crate) fn new(root: &Path) -> Conversation {
        Conversation::of(SESSION, root)
    }

    pub(crate) fn of(session: &str, root: &Path) -> Conversation {
        Conversation { session: session.to_owned(), root: root.display().to_string(), messages: Vec::new(), calls: 0 }
    }

    pub(crate) fn says(&mut self, text: &str) {
        self.messages.push(json!({"role": "user", "content": [{"type": "text", "text": text}]}));
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
        self.messages.push(json!({"role": "assistant", "content": [{"type": "text", "text": text}]}));
    }

    /// The request that goes on with it.
    pub(crate) fn body(&self) -> String {
        let body = json!({
            "model": "mock-1", "max_tokens": 64, "messages": self.messages,
            "system": [{"type": "text", "text": format!("Working directory: {}", self.root)}],
            "tools": [{"name": "Read", "input_schema": {"type": "object"}}]});
        body.to_string()
    }

    /// The transcript that Claude Code writes of it.
    pub(crate) fn transcript(&self) -> String {
        let line = |message: &Value| json!({"isSidechain": false, "type": message["role"], "message": message});
        let lines = self.messages.iter().map(|message| line(message).to_string() + "\n");
        lines.collect()
    }

    pub(crate) fn send(&self, gateway: &Gateway) {
        let response =
            gateway.post("/v1/messages", &[("x-claude-code-session-id", &self.session)], self.body().as_bytes());
        assert_eq!(response.status, 200, "{}", response.text());
    }

    /// A turn in which the agent reads one file, edits another, and says where a third thing is.
    pub(crate) fn turn(&mut self, question: &str) {
        let root = self.root.clone();
        self.says(question);
        self.calls("Read", &json!({"file_path": format!("{root}/src/rate_limiter.rs")}), "1\tx");
        self.calls(
            "Edit",
            &json!({"file_path": format!("{root}/src/parser.rs"), "old_string": "x", "new_string": "y"}),
            "ok",
        );
        self.calls("Write", &json!({"file_path": format!("{root}/.env"), "content": "TOKEN=x"}), "ok");
        self.calls("Read", &json!({"file_path": "/etc/passwd"}), "root");
        self.answers("Refilling is in src/rate_limiter.rs:14, invoices are kept by src/storage.rs.");
    }
}
