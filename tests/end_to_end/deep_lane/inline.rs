//! A request that waits for an exploration of its own.

use std::sync::Arc;

use muninn_tests::http::Connection;
use muninn_tests::{TestEnv, Upstream};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::stage::{CITED, DEEP, Deep, MARK, TARGETS, body, finds, held, named, sources};
use crate::stage::QUESTION;

use crate::MUNINN;

/// More explorations than a gateway has blocking threads.
const WAITING: usize = 40;

const OTHER: &str = "And how does parse_invoice read the total_cents of an Invoice?";

/// The block has what was cited, and then what words found; the receipt says how it came there.
fn assert_explored(blocks: &[String], receipt: &Value) {
    let [block] = blocks else { panic!("one block: {blocks:?}") };
    let (cited, by_words) = (block.find(MARK), block.find("pub struct TokenBucket"));
    assert!(cited.is_some() && by_words.is_some() && cited < by_words, "{block}");
    let sources = sources(receipt);
    assert!(sources[0].starts_with("src/storage.rs:"), "{sources:?}");
    let first = sources.iter().position(|source| source.starts_with("src/rate_limiter.rs"));
    assert!(first.is_some_and(|first| first > 0), "{sources:?}");
    let trace = &receipt["exploration"];
    assert_eq!(trace["model"], "scout/scout-1", "{receipt}");
    assert_eq!(trace["ended"], "final");
    assert_eq!(trace["citations"], json!([CITED]));
    assert_eq!(trace["turns"][0]["calls"][0]["tool"], "grep");
    assert_eq!(trace["question"], QUESTION);
}

#[test]
fn header_or_model_suffix_enables_the_deep_lane() {
    let deep = Deep::new("");
    for target in TARGETS {
        for (way, headers, model) in [("header", vec![DEEP], "m"), ("name", vec![], "m:deep")] {
            let session = format!("{way} {target}");
            let headers = [&headers[..], &[("x-session-id", session.as_str())]].concat();
            let before = deep.explorer.requests().len();
            let (blocks, receipt) = deep.ask(target, &headers, &body(target, model, &[QUESTION]));
            assert_explored(&blocks, &receipt);
            assert_eq!(deep.explorer.requests().len() - before, 2, "{session}");
            assert_eq!(receipt["model"], model, "as it was asked for");
        }
    }
    let plain = body(TARGETS[0], "m", &[QUESTION]);
    let before = deep.explorer.requests().len();
    let (blocks, receipt) = deep.ask(TARGETS[0], &[("x-session-id", "plain")], &plain);
    assert!(receipt.get("exploration").is_none() && !blocks[0].contains(MARK), "{receipt}");
    assert_eq!(deep.explorer.requests().len(), before, "who does not ask gets none");
}

#[test]
fn configuration_enables_the_deep_lane() {
    let deep = Deep::new("mode = \"inline\"");
    for target in TARGETS {
        let (blocks, receipt) = deep.ask(target, &[("x-session-id", target)], &body(target, "m", &[QUESTION]));
        assert_explored(&blocks, &receipt);
    }
    let id = {
        let off = [("x-session-id", "off"), ("x-muninn-context", "off")];
        let before = deep.explorer.requests().len();
        let (blocks, receipt) = deep.ask(TARGETS[0], &off, &body(TARGETS[0], "m", &[QUESTION]));
        assert_eq!((blocks.len(), deep.explorer.requests().len()), (0, before), "{receipt}");
        let (_, receipt) = deep.ask(TARGETS[0], &[("x-session-id", "why")], &body(TARGETS[0], "m", &[QUESTION]));
        receipt["id"].as_str().unwrap().to_owned()
    };
    let told = deep.env.stdout_of(&deep.root, &["why", &id]);
    for words in [
        "explored by scout/scout-1: final answer; 2 turns, 1 call (0 repeated)",
        "turn 1: 10 + 5 tokens",
        "grep pattern=\"archive_invoice\" -> 1 lines in 1 files",
        &format!("cites {CITED}"),
        "says: There.",
    ] {
        assert!(told.contains(words), "no `{words}` in {told}");
    }
}

