//! Requests as Claude Code sends them, each on a connection of its own.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use muninn_tests::http::Connection;
use serde_json::{Value, json};

use crate::load::request;

const CLIENTS: usize = 8;

pub(super) struct Asked {
    /// Until the first byte of the answer.
    pub(super) took: Duration,
    /// Whether no block was added.
    pub(super) is_none: bool,
}

#[derive(Clone, Copy)]
pub(super) struct Client<'a> {
    pub(super) gateway: SocketAddr,
    pub(super) root: &'a Path,
}

impl Client<'_> {
    pub(super) fn question(self, number: usize) -> io::Result<Asked> {
        self.post(&format!("question {number}"), &json!([user(number)]))
    }

    pub(super) fn eight(self, from: usize, count: usize) -> io::Result<Vec<Asked>> {
        thread::scope(|scope| {
            let client = |client: usize| {
                let mut numbers = (from + client..from + count).step_by(CLIENTS);
                scope.spawn(move || {
                    numbers.try_fold(Vec::new(), |mut asked, number| {
                        asked.push(self.question(number)?);
                        io::Result::Ok(asked)
                    })
                })
            };
            let clients: Vec<_> = (0..CLIENTS).map(client).collect();
            let mut asked = Vec::new();
            for client in clients {
                asked.extend(client.join().map_err(|_| io::Error::other("a client panicked"))??);
            }
            Ok(asked)
        })
    }

    /// A conversation of which the last turn is still to be learned from.
    pub(super) fn conversation(self, number: usize) -> io::Result<()> {
        let mut messages = vec![user(number)];
        for (tool, file) in [("Read", "gateway/src/lib.rs"), ("Edit", "memory/src/lib.rs")] {
            let input = json!({"file_path": self.root.join(file)});
            let call = json!({"type": "tool_use", "id": format!("toolu_{tool}"), "name": tool, "input": input});
            let result = json!({"type": "tool_result", "tool_use_id": call["id"], "content": "ok"});
            messages.push(json!({"role": "assistant", "content": [call]}));
            messages.push(json!({"role": "user", "content": [result]}));
        }
        self.post(&format!("open {number}"), &Value::Array(messages)).map(drop)
    }

    fn post(self, session: &str, messages: &Value) -> io::Result<Asked> {
        let body = json!({
            "model": "mock", "max_tokens": 64, "stream": true, "messages": messages,
            "system": [{"type": "text", "text": format!("Working directory: {}", self.root.display())}],
            "tools": [{"name": "Read", "input_schema": {"type": "object"}}],
        });
        let mut connection = Connection::try_open(self.gateway)?;
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
}

fn user(number: usize) -> Value {
    json!({"role": "user", "content": [{"type": "text", "text": request::question(number as u64)}]})
}
