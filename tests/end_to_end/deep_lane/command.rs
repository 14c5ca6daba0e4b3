//! `muninn explore`.

use std::process::Output;

use muninn_tests::{Reply, TestEnv, Upstream};
use serde_json::{Value, json};

use super::stage::{CITED, calling, citing, finds, has_looked, named};
use crate::MUNINN;
use crate::stage::{FILES, QUESTION};

fn environment(explorer: &Upstream) -> (TestEnv, std::path::PathBuf) {
    let env = TestEnv::new(MUNINN);
    env.connect_with(&Upstream::start(), &named(&explorer.url(), ""));
    let root = env.repository("demo", &FILES);
    (env, root)
}

fn said(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn explore_prints_places_and_on_request_the_trace() {
    let explorer = Upstream::start_with(finds);
    let (env, root) = environment(&explorer);
    let output = env.run(&root, &["explore", QUESTION]);
    let (places, notes) = said(&output);
    assert_eq!(output.status.code(), Some(0), "{notes}");
    assert_eq!(places, format!("{CITED}\n\nThere.\n"));
    assert!(notes.contains("exploring with scout/scout-1"), "{notes}");
    assert!(notes.contains("grep pattern=\"archive_invoice\""), "as it goes: {notes}");
    assert!(notes.contains("final answer: 1 call in 2 turns, 20 + 10 tokens"), "{notes}");

    let (traced, _) = said(&env.run(&root, &["explore", QUESTION, "--trace"]));
    assert!(traced.starts_with(&places), "{traced}");
    for words in ["explored by scout/scout-1: final answer", "grep pattern=\"archive_invoice\" -> 1 lines in 1 files"] {
        assert!(traced.contains(words), "no `{words}` in {traced}");
    }
    assert_eq!(env.git(&root, &["status", "--porcelain"]), "", "nothing is written here");
}

#[test]
fn explore_json_equals_its_receipt() {
    let explorer = Upstream::start_with(finds);
    let (env, root) = environment(&explorer);
    let output = env.run(&root, &["explore", QUESTION, "--json", "--model", "other"]);
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["citations"], json!([CITED]));
    assert_eq!(told["answer"], "There.");
    assert_eq!(told["files"][0], "src/storage.rs", "what is cited comes first: {told}");
    assert_eq!(told["files"][1], "src/rate_limiter.rs", "{told}");
    assert_eq!(told["trace"]["model"], "scout/other");
    assert!(explorer.last().text().contains(r#""model":"other""#));
    let id = told["receipt"].as_str().unwrap();
    let receipt = muninn_tests::why(&env, id);
    assert_eq!(receipt["exploration"], told["trace"]);
    assert_eq!((&receipt["outcome"], &receipt["backend"]), (&json!("explored"), &json!("scout")));
    let tree = env.stdout_of(&root, &["why", id]);
    assert!(tree.contains(&format!("cites {CITED}")) && tree.contains("turn 2:"), "{tree}");
}

#[test]
fn nested_exploration_is_shown_as_a_tree() {
    let explorer = Upstream::start_with(|request| {
        let below = request.text().contains("Look in src only.");
        Reply::json(
            200,
            match (below, has_looked(request)) {
                (true, _) => citing(&[CITED]),
                (false, true) => citing(&["src/lib.rs:1-3"]),
                (false, false) => calling(&[("explore", json!({"question": "where?", "scope": "src"}))]),
            },
        )
    });
    let (env, root) = environment(&explorer);
    let (told, _) = said(&env.run(&root, &["explore", QUESTION, "--trace"]));
    assert!(told.contains("\n      explored by scout/scout-1 in src: final answer"), "{told}");
    assert!(told.contains("explored by scout/scout-1: final answer; 3 turns"), "{told}");
}

#[test]
fn failed_explorer_still_prints_lexical_results() {
    let error = r#"{"error":{"message":"out of memory","type":"server_error"}}"#;
    let explorer = Upstream::start_with(move |_| Reply::json(500, error));
    let (env, root) = environment(&explorer);
    let output = env.run(&root, &["explore", QUESTION]);
    let (places, notes) = said(&output);
    assert_eq!(output.status.code(), Some(1), "{notes}");
    assert_eq!(places.lines().next(), Some("src/rate_limiter.rs"), "{places}");
    assert!(notes.contains("model failed") && notes.contains("out of memory"), "{notes}");
}

#[test]
fn explore_without_explorer_says_what_to_configure() {
    let env = TestEnv::new(MUNINN);
    let root = env.repository("demo", &FILES);
    let output = env.run(&root, &["explore", QUESTION]);
    let (places, notes) = said(&output);
    assert_eq!((output.status.code(), places.as_str()), (Some(3), ""), "{notes}");
    assert!(notes.contains("no model is connected") && notes.contains("[explore]"), "{notes}");

    let explorer = Upstream::start_with(finds);
    let (env, root) = environment(&explorer);
    let elsewhere = env.run(&env.path("home"), &["explore", QUESTION]);
    assert_eq!(elsewhere.status.code(), Some(4), "{elsewhere:?}");
    assert_eq!(env.run(&root, &["explore"]).status.code(), Some(2));
    assert!(explorer.requests().is_empty());
}
