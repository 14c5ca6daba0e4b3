//! A gateway between a backend that answers and one whose model explores.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use muninn_tests::http::Response;
use muninn_tests::{Control, Gateway, Recorded, Reply, TestEnv, Upstream, script, wait_until};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::MUNINN;
use crate::spans::inserted;
use crate::stage::{FILES, QUESTION};

/// The header by which a request asks for the deep lane.
pub(super) const DEEP: (&str, &str) = ("x-muninn-context", "deep");

/// The explorer's citation, which the lexical lane does not find for [`QUESTION`].
pub(super) const CITED: &str = "src/storage.rs:9-13";

/// Text that only the cited lines hold.
pub(super) const MARK: &str = "self.invoices.push(invoice)";

/// The paths of the three wire formats.
pub(super) const TARGETS: [&str; 3] = ["/v1/chat/completions", "/v1/messages", "/v1/responses"];

/// A chat completion's text.
fn completion(message: &Value) -> String {
    json!({
        "id": "chatcmpl-x", "object": "chat.completion", "created": 1, "model": "scout-1",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    })
    .to_string()
}

/// The explorer calls tools.
pub(super) fn calling(calls: &[(&str, Value)]) -> String {
    let call = |(at, (name, arguments)): (usize, &(&str, Value))| {
        json!({"id": format!("c{at}"), "type": "function",
               "function": {"name": name, "arguments": arguments.to_string()}})
    };
    let calls: Vec<Value> = calls.iter().enumerate().map(call).collect();
    completion(&json!({"role": "assistant", "content": null, "tool_calls": calls}))
}

/// It looks at one thing.
pub(super) fn looking() -> String {
    calling(&[("grep", json!({"pattern": "archive_invoice"}))])
}

/// It ends with these places.
pub(super) fn citing(places: &[&str]) -> String {
    calling(&[("final", json!({"citations": places, "answer": "There."}))])
}

