//! Hostile or broken explorers: they end, read nothing outside the worktree, and change nothing.

use std::sync::Arc;

use muninn_tests::{Recorded, Reply, TestEnv, Upstream};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::stage::{DEEP, Deep, TARGETS, body, calling, citing, has_looked, named};
use crate::MUNINN;
use crate::stage::QUESTION;

/// What stands in files that nobody may read: an ignored one, and one outside of the repository.
const SECRET: &str = "hunter2-of-the-vault";

/// All that an explorer ever asks in one exploration, children included, with the bounds of the configuration.
const MOST_REQUESTS: usize = 200;

type Policy = dyn Fn(&Recorded, usize) -> String + Send + Sync;

/// A gateway whose explorer can be given another policy.
struct Hostile {
    deep: Deep,
    policy: Arc<Mutex<(Box<Policy>, usize)>>,
}

impl Hostile {
    fn new() -> Hostile {
        let policy: Arc<Mutex<(Box<Policy>, usize)>> = Arc::new(Mutex::new((Box::new(|_, _| citing(&[])), 0)));
        let explorer = Upstream::start_with({
            let policy = Arc::clone(&policy);
            move |request| {
                let (policy, number) = &mut *policy.lock();
                *number += 1;
                Reply::json(200, policy(request, *number - 1))
            }
        });
        let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start());
        env.connect_with(&upstream, &named(&explorer.url(), "deadline_ms = 600000"));
        std::fs::write(env.path("repositories/outside.txt"), SECRET).unwrap();
        let deep = Deep::on(env, upstream, explorer);
        std::fs::write(deep.root.join(".env"), format!("VAULT={SECRET}\n")).unwrap();
        std::os::unix::fs::symlink(deep.env.path("repositories/outside.txt"), deep.root.join("link.txt")).unwrap();
        Hostile { deep, policy }
    }

    /// Has the explorer explore by a policy, which gets the number of the request too, and checks what must hold whatever
    /// it does. Returns the trace.
    fn explored(&self, case: &str, policy: impl Fn(&Recorded, usize) -> String + Send + Sync + 'static) -> Value {
        println!("{case}");
        let deep = &self.deep;
        deep.says(Vec::new());
        *self.policy.lock() = (Box::new(policy), 0);
        let headers = [DEEP, ("x-session-id", case)];
        let (blocks, receipt) = deep.ask(TARGETS[0], &headers, &body(TARGETS[0], "m", &[QUESTION]));
        assert_eq!(blocks, deep.by_words(QUESTION), "{receipt}");
        let asked = deep.explorer.requests();
        assert!(asked.len() < MOST_REQUESTS, "{} requests", asked.len());
        for request in asked.iter().chain(&deep.upstream.requests()) {
            for outside in [SECRET, "root:x:0:", "[core]"] {
                assert!(!request.text().contains(outside), "{outside} in {}", request.text());
            }
        }
        let trace = receipt["exploration"].clone();
        assert_eq!(trace["citations"], json!([]), "{trace}");
        trace
    }
}

fn calls(trace: &Value) -> Vec<&Value> {
    let turns = trace["turns"].as_array().into_iter().flatten();
    turns.flat_map(|turn| turn["calls"].as_array().into_iter().flatten()).collect()
}

/// How many explorations are one inside another.
fn depth(trace: &Value) -> usize {
    let below = calls(trace).into_iter().map(|call| depth(&call["child"]));
    1 + below.max().unwrap_or(0)
}

