//! A ledger that is locked, broken or on a full disk: requests are forwarded, and earlier blocks are replayed.

use std::path::Path;
use std::process::Command;

use muninn_tests::{Gateway, TestEnv, Upstream};
use rusqlite::Connection;

use crate::MUNINN;
use crate::doctor::Report;
use crate::spans::inserted;
use crate::stage::{FILES, QUESTION, Stage, quoted, simple};

const CHAT: &str = "/v1/chat/completions";
const SESSION: &[(&str, &str)] = &[("x-session-id", "s")];

/// A second turn after [`QUESTION`], and a third after that.
fn later_turn(turns: &[&str]) -> String {
    let mut messages = format!(r#"{{"role":"user","content":{}}}"#, quoted(QUESTION));
    for turn in turns {
        messages.push_str(&format!(
            r#",{{"role":"assistant","content":"ok"}},{{"role":"user","content":{}}}"#,
            quoted(turn)
        ));
    }
    format!(r#"{{"model":"m","messages":[{messages}]}}"#)
}

#[test]
fn locked_ledger_forwards_requests_and_replays() {
    let stage = Stage::new();
    let first = stage.ask(CHAT, SESSION, &later_turn(&[]));
    assert_eq!(first.outcome(), "injected");
    let block = inserted(later_turn(&[]).as_bytes(), &stage.upstream.last().body).remove(0);
    // The receipt is written in the background; with it the ledger is at rest.
    drop(stage.why(&first));
    let other = Connection::open(stage.env.ledger()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();

    let turns = later_turn(&["And how does TokenBucket take one token from the rate limiter?"]);
    let second = stage.ask(CHAT, SESSION, &turns);
    assert_eq!(second.outcome(), "failed", "no durable entry, no injection");
    assert_eq!(inserted(turns.as_bytes(), &stage.upstream.last().body), [block.as_str()], "replay only needs to read");

    other.execute_batch("ROLLBACK").unwrap();
    let third = later_turn(&["And how does TokenBucket take one token from the rate limiter?", "thanks"]);
    let response = stage.ask(CHAT, SESSION, &third);
    assert_eq!(response.outcome(), "replayed");
    assert_eq!(
        inserted(third.as_bytes(), &stage.upstream.last().body),
        [block],
        "a turn that went without stays without"
    );
    stage.gateway.stop_cleanly();
}

#[test]
fn permanently_locked_ledger_delays_no_request() {
    let stage = Stage::new();
    let other = Connection::open(stage.env.ledger()).unwrap();
    other.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE").unwrap();
    for (target, body) in simple(QUESTION) {
        let response = stage.ask(target, SESSION, &body);
        assert_eq!(response.outcome(), "failed");
        assert_eq!(stage.upstream.last().text(), body);
    }
    stage.gateway.stop_cleanly();
}

#[test]
fn corrupt_ledger_is_set_aside_and_replaced() {
    let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start());
    env.connect(&upstream);
    let root = env.repository("demo", &FILES);
    std::fs::create_dir_all(env.state_dir()).unwrap();
    std::fs::write(env.ledger(), "no database ".repeat(1000)).unwrap();
    let gateway = env.serve(&root, &[]);
    gateway.wait_ready();
    let response = gateway.post(CHAT, &[], later_turn(&[]).as_bytes());
    assert_eq!((response.status, response.outcome()), (200, "injected"));
    let kept: Vec<_> = std::fs::read_dir(env.state_dir())
        .unwrap()
        .filter_map(|entry| std::fs::read_to_string(entry.unwrap().path()).ok())
        .filter(|text| text.starts_with("no database"))
        .collect();
    assert_eq!(kept.len(), 1, "the damaged file is not thrown away");
    assert!(gateway.stderr().contains("damaged"), "{}", gateway.stderr());
}

#[test]
fn ledger_broken_while_in_use_forwards_requests() {
    let stage = Stage::new();
    let first = stage.ask(CHAT, SESSION, &later_turn(&[]));
    drop(stage.why(&first));
    let entries = std::fs::read_dir(stage.env.state_dir()).unwrap();
    for path in entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()) {
        std::fs::write(path, [0xa5; 40_000]).unwrap();
    }
    for turns in [&["why?"][..], &["why?", "How does parse_invoice read an Invoice?"]] {
        let response = stage.gateway.post(CHAT, SESSION, later_turn(turns).as_bytes());
        assert_eq!(response.status, 200, "{}", response.text());
    }
    stage.gateway.stop_cleanly();
}

/// `muninn serve` that can write no file longer than `blocks` half kilobytes, as on a full disk.
fn serve_on_a_full_disk(env: &TestEnv, root: &Path, blocks: u32) -> Gateway {
    let mut command = Command::new("sh");
    env.clean(&mut command);
    command
        .arg("-c")
        .arg(format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\""))
        .args([MUNINN, "serve", "--listen", "127.0.0.1:0", "--root"])
        .arg(root);
    Gateway::spawn(command).unwrap_or_else(|stopped| panic!("a full disk keeps it from starting: {stopped:?}"))
}