/// Whether this request's model has seen the result of a call.
pub(super) fn has_looked(request: &Recorded) -> bool {
    request.text().contains(r#""role":"tool""#)
}

/// Looks once, and cites [`CITED`] for [`QUESTION`] and nothing for other questions.
pub(super) fn finds(request: &Recorded) -> Reply {
    let places: &[&str] = if request.text().contains(QUESTION) { &[CITED] } else { &[] };
    Reply::json(200, if has_looked(request) { citing(places) } else { looking() })
}

/// An answer under the test's control.
pub(super) fn held() -> (Control, Reply) {
    let (control, script) = script();
    (control, Reply::scripted(script))
}

/// Gives such an answer.
pub(super) fn give(control: &Control, body: &str) {
    control.head_with(200, &[("content-type", "application/json")]);
    control.send(body);
    control.finish();
}

/// A conversation that asked `questions`, the model having answered all but the last.
pub(super) fn body(target: &str, model: &str, questions: &[&str]) -> Value {
    let mut turns = Vec::new();
    for question in questions {
        turns.push(json!({"role": "user", "content": question}));
        turns.push(json!({"role": "assistant", "content": "ok"}));
    }
    turns.pop();
    match target {
        "/v1/responses" => json!({"model": model, "input": turns}),
        _ => json!({"model": model, "max_tokens": 100, "messages": turns}),
    }
}

/// The same, to be answered by a stream.
pub(super) fn streamed(target: &str, model: &str, questions: &[&str]) -> String {
    let mut body = body(target, model, questions);
    body["stream"] = true.into();
    body.to_string()
}

/// All of it, running, the repository indexed.
pub(super) struct Deep {
    pub(super) env: TestEnv,
    pub(super) upstream: Upstream,
    pub(super) explorer: Upstream,
    /// The next text of the explorer, before it does as [`finds`].
    replies: Arc<Mutex<VecDeque<Reply>>>,
    pub(super) root: PathBuf,
    pub(super) gateway: Gateway,
}

impl Deep {
    /// With an explorer that finds; `explore` are lines of `[explore]`.
    pub(super) fn new(explore: &str) -> Deep {
        Deep::before(Upstream::start(), explore)
    }

    /// The same before this backend.
    pub(super) fn before(upstream: Upstream, explore: &str) -> Deep {
        let replies: Arc<Mutex<VecDeque<Reply>>> = Arc::default();
        let explorer = Upstream::start_with({
            let replies = Arc::clone(&replies);
            move |request| {
                let next = replies.lock().pop_front();
                next.unwrap_or_else(|| finds(request))
            }
        });
        Deep { replies, ..Deep::with(upstream, explorer, explore) }
    }

    /// With these two.
    pub(super) fn with(upstream: Upstream, explorer: Upstream, explore: &str) -> Deep {
        let env = TestEnv::new(MUNINN);
        env.connect_with(&upstream, &named(&explorer.url(), explore));
        Deep::on(env, upstream, explorer)
    }

    /// In an environment that is configured.
    pub(super) fn on(env: TestEnv, upstream: Upstream, explorer: Upstream) -> Deep {
        let root = env.repository("demo", &FILES);
        let gateway = env.serve(&root, &[]);
        gateway.wait_ready();
        Deep { env, upstream, explorer, replies: Arc::default(), root, gateway }
    }

    /// Has the explorer say these things one after the other, and forgets all earlier requests.
    pub(super) fn says(&self, replies: Vec<Reply>) {
        self.upstream.take_requests();
        self.explorer.take_requests();
        *self.replies.lock() = replies.into();
    }

    /// Sends a body of a session that must be answered with 200; returns what was inserted, and the receipt.
    ///
    /// The backend gets the body with the model's plain name.
    pub(super) fn ask(&self, target: &str, headers: &[(&str, &str)], body: &Value) -> (Vec<String>, Value) {
        let response = self.gateway.post(target, headers, body.to_string().as_bytes());
        assert_eq!(response.status, 200, "{target}: {}", response.text());
        (self.inserted(body), self.why(&response))
    }

    /// What the newest request at the backend has that this body has not.
    pub(super) fn inserted(&self, body: &Value) -> Vec<String> {
        let mut plain = body.clone();
        let model = plain["model"].as_str().unwrap().trim_end_matches(":deep").to_owned();
        plain["model"] = model.into();
        inserted(plain.to_string().as_bytes(), &self.upstream.last().body)
    }

    pub(super) fn why(&self, response: &Response) -> Value {
        muninn_tests::why(&self.env, response.request_id())
    }

    /// The block of the lexical lane for a question.
    pub(super) fn by_words(&self, question: &str) -> Vec<String> {
        let body = body(TARGETS[0], "m", &[question]);
        let (blocks, receipt) = self.ask(TARGETS[0], &[("x-session-id", "words alone")], &body);
        assert!(receipt.get("exploration").is_none(), "{receipt}");
        blocks
    }

    /// Explorations under way, as the metrics have it.
    pub(super) fn wait_explorations(&self, count: u32) {
        let line = format!("muninn_explorations {count}");
        wait_until(&line, || {
            let metrics = self.gateway.request("GET", "/metrics", &[], b"").text();
            metrics.lines().any(|found| found == line).then_some(())
        });
    }

    /// The receipts of background explorations, once there are as many.
    pub(super) fn wait_explored(&self, count: usize) -> Vec<Value> {
        wait_until("the receipt of an exploration", || {
            let listed = self.env.stdout_of(&self.root, &["why", "--json"]);
            let listed: Vec<Value> = serde_json::from_str(&listed).unwrap();
            let explored = listed.into_iter().filter(|receipt| receipt["outcome"] == "explored");
            Some(explored.collect::<Vec<_>>()).filter(|explored| explored.len() >= count)
        })
    }
}

/// The configuration of an explorer at this address.
pub(super) fn named(url: &str, explore: &str) -> String {
    format!(
        "[[backends]]\nname = \"scout\"\nurl = \"{url}\"\ndialect = \"chat\"\nretries = 0\n\
         [explore]\nbackend = \"scout\"\nmodel = \"scout-1\"\n{explore}\n"
    )
}

/// The files and lines that a receipt's items come from.
pub(super) fn sources(receipt: &Value) -> Vec<String> {
    let items = receipt["items"].as_array().cloned().unwrap_or_default();
    let source = |item: &Value| item["source"].as_str().unwrap_or_default().to_owned();
    items.iter().map(source).collect()
}
