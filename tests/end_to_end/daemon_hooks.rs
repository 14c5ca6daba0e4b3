//! Hooks that a daemon answers, or a gateway that listens for them.

use muninn_tests::wait_until;
use serde_json::json;

use crate::daemon::{Home, PATIENT, text};
use crate::stage::QUESTION;

#[test]
fn first_hook_starts_the_daemon_and_the_next_one_asks_it() {
    let home = Home::new();
    let block = home.prompt(QUESTION).unwrap();
    assert!(block.contains("src/rate_limiter.rs"), "the first hook answers by itself: {block}");
    let status = wait_until("a daemon", || home.status());
    assert_eq!((&status["host"], &status["calls"]), (&json!("daemon"), &json!(0)));
    home.wait_indexed();
    assert_eq!(home.prompt(QUESTION), None, "it knows the block that the first hook gave");
    let other = home.hook("UserPromptSubmit", &json!({"prompt": QUESTION, "session_id": "another"}), &[]);
    assert!(text(&other).contains("src/rate_limiter.rs"), "{other:?}");
    let status = home.status().unwrap();
    assert_eq!(status["calls"], 2);
    assert_eq!(status["worktrees"], json!([home.root]));
    wait_until("the receipt of a hook", || {
        let receipt = home.last_receipt(&home.root)?;
        (receipt["outcome"] == "injected" && receipt["format"] == "hook").then_some(())
    });
}

#[test]
fn hook_in_another_repository_opens_it_and_indexes_it() {
    let home = Home::new();
    home.start();
    let other = home.env.repository("other", &[("src/zebra.rs", "pub fn gallop() {}\n")]);
    home.hook("SessionStart", &json!({"cwd": other, "source": "startup"}), &[]);
    let status = home.status().unwrap();
    let worktrees = status["worktrees"].as_array().unwrap();
    assert!(worktrees.contains(&json!(other)), "{status}");
    let ask = |session: &str| {
        let question = "Where does the zebra gallop in src/zebra.rs?";
        home.hook("UserPromptSubmit", &json!({"cwd": other, "prompt": question, "session_id": session}), &[])
    };
    let mut sessions = 0..;
    wait_until("an answer from the index", || {
        let block = text(&ask(&format!("session-{}", sessions.next().unwrap())));
        let receipt = home.last_receipt(&other)?;
        (receipt["outcome"] == "injected" && block.contains("src/zebra.rs")).then_some(())
    });
}

#[test]
fn gateway_answers_hooks_if_no_daemon_does() {
    let home = Home::new();
    let gateway = home.env.serve(&home.root, &[]);
    let status = wait_until("a socket", || home.status());
    assert_eq!((&status["host"], &status["process"]), (&json!("gateway"), &json!(gateway.id())));
    gateway.wait_ready();
    assert!(home.prompt(QUESTION).unwrap().contains("src/rate_limiter.rs"));
    assert_eq!(home.status().unwrap()["calls"], 1);
    let refused = home.daemon(&["stop"]);
    assert!(refused.status.code() == Some(1) && text(&refused).contains("muninn serve"), "{refused:?}");
    // A second gateway goes without the socket.
    let second = home.env.serve(&home.root, &[]);
    assert_eq!(home.status().unwrap()["process"], json!(gateway.id()));
    second.stop_cleanly();
    gateway.stop_cleanly();
    assert_eq!(home.status(), None);
}

#[test]
fn gateway_does_not_show_a_hooks_worktree_to_its_clients() {
    let home = Home::new();
    let other = home.env.repository("private", &[("src/zebra.rs", "pub fn gallop() {}\n")]);
    let gateway = home.env.serve(&home.root, &[]);
    wait_until("a socket", || home.status());
    home.hook("SessionStart", &json!({"cwd": other, "source": "startup"}), &[]);
    assert!(home.status().unwrap()["worktrees"].as_array().unwrap().contains(&json!(other)));
    let question = json!({"model": "muninn/context", "messages": [
        {"role": "user", "content": "Where does the zebra gallop in src/zebra.rs?"}]});
    let claim = other.display().to_string();
    let answer = gateway.post("/v1/chat/completions", &[("x-muninn-repo", &claim)], question.to_string().as_bytes());
    let answer = answer.text();
    assert!(!answer.contains("gallop()") && answer.contains("outside the served"), "{answer}");
}

#[test]
fn changed_configuration_is_in_force_at_the_next_hook() {
    let home = Home::new();
    home.start();
    home.wait_indexed();
    home.env.write_config(&PATIENT.replace("[context]", "[context]\nenabled = false"));
    assert_eq!(home.prompt(QUESTION), None);
    assert!(home.log().contains("the configuration was reloaded"), "{}", home.log());
    home.env.write_config("[hooks]\ndeadline_ms = 20000\n[no.such]\nkey = 1\n");
    assert_eq!(home.prompt(QUESTION), None);
    home.env.write_config(PATIENT);
    let answer = home.hook("UserPromptSubmit", &json!({"prompt": QUESTION, "session_id": "another"}), &[]);
    assert!(text(&answer).contains("src/rate_limiter.rs"), "{answer:?}");
}

#[test]
fn session_end_is_learned_by_the_daemon() {
    let home = Home::new();
    home.env.stdout_of(&home.root, &["init", "--memory", "repo"]);
    home.start();
    home.wait_indexed();
    let mut conversation = crate::agent::Conversation::new(&home.root);
    home.prompt(QUESTION);
    conversation.turn(QUESTION);
    let transcript = home.env.path("transcript.jsonl");
    std::fs::write(&transcript, conversation.transcript()).unwrap();
    let more = json!({"transcript_path": transcript, "reason": "other"});
    assert!(home.hook("SessionEnd", &more, &[]).stdout.is_empty());
    wait_until("a record", || {
        let mut records = String::new();
        crate::agent::gather(&home.root.join(".muninn"), &mut records);
        records.contains("src/storage.rs").then_some(())
    });
}
