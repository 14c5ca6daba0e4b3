//! Keeping main within bounds.

use super::super::learning;
use super::Desk;
use crate::reconcile::{PRUNED, ReconcileOptions, open_conflicts};
use crate::records::{MAIN, SESSIONS};

#[test]
fn what_is_worth_least_goes_to_the_archive_and_does_not_come_back() {
    let desk = Desk::new();
    desk.run(ReconcileOptions::default()).unwrap();
    let main = desk.read(MAIN);
    let most = main.len() as u64 - 20;
    let prune = ReconcileOptions {
        max_main_bytes: Some(most),
        ..ReconcileOptions::default()
    };
    let done = desk.run(prune).unwrap();
    assert_eq!((done.pruned, done.notes.len()), (1, 0), "{:?}", done.notes);
    let left = desk.read(MAIN);
    assert!(left.len() as u64 <= most);
    assert!(
        !left.contains("\"id\":\"002\"") && left.contains("\"same\""),
        "what was folded goes first: {left}"
    );
    let archived: String = desk
        .files()
        .iter()
        .filter(|(name, _)| name.ends_with("pruned.jsonl"))
        .map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned())
        .collect();
    assert!(
        main.lines().all(|line| left.contains(line) || archived.contains(line)),
        "nothing is away"
    );
    // The session that it came from, merged late.
    desk.repo.git(&["checkout", "-q", "HEAD", "--", SESSIONS]);
    desk.run(ReconcileOptions::default()).unwrap();
    assert_eq!(desk.read(MAIN), left);
    // However small it is to be, what people have to settle stays.
    let all = ReconcileOptions {
        max_main_bytes: Some(0),
        ..ReconcileOptions::default()
    };
    let done = desk.run(all).unwrap();
    assert_eq!(open_conflicts(&desk.repo.worktree()).len(), 1);
    let stays = format!("{MAIN} stays at {} bytes, above 0", desk.read(MAIN).len());
    assert!(done.notes[0].starts_with(&stays), "{stays}: {:?}", done.notes);
    // What somebody puts back into main has left the archive.
    desk.repo.write(MAIN, main.as_bytes());
    desk.run(ReconcileOptions::default()).unwrap();
    assert_eq!((desk.read(MAIN), desk.read(PRUNED)), (main, String::new()));
}

#[test]
fn what_was_pruned_is_not_recalled_from_a_session_that_comes_late_nor_from_one_that_grew() {
    let desk = Desk::new();
    let recalls = |id: &str| desk.seen().0.contains(id);
    assert!(recalls("005"));
    desk.run(ReconcileOptions {
        max_main_bytes: Some(0),
        ..ReconcileOptions::default()
    })
    .unwrap();
    let pruned = desk.seen();
    assert!(!recalls("005"));
    desk.repo.git(&["checkout", "-q", "HEAD", "--", SESSIONS]);
    assert_eq!(desk.seen(), pruned, "before anybody reconciles again");
    let name = format!("{SESSIONS}/session_S2.0.jsonl");
    let grown = desk.read(&name) + &learning(8, 2, (3, false)).line() + "\n";
    desk.repo.write(&name, grown.as_bytes());
    assert!(recalls("008") && !recalls("005"));
    desk.run(ReconcileOptions::default()).unwrap();
    assert!(recalls("008") && !recalls("005"));
}
