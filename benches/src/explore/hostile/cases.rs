//! Hostile models and servers.

use std::sync::Arc;
use std::time::Duration;

use muninn_context_engine::explore::REGISTRY_TOOLS;
use serde_json::{Value, json};

use crate::scripted::heard::Heard;
use crate::scripted::said::{Policy, Said, Spoken};

/// A script, and how far its exploration may go.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) policy: Arc<dyn Policy>,
    pub(super) depth: u32,
    pub(super) tokens: u64,
    pub(super) calls: u32,
    pub(super) deadline: Duration,
}

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

/// A case with the usual budget.
pub(super) fn case(name: &'static str, policy: impl Fn(&Heard) -> Said + Send + Sync + 'static) -> Case {
    Case { name, policy: Arc::new(policy), depth: 2, tokens: 60_000, calls: 64, deadline: Duration::from_secs(20) }
}

/// A case that ends at a deadline of one second.
fn waiting(name: &'static str, said: Said) -> Case {
    Case { deadline: Duration::from_secs(1), ..case(name, move |_| said.clone()) }
}

fn grep(pattern: &str) -> Spoken {
    Spoken::new("grep", &json!({"pattern": pattern}))
}

/// All of them, in the order of the table.
pub(super) fn all() -> Vec<Case> {
    let broken = |name, text: &'static str| case(name, move |_| Said::words(text));
    vec![
        case("the same call for ever", |_| Said::calls(vec![grep("retry")])),
        case("new calls for ever", |heard| {
            let calls = (0..4).map(|at| grep(&format!("part_{}", 4 * heard.turns + at)));
            Said::calls(calls.collect())
        }),
        case("invented paths", invented),
        // So far that none of its paths is left out.
        Case { tokens: 10_000_000, calls: 1_000, ..case("paths that lead out", escaping) },
        case("1,000 calls in one turn", |heard| match heard.turns {
            0 => Said::calls((0..1_000).map(|at| grep(&format!("part_{at}"))).collect()),
            _ => Said::cites(["src/retry.rs:1-9"]),
        }),
        Case {
            depth: 50,
            ..case("explorations 50 deep", |heard| {
                let question = format!("What is part {} of it?", heard.bytes);
                Said::calls(vec![Spoken::new("explore", &json!({"question": question, "scope": "src"}))])
            })
        },
        case("calls with broken JSON", |_| {
            Said::calls(vec![Spoken { tool: "grep".to_owned(), arguments: "{\"pattern\": \"retr".to_owned() }])
        }),
        broken("broken calls as JSON in text", "I call {\"name\": \"grep\", \"arguments\": {\"pattern\": \"ret"),
        broken(
            "broken calls as XML",
            "<tool_call><function=grep><parameter=pattern>retry</param></tool_call><invoke name=",
        ),
        broken("broken calls in a fence", "```tool_call\n{\"name\": \"grep\", \"arguments\": {\"pattern\": }\n```"),
        case("an answer of 5 MB", |_| Said::words("src/retry.rs:1-9 ".repeat(5_000_000 / 17))),
        case("900 kB of brackets", |_| Said::words("[{".repeat(450_000))),
        waiting("silence", Said::Silence),
        waiting("a byte a second", Said::Drip),
        case("errors of status 500", |_| Said::Status(500)),
        case("a connection that breaks", |_| Said::Break),
    ]
}

/// Reads what is not there, and cites it.
fn invented(heard: &Heard) -> Said {
    let path = |at: usize| format!("src/secret/file_{at}.rs");
    match heard.turns {
        0 => Said::calls((0..8).map(|at| Spoken::new("read", &json!({"path": path(at)}))).collect()),
        _ => Said::cites((0..8).map(|at| format!("{}:1-20", path(at)))),
    }
}

/// Names each of the paths in each tool's arguments, and cites them all at last.
fn escaping(heard: &Heard) -> Said {
    let Some(path) = ESCAPES.get(heard.turns).filter(|_| !heard.is_last) else {
        return Said::cites(ESCAPES);
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
    Said::calls(REGISTRY_TOOLS.iter().map(|tool| Spoken::new(tool, &arguments(tool))).collect())
}
