//! `prompt_cache_key` identifies no conversation: vendors advise to share it between prompts with the same beginning.

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::spans::inserted;
use crate::stage::{QUESTION, Stage};

const CHAT: &str = "/v1/chat/completions";
const SECOND: &str = "How does parse_invoice read an Invoice from a line?";

/// A chat request under the key that everybody shares, with these words of a person and `ok` between them.
fn keyed(words: &[&str]) -> String {
    let mut messages: Vec<Value> = Vec::new();
    for word in words {
        if !messages.is_empty() {
            messages.push(json!({"role": "assistant", "content": "ok"}));
        }
        messages.push(json!({"role": "user", "content": word}));
    }
    json!({"model": "m", "prompt_cache_key": "shared", "messages": messages}).to_string()
}

/// The blocks that the backend got in this body.
fn blocks(stage: &Stage, body: &str) -> Vec<String> {
    inserted(body.as_bytes(), &stage.upstream.last().body)
}

fn change_ledger(stage: &Stage, sql: &str) {
    let ledger = Connection::open(stage.env.ledger()).unwrap();
    assert!(ledger.execute(sql, []).unwrap() > 0);
}

#[test]
fn new_conversation_under_a_shared_cache_key_gets_its_own_block() {
    let stage = Stage::new();
    let body = keyed(&[QUESTION]);
    let first = stage.ask(CHAT, &[], &body);
    assert_eq!(first.outcome(), "injected");
    assert!(blocks(&stage, &body)[0].contains("refilled_at"));
    let receipt = stage.why(&first);
    assert_eq!(receipt["session"], Value::Null, "{receipt}");

    let file = stage.root.join("src/rate_limiter.rs");
    let code = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, code.replace("refilled_at", "topped_up_at")).unwrap();
    change_ledger(&stage, "UPDATE ledger SET created_ms = created_ms - 86400000");
    let later = stage.ask(CHAT, &[], &body);
    assert_eq!(later.outcome(), "injected", "a day later it is another conversation");
    let block = &blocks(&stage, &body)[0];
    assert!(block.contains("topped_up_at") && !block.contains("refilled_at"), "{block}");
}

#[test]
fn conversation_with_only_a_cache_key_is_replayed() {
    let stage = Stage::new();
    let body = keyed(&[QUESTION]);
    stage.ask(CHAT, &[], &body);
    let first = blocks(&stage, &body);
    let body = keyed(&[QUESTION, SECOND]);
    stage.ask(CHAT, &[], &body);
    let second = blocks(&stage, &body);
    assert_eq!((second.len(), &second[0]), (2, &first[0]));
    let body = keyed(&[QUESTION, SECOND, "thanks"]);
    assert_eq!(stage.ask(CHAT, &[], &body).outcome(), "replayed");
    assert_eq!(blocks(&stage, &body), second);
}

#[test]
fn rows_with_a_cache_key_as_session_are_still_replayed() {
    let stage = Stage::new();
    let body = keyed(&[QUESTION]);
    let answered = stage.ask(CHAT, &[], &body);
    drop(stage.why(&answered));
    let first = blocks(&stage, &body);
    // Versions that took a cache key for a session wrote this row.
    change_ledger(&stage, "UPDATE ledger SET session = 'shared', created_ms = created_ms - 86400000");
    let body = keyed(&[QUESTION, SECOND]);
    stage.ask(CHAT, &[], &body);
    let second = blocks(&stage, &body);
    assert_eq!((second.len(), &second[0]), (2, &first[0]));
    let body = keyed(&[QUESTION, SECOND, "thanks"]);
    stage.ask(CHAT, &[], &body);
    assert_eq!(blocks(&stage, &body), second);
}
