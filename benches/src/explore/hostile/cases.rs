//! Hostile models and servers, and the repository that they explore.

use std::sync::Arc;
use std::time::Duration;

use muninn_context_engine::explore::REGISTRY_TOOLS;
use serde_json::{Value, json};

use crate::model::Policy;
use crate::model::answer::{Answer, Call, call};
use crate::model::conversation::Conversation;

pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) policy: Policy,
    pub(super) depth: u32,
    pub(super) tokens: u64,
    pub(super) calls: u32,
    pub(super) deadline: Duration,
}

pub(super) const RETRY: &str = "\
//! Waiting before a request is tried again.

/// How long a retry waits in milliseconds: twice as long each time, up to a bound.
pub fn backoff(attempt: u32) -> u64 {
    100 << attempt.min(6)
}
";
pub(super) const CLIENT: &str = "\
//! Sends requests, and waits by `backoff` before each retry.

use crate::retry::backoff;

pub fn send(attempts: u32, mut ask: impl FnMut(u64) -> bool) -> bool {
    (0..attempts).any(|attempt| ask(backoff(attempt)))
}
";

/// Paths outside the worktree, or to secret files.
const ESCAPES: [&str; 10] = [
    "../../etc/passwd",
    "../../../../../../../../etc/passwd",
    "/etc/passwd",
    "../outside.txt",
    "link/retry.rs",
    "link",
    "src/linked.rs",
    "src/../../outside.txt",
    ".env",
    "./.env",
];

pub(super) fn case(name: &'static str, policy: impl Fn(&Conversation) -> Answer + Send + Sync + 'static) -> Case {
    Case { name, policy: Arc::new(policy), depth: 2, tokens: 60_000, calls: 64, deadline: Duration::from_secs(20) }
}

fn waiting(name: &'static str, answer: Answer) -> Case {
    Case { deadline: Duration::from_secs(1), ..case(name, move |_| answer.clone()) }
}

fn grep(pattern: &str) -> Call {
    call("grep", json!({"pattern": pattern}))
}

pub(super) fn all() -> Vec<Case> {
    let broken = |name, text: &'static str| case(name, move |_| Answer::text(text));
    vec![
        case("the same call for ever", |_| Answer::calls([grep("retry")])),
        case("new calls for ever", |conversation| {
            Answer::calls((0..4).map(|at| grep(&format!("part_{}", 4 * conversation.turns + at))))
        }),
        case("invented paths", invented),
        // So far that none of its paths is left out.
        Case { tokens: 10_000_000, calls: 1_000, ..case("paths that lead out", escaping) },
        case("1,000 calls in one turn", |conversation| match conversation.turns {
            0 => Answer::calls((0..1_000).map(|at| grep(&format!("part_{at}")))),
            _ => Answer::cites(["src/retry.rs:1-9"]),
        }),
        Case {
            depth: 50,
            ..case("explorations 50 deep", |conversation| {
                let question = format!("What is part {} of it?", conversation.bytes);
                Answer::calls([call("explore", json!({"question": question, "scope": "src"}))])
            })
        },
        case("calls with broken JSON", |_| {
            Answer::calls([Call { tool: "grep".to_owned(), arguments: "{\"pattern\": \"retr".to_owned() }])
        }),
        broken("broken calls as JSON in text", "I call {\"name\": \"grep\", \"arguments\": {\"pattern\": \"ret"),
        broken(
            "broken calls as XML",
            "<tool_call><function=grep><parameter=pattern>retry</param></tool_call><invoke name=",
        ),
        broken("broken calls in a fence", "```tool_call\n{\"name\": \"grep\", \"arguments\": {\"pattern\": }\n```"),
        case("an answer of 5 MB", |_| Answer::text("src/retry.rs:1-9 ".repeat(5_000_000 / 17))),
        case("900 kB of brackets", |_| Answer::text("[{".repeat(450_000))),
        waiting("silence", Answer::Silence),
        waiting("a byte a second", Answer::Drip),
        case("errors of status 500", |_| Answer::Status(500)),
        case("a connection that breaks", |_| Answer::Break),
    ]
}

/// Reads files that do not exist, and cites them.
fn invented(conversation: &Conversation) -> Answer {
    let path = |at: usize| format!("src/secret/file_{at}.rs");
    match conversation.turns {
        0 => Answer::calls((0..8).map(|at| call("read", json!({"path": path(at)})))),
        _ => Answer::cites((0..8).map(|at| format!("{}:1-20", path(at)))),
    }
}

/// Names each of the paths in each tool's arguments, and cites them all at last.
fn escaping(conversation: &Conversation) -> Answer {
    let Some(path) = ESCAPES.get(conversation.turns).filter(|_| !conversation.is_last) else {
        return Answer::cites(ESCAPES);
    };
    let arguments = |tool: &str| -> Value {
        match tool {
            "grep" => json!({"pattern": "retry|root|RETRY", "path": path, "glob": path}),
            "find" => json!({"name": path, "path": path}),
            "definition" | "callers" => json!({"name": "retry", "path": path}),
            "metis" => json!({"id": path}),
            "recall" => json!({"query": path}),
            "explore" => json!({"question": "What is in it?", "scope": path}),
            _ => json!({"path": path}),
        }
    };
    Answer::calls(REGISTRY_TOOLS.iter().map(|tool| call(tool, arguments(tool))))
}