#[test]
fn full_disk_at_start_costs_only_the_context() {
    let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start());
    env.connect(&upstream);
    let root = env.repository("demo", &FILES);
    let gateway = serve_on_a_full_disk(&env, &root, 0);
    for (target, body) in simple(QUESTION) {
        let response = gateway.post(target, SESSION, body.as_bytes());
        assert_eq!((response.status, response.outcome()), (200, "failed"));
        assert_eq!(upstream.last().text(), body);
    }
    assert_ne!(gateway.health()["ledger"], "ok");
    gateway.stop_cleanly();
}

#[test]
fn disk_that_fills_up_costs_only_the_context() {
    let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start());
    env.connect(&upstream);
    let root = env.repository("demo", &FILES);
    // Room for an empty ledger and a few rows.
    let gateway = serve_on_a_full_disk(&env, &root, 256);
    gateway.wait_ready();
    let mut injected = 0;
    let filler = "the rate limiter ".repeat(20);
    let ledger = || gateway.health()["ledger"].as_str().unwrap().to_owned();
    // A row that is shorter than the one that did not fit may still fit. The disk is full when nothing does.
    let full = (0..400)
        .map(|round| {
            let session = format!("session {round}");
            let body = simple(&format!("{QUESTION} {filler} {round}"))[0].1.clone();
            let response = gateway.post(CHAT, &[("x-session-id", &session)], body.as_bytes());
            assert_eq!(response.status, 200, "{}", response.text());
            let blocks = inserted(body.as_bytes(), &upstream.last().body);
            assert_eq!(blocks.len(), usize::from(response.outcome() == "injected"), "{}", response.outcome());
            response.outcome().to_owned()
        })
        .inspect(|outcome| injected += usize::from(outcome == "injected"))
        .filter(|outcome| outcome != "injected")
        .map(|outcome| (outcome, ledger()))
        .find(|(_, health)| health != "ok");
    assert!(injected > 0, "there was room at first");
    let (outcome, health) = full.expect("the disk did fill up");
    assert_eq!(outcome, "failed");
    assert!(health.starts_with("unusable: "), "{health}");
    let backend = upstream.backend("mock");
    env.write_config(&format!("listen = \"{}\"\n{backend}", gateway.address));
    let report = Report::of(&env, &root);
    assert!(report.only("running gateway", "bad").contains(&health), "{}", report.value());
    gateway.stop_cleanly();
}

#[test]
fn state_directory_that_is_a_file_costs_only_the_context() {
    let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start());
    env.connect(&upstream);
    let root = env.repository("demo", &FILES);
    std::fs::write(env.state_dir(), "in the way").unwrap();
    let gateway = env.serve(&root, &[]);
    let response = gateway.post(CHAT, SESSION, later_turn(&[]).as_bytes());
    assert_eq!((response.status, response.outcome()), (200, "failed"));
    assert_eq!(upstream.last().text(), later_turn(&[]));
}
