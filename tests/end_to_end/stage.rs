//! The common stage: a small repository, a gateway that has indexed it, and a recording backend.

use std::path::{Path, PathBuf};

use muninn_tests::http::Response;
use muninn_tests::{Control, Gateway, TestEnv, Upstream};

use crate::MUNINN;

/// A question that the demo repository answers.
pub(crate) const QUESTION: &str = "How does the TokenBucket refill in the rate limiter?";

/// Files that answer [`QUESTION`], and some that do not.
pub(crate) const FILES: [(&str, &str); 4] = [
    (
        "src/rate_limiter.rs",
        "//! A rate limiter after the token bucket scheme.\n\nuse std::time::Instant;\n\n\
         /// A bucket of tokens that fills up over time.\npub struct TokenBucket {\n    capacity: f64,\n    tokens: f64,\n    \
         refilled_at: Instant,\n    per_second: f64,\n}\n\nimpl TokenBucket {\n    /// Adds the tokens that have come \
         since the last refill of the rate limiter's bucket.\n    pub fn refill(&mut self, now: Instant) {\n        let \
         elapsed = now.duration_since(self.refilled_at).as_secs_f64();\n        self.tokens = (self.tokens + elapsed * \
         self.per_second).min(self.capacity);\n        self.refilled_at = now;\n    }\n\n    /// Takes one token, if \
         there is one.\n    pub fn take(&mut self, now: Instant) -> bool {\n        self.refill(now);\n        if \
         self.tokens >= 1.0 {\n            self.tokens -= 1.0;\n            true\n        } else {\n            false\n        \
         }\n    }\n}\n",
    ),
    (
        "src/parser.rs",
        "//! Reads invoices.\n\npub struct Invoice {\n    pub number: u32,\n    pub total_cents: i64,\n}\n\n\
         pub(crate) fn parse_invoice(line: &str) -> Option<Invoice> {\n    let (number, total) = line.split_once(';')?;\n    \
         Some(Invoice { number: number.parse().ok()?, total_cents: total.parse().ok()? })\n}\n",
    ),
    ("src/lib.rs", "pub mod parser;\npub mod rate_limiter;\npub mod storage;\n"),
    (
        "src/storage.rs",
        "//! Keeps invoices in memory.\n\nuse crate::parser::Invoice;\n\npub struct InvoiceStore {\n    invoices: Vec<Invoice>,\n}\n\n\
         impl InvoiceStore {\n    pub fn archive_invoice(&mut self, invoice: Invoice) {\n        self.invoices.push(invoice);\n    }\n}\n",
    ),
];

/// All of it, running.
pub(crate) struct Stage {
    pub(crate) env: TestEnv,
    pub(crate) upstream: Upstream,
    pub(crate) root: PathBuf,
    pub(crate) gateway: Gateway,
}

/// Adds files that answer no question.
pub(crate) fn write_notes(root: &Path) {
    let notes = root.join("notes");
    std::fs::create_dir_all(&notes).unwrap();
    for number in 0..100 {
        std::fs::write(notes.join(format!("{number}.txt")), format!("Entry {number}.\n")).unwrap();
    }
}

impl Stage {
    /// With the demo repository, indexed.
    pub(crate) fn new() -> Stage {
        let stage = Stage::with(Upstream::start(), "");
        stage.gateway.wait_ready();
        stage
    }

    /// With the demo repository among other files, indexed. A map of a few files of a small repository gains nothing.
    pub(crate) fn large() -> Stage {
        let stage = Stage::begin(Upstream::start(), "", write_notes);
        stage.gateway.wait_ready();
        stage
    }

    /// With an answer under the test's control; nothing is injected, so nothing is waited for.
    pub(crate) fn scripted() -> (Stage, Control) {
        let (upstream, control) = Upstream::start_scripted();
        (Stage::with(upstream, ""), control)
    }

    /// With this backend and more configuration; the index may still be on its way.
    pub(crate) fn with(upstream: Upstream, more: &str) -> Stage {
        Stage::begin(upstream, more, |_| ())
    }

    /// Changes the repository before the gateway starts.
    fn begin(upstream: Upstream, more: &str, prepare: impl FnOnce(&Path)) -> Stage {
        let env = TestEnv::new(MUNINN);
        env.connect_with(&upstream, more);
        let root = env.repository("demo", &FILES);
        prepare(&root);
        let gateway = env.serve(&root, &[]);
        Stage { env, upstream, root, gateway }
    }

    /// Sends a body that must be answered with 200.
    pub(crate) fn ask(&self, target: &str, headers: &[(&str, &str)], body: &str) -> Response {
        let response = self.gateway.post(target, headers, body.as_bytes());
        assert_eq!(response.status, 200, "{target}: {}", response.text());
        response
    }

    /// The receipt of an answered request.
    pub(crate) fn why(&self, response: &Response) -> serde_json::Value {
        muninn_tests::why(&self.env, response.request_id())
    }
}

/// A JSON string literal.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The simplest request of each format that asks `question`: path and body.
pub(crate) fn simple(question: &str) -> [(&'static str, String); 3] {
    let question = quoted(question);
    [
        ("/v1/chat/completions", format!(r#"{{"model":"m","messages":[{{"role":"user","content":{question}}}]}}"#)),
        (
            "/v1/messages",
            format!(r#"{{"model":"m","max_tokens":100,"messages":[{{"role":"user","content":{question}}}]}}"#),
        ),
        ("/v1/responses", format!(r#"{{"model":"m","input":{question}}}"#)),
    ]
}

/// The message of an error body, after checking that it has the shape of the path's wire format.
pub(crate) fn error_message(target: &str, response: &Response) -> String {
    let body = response.json();
    if target.starts_with("/v1/messages") {
        assert_eq!(body["type"], "error", "{body}");
        assert!(body["error"]["type"].is_string(), "{body}");
    } else {
        assert!(body["error"]["code"].is_string() && body["error"]["type"].is_string(), "{body}");
    }
    body["error"]["message"].as_str().expect("an error has a message").to_owned()
}