#[test]
fn waiting_explorations_do_not_delay_plain_questions() {
    let controls = Arc::new(Mutex::new(Vec::new()));
    let explorer = Upstream::start_with({
        let controls = Arc::clone(&controls);
        move |_| {
            let (control, answer) = held();
            controls.lock().push(control);
            answer
        }
    });
    let deep = Deep::with(Upstream::start(), explorer, "deadline_ms = 600000");
    let mut clients = Vec::new();
    for number in 0..WAITING {
        let session = format!("waiting {number}");
        let headers = [DEEP, ("x-session-id", session.as_str())];
        let body = body(TARGETS[0], "m", &[&format!("{QUESTION} ({number})")]).to_string();
        let mut client = Connection::open(deep.gateway.address);
        client.send("POST", TARGETS[0], &headers, body.as_bytes());
        clients.push(client);
    }
    // As many as could wait where each held a thread.
    deep.explorer.wait_for(16);
    let blocks = deep.by_words(QUESTION);
    assert_eq!(blocks.len(), 1, "a plain question got nothing");
    deep.explorer.wait_for(WAITING);
    deep.wait_explorations(u32::try_from(WAITING).unwrap());
    clients.into_iter().for_each(|client| client.close());
    deep.wait_explorations(0);
}

#[test]
fn turn_is_explored_once_and_replayed() {
    let deep = Deep::new("");
    for target in TARGETS {
        let headers = [DEEP, ("x-session-id", target)];
        let before = deep.explorer.requests().len();
        let first = body(target, "m", &[QUESTION]);
        let (block, _) = deep.ask(target, &headers, &first);
        assert_eq!(deep.explorer.requests().len() - before, 2, "{target}");

        let (again, receipt) = deep.ask(target, &headers, &first);
        assert_eq!(again, block, "a retry is sent the same");
        assert!(receipt.get("exploration").is_none(), "{receipt}");
        assert_eq!(deep.explorer.requests().len() - before, 2, "and explores nothing");

        let second = body(target, "m", &[QUESTION, OTHER]);
        let (blocks, receipt) = deep.ask(target, &headers, &second);
        assert_eq!(blocks[0], block[0], "{target}");
        assert_eq!(receipt["exploration"]["question"], OTHER, "{receipt}");
        let asked = deep.explorer.requests().split_off(before + 2);
        assert_eq!(asked.len(), 2, "{target}: a new question is explored anew");
        assert!(asked.iter().all(|request| request.text().contains(OTHER)), "{target}");

        let third = body(target, "m", &[QUESTION, OTHER, "thanks"]);
        let (replayed, _) = deep.ask(target, &headers, &third);
        assert_eq!(replayed, blocks, "{target}");
    }
}

#[test]
fn backend_gets_the_model_name_without_the_deep_suffix() {
    let (upstream, explorer) = (Upstream::start(), Upstream::start_with(finds));
    let env = TestEnv::new(MUNINN);
    let routes = "[[routes]]\nmodel = \"x:deep\"\nbackend = \"mock\"\n\
                  [[routes]]\nmodel = \"nick*\"\nbackend = \"mock\"\nrename = \"full-*\"\n";
    env.connect_with(&upstream, &format!("{routes}{}", named(&explorer.url(), "")));
    let deep = Deep::on(env, upstream, explorer);
    let sent = |target: &str, model: &str| {
        let body = body(target, model, &["hello"]).to_string();
        let response = deep.gateway.post(target, &[], body.as_bytes());
        assert_eq!(response.status, 200, "{}", response.text());
        let sent: Value = serde_json::from_slice(&deep.upstream.last().body).unwrap();
        sent["model"].as_str().unwrap().to_owned()
    };
    for target in TARGETS {
        assert_eq!(sent(target, "m:deep"), "m", "{target}");
        assert_eq!(sent(target, "nick:deep"), "full-", "{target}");
        assert_eq!(sent(target, "x:deep"), "x:deep", "{target}");
        assert_eq!(sent(target, ":deep"), ":deep", "{target}");
    }
    assert_eq!(sent("/v1/messages/count_tokens", "m:deep"), "m");
    let before = deep.explorer.requests().len();
    let whole = body(TARGETS[0], "x:deep", &[QUESTION]).to_string();
    let response = deep.gateway.post(TARGETS[0], &[], whole.as_bytes());
    assert!(deep.why(&response).get("exploration").is_none());
    assert_eq!(deep.explorer.requests().len(), before);
}