#[test]
fn hostile_explorers_end_and_read_nothing_outside() {
    let hostile = Hostile::new();

    let trace = hostile.explored("explorer that repeats itself ends", |_, _| calling(&[("tree", json!({}))]));
    assert_eq!(trace["ended"], "repeats", "{trace}");

    let trace = hostile.explored("explorer that searches forever ends", |_, number| {
        calling(&[("find", json!({"name": format!("nothing-{number}")}))])
    });
    assert_eq!(trace["ended"], "turns", "{trace}");
    assert_eq!(hostile.deep.explorer.requests().len(), 6, "as many turns as it has");

    let trace = hostile.explored("explorer with a thousand calls ends", |_, number| {
        let calls: Vec<_> = (0..1000).map(|at| ("find", json!({"name": format!("nothing-{number}-{at}")}))).collect();
        calling(&calls)
    });
    let made = calls(&trace);
    let failed = made.iter().filter(|call| call["failed"] == true).count();
    assert!(made.len() - failed <= 64, "{} calls", made.len() - failed);
    assert!(trace["turns"][0]["left_out"].as_u64().unwrap() > 900, "{trace}");

    let trace = hostile.explored("explorer that delegates forever ends", |_, number| {
        let calls: Vec<_> =
            (0..20).map(|at| ("explore", json!({"question": format!("part {at} of {number}?")}))).collect();
        calling(&calls)
    });
    // Two levels below the first; the calls at the last level have none below them.
    assert!((2..=4).contains(&depth(&trace)), "{trace}");

    let trace = hostile.explored("invented citations are dropped", |_, _| {
        citing(&["src/nowhere.rs:1-9", "src/lib.rs:900-950", "a/b/c.py:3-4"])
    });
    assert_eq!((&trace["ended"], &trace["invented"]), (&json!("final"), &json!(3)));

    let places = [
        "../../../../../../etc/passwd",
        "/etc/passwd",
        "src/../../outside.txt",
        "../outside.txt",
        "link.txt",
        ".env",
        "./.env",
        ".git/config",
        "src/../.git/config",
        "file:///etc/passwd",
        "~/.ssh/id_rsa",
        ".\\.env",
        "/proc/self/environ",
    ];
    let trace = hostile.explored("paths outside the worktree are refused", move |request, number| {
        if number >= 5 {
            let cited: Vec<String> = places.iter().map(|place| format!("{place}:1-1")).collect();
            return citing(&cited.iter().map(String::as_str).collect::<Vec<_>>());
        }
        assert_eq!(has_looked(request), number > 0);
        let call = |place: &&str| match number {
            0 => ("read", json!({"path": place})),
            1 => ("grep", json!({"pattern": "VAULT|root|hunter|autocrlf", "path": place})),
            2 => ("grep", json!({"pattern": "VAULT|root|hunter|autocrlf", "glob": place})),
            3 => ("list", json!({"path": place})),
            _ => ("tree", json!({"path": place, "depth": 9})),
        };
        calling(&places.iter().map(call).collect::<Vec<_>>())
    });
    // Some of them are the same place in other words.
    assert!(trace["invented"].as_u64().unwrap() > 10, "{trace}");
    let first = &trace["turns"][0]["calls"];
    let failed = first.as_array().unwrap().iter().filter(|call| call["failed"] == true);
    assert_eq!(failed.count(), places.len(), "each reading failed: {first}");

    let bad = [
        r#"{"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"grep","arguments":"{\"pattern\": "}}]}}]}"#,
        r#"{"choices":[{"message":{"role":"assistant","content":"<tool_call>{\"name\": \"rm\", \"arguments\": {\"path\": \"/\"}}</tool_call>"}}]}"#,
        r#"{"choices":[{"message":{"role":"assistant","content":"```json\n{\"name\": \"read\", \"arguments\": 7}\n```"}}]}"#,
        r#"{"choices":[{"message":{"role":"assistant","content":"<tool_call>{\"name\": \"read\", \"arguments\": {\"path\": "}}]}"#,
    ];
    let trace = hostile.explored("malformed calls are tolerated", move |_, number| bad[number % bad.len()].to_owned());
    let made = calls(&trace);
    let failed = made.iter().all(|call| call["failed"] == true);
    assert!(failed, "none of these can be made: {}", trace);
    assert!(hostile.deep.explorer.requests().len() > 1, "it is told what is wrong: {}", trace);
}
