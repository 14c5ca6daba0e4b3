//! The files that sessions leave in the state directory after their end.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use muninn_tests::wait_until;
use serde_json::json;

use crate::agent::Conversation;
use crate::learning::Team;
use crate::stage::QUESTION;

/// The spools of all worktrees.
fn spools(team: &Team) -> Vec<PathBuf> {
    let memory = fs::read_dir(team.env.state_dir().join("memory"));
    let worktrees = memory.into_iter().flatten();
    worktrees.map(|entry| entry.unwrap().path().join("spool")).collect()
}

/// Sessions' folders, and waiting files.
fn left(team: &Team) -> Vec<String> {
    let mut left = Vec::new();
    for spool in spools(team) {
        for dir in [spool.clone(), spool.join("waiting")] {
            let entries = fs::read_dir(&dir).into_iter().flatten();
            let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            left.extend(names.filter(|name| name.contains("live-") || name.len() == 16));
        }
    }
    left
}

#[test]
fn conversation_without_records_leaves_no_file() {
    let team = Team::with("repo", "");
    let gateway = team.serve();
    for number in 0..3 {
        let mut conversation = Conversation::of(&format!("session {number}"), &team.root);
        conversation.says(QUESTION);
        conversation.answers("I do not know.");
        conversation.says("And the parser?");
        conversation.send(&gateway);
    }
    gateway.stop_cleanly();
    assert_eq!(left(&team), [""; 0]);
    assert!(spools(&team).iter().all(|spool| !spool.exists()));
}

#[test]
fn stop_learns_from_all_open_conversations() {
    let team = Team::with("repo", "");
    let gateway = team.serve();
    for number in 0..50 {
        let mut conversation = Conversation::of(&format!("session {number}"), &team.root);
        conversation.turn(&format!("{QUESTION} {number}"));
        conversation.send(&gateway);
    }
    gateway.stop_cleanly();
    let segments = team.segments();
    let sessions: BTreeSet<String> = segments.iter().map(|(_, record)| record["session"].to_string()).collect();
    assert_eq!(sessions.len(), 50);
    let names: BTreeSet<&String> = segments.iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), 1, "one file of one day and branch");
    assert_eq!(left(&team), [""; 0]);
}

#[test]
fn conversations_over_the_byte_limit_are_learned_from_early() {
    let team = Team::with("repo", "");
    let gateway = team.serve();
    for number in 0..9 {
        let mut conversation = Conversation::of(&format!("session {number}"), &team.root);
        conversation.turn(&format!("{QUESTION} {number}"));
        conversation.answers(&"x".repeat(15 << 19));
        conversation.send(&gateway);
    }
    wait_until("the first of nine conversations is in a segment", || (!team.segments().is_empty()).then_some(()));
}

#[test]
fn sessions_of_an_earlier_version_are_migrated_and_continue() {
    let team = Team::with("repo", "");
    // Makes the state directory and its folder for the worktree.
    team.env.stdout_of(&team.root, &["remember", "Invoices are in cents."]);
    // A committed segment is not combined with later ones.
    team.env.git(&team.root, &["add", "--all"]);
    let spool = spools(&team).remove(0);
    let old = |client: &str, id: &str, next: u64| {
        let folder = spool.join(&blake3::hash(client.as_bytes()).to_hex()[..16]);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("lock"), "").unwrap();
        fs::write(folder.join("session.json"), json!({"id": id, "next": next}).to_string()).unwrap();
        fs::write(folder.join("marks"), "0123456789abcdef\n").unwrap();
    };
    old("resumed", "01RESUMED", 7);
    (0..200).for_each(|number| old(&format!("past {number}"), &format!("01PAST{number}"), 1));
    let gateway = team.serve();
    wait_until("the folders are gone", || left(&team).is_empty().then_some(()));
    let mut conversation = Conversation::of("resumed", &team.root);
    conversation.turn(QUESTION);
    conversation.send(&gateway);
    gateway.stop_cleanly();
    let names: Vec<String> = team.segments().into_iter().map(|(name, _)| name).collect();
    assert!(names.contains(&"session_01RESUMED.7.jsonl".to_owned()), "{names:?}");
}
