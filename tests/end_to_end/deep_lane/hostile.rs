//! Hostile or broken explorers: they end, read nothing outside the worktree, and change nothing.

use std::sync::atomic::{AtomicUsize, Ordering};

use muninn_tests::{Recorded, Reply, TestEnv, Upstream};
use serde_json::{Value, json};

use super::stage::{DEEP, Deep, TARGETS, body, calling, citing, has_looked, named};
use crate::MUNINN;
use crate::stage::QUESTION;

/// What stands in files that nobody may read: an ignored one, and one outside of the repository.
const SECRET: &str = "hunter2-of-the-vault";

/// All that an explorer ever asks in one exploration, children included, with the bounds of the configuration.
const MOST_REQUESTS: usize = 200;

struct Ended {
    deep: Deep,
    trace: Value,
}

/// Has an explorer explore, and checks what must hold whatever it does.
fn explored(policy: impl Fn(&Recorded, usize) -> String + Send + Sync + 'static) -> Ended {
    let count = AtomicUsize::new(0);
    let explorer = Upstream::start_with(move |request| {
        let number = count.fetch_add(1, Ordering::SeqCst);
        Reply::json(200, policy(request, number))
    });
    let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start());
    env.connect_with(&upstream, &named(&explorer.url(), "deadline_ms = 600000"));
    std::fs::write(env.path("repositories/outside.txt"), SECRET).unwrap();
    let deep = Deep::on(env, upstream, explorer);
    std::fs::write(deep.root.join(".env"), format!("VAULT={SECRET}\n")).unwrap();
    std::os::unix::fs::symlink(deep.env.path("repositories/outside.txt"), deep.root.join("link.txt")).unwrap();

    let headers = [DEEP, ("x-session-id", "deep")];
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
    Ended { deep, trace }
}

fn calls(trace: &Value) -> Vec<&Value> {
    let turns = trace["turns"].as_array().into_iter().flatten();
    turns.flat_map(|turn| turn["calls"].as_array().into_iter().flatten()).collect()
}

#[test]
fn explorer_that_repeats_itself_ends() {
    let ended = explored(|_, _| calling(&[("tree", json!({}))]));
    assert_eq!(ended.trace["ended"], "repeats", "{}", ended.trace);
}

#[test]
fn explorer_that_searches_forever_ends() {
    let ended = explored(|_, number| calling(&[("find", json!({"name": format!("nothing-{number}")}))]));
    assert_eq!(ended.trace["ended"], "turns", "{}", ended.trace);
    assert_eq!(ended.deep.explorer.requests().len(), 6, "as many turns as it has");
}

#[test]
fn explorer_with_a_thousand_calls_ends() {
    let ended = explored(|_, number| {
        let calls: Vec<_> = (0..1000).map(|at| ("find", json!({"name": format!("nothing-{number}-{at}")}))).collect();
        calling(&calls)
    });
    let made = calls(&ended.trace);
    let failed = made.iter().filter(|call| call["failed"] == true).count();
    assert!(made.len() - failed <= 64, "{} calls", made.len() - failed);
    assert!(ended.trace["turns"][0]["left_out"].as_u64().unwrap() > 900, "{}", ended.trace);
}

#[test]
fn explorer_that_delegates_forever_ends() {
    let ended = explored(|_, number| {
        let calls: Vec<_> =
            (0..20).map(|at| ("explore", json!({"question": format!("part {at} of {number}?")}))).collect();
        calling(&calls)
    });
    fn depth(trace: &Value) -> usize {
        let below = calls(trace).into_iter().map(|call| depth(&call["child"]));
        1 + below.max().unwrap_or(0)
    }
    // Two levels below the first; the calls at the last level have none below them.
    assert!((2..=4).contains(&depth(&ended.trace)), "{}", ended.trace);
}

#[test]
fn invented_citations_are_dropped() {
    let ended = explored(|_, _| citing(&["src/nowhere.rs:1-9", "src/lib.rs:900-950", "a/b/c.py:3-4"]));
    assert_eq!((&ended.trace["ended"], &ended.trace["invented"]), (&json!("final"), &json!(3)));
}

#[test]
fn paths_outside_the_worktree_are_refused() {
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
    let ended = explored(move |request, number| {
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
    assert!(ended.trace["invented"].as_u64().unwrap() > 10, "{}", ended.trace);
    let first = &ended.trace["turns"][0]["calls"];
    let failed = first.as_array().unwrap().iter().filter(|call| call["failed"] == true);
    assert_eq!(failed.count(), places.len(), "each reading failed: {first}");
}

#[test]
fn malformed_calls_are_tolerated() {
    let bad = [
        r#"{"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"grep","arguments":"{\"pattern\": "}}]}}]}"#,
        r#"{"choices":[{"message":{"role":"assistant","content":"<tool_call>{\"name\": \"rm\", \"arguments\": {\"path\": \"/\"}}</tool_call>"}}]}"#,
        r#"{"choices":[{"message":{"role":"assistant","content":"```json\n{\"name\": \"read\", \"arguments\": 7}\n```"}}]}"#,
        r#"{"choices":[{"message":{"role":"assistant","content":"<tool_call>{\"name\": \"read\", \"arguments\": {\"path\": "}}]}"#,
    ];
    let ended = explored(move |_, number| bad[number % bad.len()].to_owned());
    let made = calls(&ended.trace);
    let failed = made.iter().all(|call| call["failed"] == true);
    assert!(failed, "none of these can be made: {}", ended.trace);
    assert!(ended.deep.explorer.requests().len() > 1, "it is told what is wrong: {}", ended.trace);
}
