//! Requests as Claude Code sends them, each on a connection of its own.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use muninn_tests::http::Connection;
use serde_json::{Value, json};

use crate::bodies;

const CLIENTS: usize = 8;

/// The outcome of a question: its latency, and whether it got a block.
pub(super) struct Asked {
    /// Until the first byte of the answer.
    pub(super) took: Duration,
    /// Whether no block was added.
    pub(super) is_none: bool,
}

/// Opens a conversation with a question that nobody has asked before.
pub(super) fn question(gateway: SocketAddr, root: &Path, number: usize) -> io::Result<Asked> {
    let question = bodies::question(number as u64);
    let messages = json!([{"role": "user", "content": [{"type": "text", "text": question}]}]);
    post(gateway, root, &format!("question {number}"), &messages)
}

/// Questions of several concurrent clients.
pub(super) fn eight(gateway: SocketAddr, root: &Path, from: usize, count: usize) -> io::Result<Vec<Asked>> {
    thread::scope(|scope| {
        let client = |client: usize| {
            let numbers = (from + client..from + count).step_by(CLIENTS);
            move || numbers.map(|number| question(gateway, root, number)).collect::<io::Result<Vec<_>>>()
        };
        let clients: Vec<_> = (0..CLIENTS).map(|number| scope.spawn(client(number))).collect();
        let mut asked = Vec::new();
        for client in clients {
            asked.extend(client.join().map_err(|_| io::Error::other("a client panicked"))??);
        }
        Ok(asked)
    })
}

/// A conversation of which the last turn is still to be learned from.
pub(super) fn conversation(gateway: SocketAddr, root: &Path, number: usize) -> io::Result<()> {
    let said = |text: &str| json!({"role": "user", "content": [{"type": "text", "text": text}]});
    let mut messages = vec![said(&bodies::question(number as u64))];
    for (at, (tool, file)) in [("Read", "gateway/src/lib.rs"), ("Edit", "memory/src/lib.rs")].into_iter().enumerate() {
        let id = format!("toolu_{at}");
        let input = json!({"file_path": root.join(file)});
        messages.push(
            json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": tool, "input": input}]}),
        );
        messages
            .push(json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "ok"}]}));
    }
    post(gateway, root, &format!("open {number}"), &Value::Array(messages)).map(|_| ())
}

fn post(gateway: SocketAddr, root: &Path, session: &str, messages: &Value) -> io::Result<Asked> {
    let body = json!({
        "model": "mock", "max_tokens": 64, "stream": true, "messages": messages,
        "system": [{"type": "text", "text": format!("Working directory: {}", root.display())}],
        "tools": [{"name": "Read", "input_schema": {"type": "object"}}],
    });
    let mut connection = Connection::try_open(gateway)?;
    let headers = [("content-type", "application/json"), ("x-claude-code-session-id", session)];
    let started = Instant::now();
    connection.send("POST", "/v1/messages", &headers, body.to_string().as_bytes());
    let mut answer = connection.streaming();
    let took = started.elapsed();
    let rest = answer.rest()?;
    if answer.status != 200 {
        return Err(io::Error::other(String::from_utf8_lossy(&rest).into_owned()));
    }
    let context = answer.headers.get("x-muninn-context");
    Ok(Asked { took, is_none: context.is_some_and(|context| context.starts_with("none")) })
}
