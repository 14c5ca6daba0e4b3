//! Which questions are explored beside their conversations.

use super::stage::{CITED, DEEP, Deep, MARK, TARGETS, body};
use crate::stage::QUESTION;

/// Words that occur in the repository, but are specific to no file.
const DOUBTFUL: &str = "Why are there so many numbers when they come in memory over time?";

/// Asks in a session of its own.
fn ask(deep: &Deep, questions: &[&str]) -> serde_json::Value {
    let session = questions.join(" ");
    let body = body(TARGETS[0], "m", questions);
    deep.ask(TARGETS[0], &[("x-session-id", &session)], &body).1
}

/// What explorations were about, once `count` are over, sorted.
fn explored(deep: &Deep, count: usize) -> Vec<String> {
    let explored = deep.wait_explored(count);
    let question = |receipt: &serde_json::Value| receipt["exploration"]["question"].as_str().unwrap().to_owned();
    let mut questions: Vec<String> = explored.iter().map(question).collect();
    questions.sort();
    questions
}

#[test]
fn auto_explores_only_uncertain_questions() {
    let deep = Deep::new("mode = \"auto\"");
    let clear = ask(&deep, &[QUESTION]);
    assert_eq!(clear["outcome"], "injected", "{clear}");
    for nothing in ["yes, do it", "hello", "thanks a lot!"] {
        let receipt = ask(&deep, &[QUESTION, nothing]);
        assert_eq!(receipt["outcome"], "replayed", "{receipt}");
        let receipt = ask(&deep, &[nothing]);
        assert_eq!(receipt["outcome"], "none", "{receipt}");
    }
    let doubtful = ask(&deep, &[DOUBTFUL]);
    assert_eq!(doubtful["outcome"], "none", "nothing passes the threshold: {doubtful}");
    assert_eq!(explored(&deep, 1), [DOUBTFUL]);
    assert!(deep.explorer.requests().iter().all(|request| request.text().contains(DOUBTFUL)));
}

#[test]
fn background_explores_every_question_and_nothing_else() {
    let deep = Deep::new("mode = \"background\"");
    drop(ask(&deep, &["yes, do it"]));
    drop(ask(&deep, &[QUESTION]));
    drop(ask(&deep, &[DOUBTFUL]));
    assert_eq!(explored(&deep, 2), [QUESTION, DOUBTFUL]);
}

#[test]
fn header_overrides_the_background_setting() {
    let deep = Deep::new("mode = \"background\"");
    let body = body(TARGETS[0], "m", &[QUESTION]);
    for mode in ["off", "bypass"] {
        let headers = [("x-session-id", mode), ("x-muninn-context", mode)];
        let (blocks, _) = deep.ask(TARGETS[0], &headers, &body);
        assert_eq!(blocks.len(), 0, "{mode}");
    }
    let (blocks, receipt) = deep.ask(TARGETS[0], &[DEEP], &body);
    assert!(blocks[0].contains(MARK), "{receipt}");
    assert_eq!(receipt["exploration"]["citations"][0], CITED);
    assert_eq!(deep.explorer.requests().len(), 2, "the one that waited, and no other");
}
