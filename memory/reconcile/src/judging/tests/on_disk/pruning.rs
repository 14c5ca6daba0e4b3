//! Pruning main memory.

use muninn_team::records::{MAIN, Record, SESSIONS};

use super::super::learning;
use super::TestWorktree;
use crate::{PRUNED, ReconcileOptions, open_conflicts, prune};

#[test]
fn least_valuable_records_are_archived_for_good() {
    let desk = TestWorktree::new();
    desk.run(ReconcileOptions::default()).unwrap();
    let main = desk.read(MAIN);
    let most = main.len() as u64 - 20;
    let prune = ReconcileOptions { max_main_bytes: Some(most), ..ReconcileOptions::default() };
    let done = desk.run(prune).unwrap();
    assert_eq!((done.pruned, done.notes.len()), (1, 0), "{:?}", done.notes);
    let left = desk.read(MAIN);
    assert!(left.len() as u64 <= most);
    assert!(!left.contains("\"id\":\"001\"") && left.contains("\"same\""), "duplicates are pruned first: {left}");
    let archived: String = desk
        .files()
        .iter()
        .filter(|(name, _)| name.ends_with("pruned.jsonl"))
        .map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned())
        .collect();
    assert!(main.lines().all(|line| left.contains(line) || archived.contains(line)), "nothing is pruned");
    // The segment that the records came from, merged late.
    desk.repo.git(&["checkout", "-q", "HEAD", "--", SESSIONS]);
    desk.run(ReconcileOptions::default()).unwrap();
    assert_eq!(desk.read(MAIN), left);
    // Records in open conflicts stay, however small the limit.
    let all = ReconcileOptions { max_main_bytes: Some(0), ..ReconcileOptions::default() };
    let done = desk.run(all).unwrap();
    assert_eq!(open_conflicts(&desk.repo.home()).unwrap().len(), 1);
    let stays = format!("{MAIN} stays at {} bytes, above 0", desk.read(MAIN).len());
    assert!(done.notes[0].starts_with(&stays), "{stays}: {:?}", done.notes);
    // A record that a person restores to main is removed from the archive.
    desk.repo.write(MAIN, main.as_bytes());
    desk.run(ReconcileOptions::default()).unwrap();
    assert_eq!((desk.read(MAIN), desk.read(PRUNED)), (main, String::new()));
}

#[test]
fn pruned_records_stay_pruned_after_late_or_grown_segments() {
    let desk = TestWorktree::new();
    let recalls = |id: &str| desk.seen().0.contains(id);
    assert!(recalls("005"));
    desk.run(ReconcileOptions { max_main_bytes: Some(0), ..ReconcileOptions::default() }).unwrap();
    let pruned = desk.seen();
    assert!(!recalls("005"));
    desk.repo.git(&["checkout", "-q", "HEAD", "--", SESSIONS]);
    assert_eq!(desk.seen(), pruned, "before the next run");
    let name = format!("{SESSIONS}/session_S2.0.jsonl");
    let grown = desk.read(&name) + &learning(8, 2, (3, false)).line() + "\n";
    desk.repo.write(&name, grown.as_bytes());
    assert!(recalls("008") && !recalls("005"));
    desk.run(ReconcileOptions::default()).unwrap();
    assert!(recalls("008") && !recalls("005"));
}

/// The order in which these records are pruned.
fn leaving(records: &[Record]) -> Vec<String> {
    let mut order: Vec<String> = Vec::new();
    let length: u64 = records.iter().map(|record| record.line().len() as u64 + 1).sum();
    for most in (0..length).rev() {
        let archived = prune(records, &[], most, &|source| source.path == "changed.rs").archived;
        let next = archived.iter().filter(|record| !order.contains(&record.id));
        let next: Vec<String> = next.map(|record| record.id.clone()).collect();
        order.extend(next);
    }
    order
}

#[test]
fn duplicate_is_worth_the_confidence_it_adds() {
    let record = |line: &str| Record::parse(line).unwrap();
    let learned = |id: &str, session: &str, ts: &str, sure: f32, file: &str| {
        record(&format!(
            r#"{{"id":"{id}","ts":"{ts}","type":"learning","text":"{id}","confidence":{sure},"session":"{session}","sources":[{{"path":"{file}","blob":"00"}}]}}"#
        ))
    };
    let same = |one: &str, other: &str| {
        record(&format!(r#"{{"id":"{one}{other}","type":"same","kept":"{one}","folded":"{other}"}}"#))
    };
    let now = "2026-06-01T00:00:00Z";
    // The group's value is 0.75: the second record adds 0.25, and the first, from the session of the newest, 0.
    let records = [
        learned("a", "1", now, 0.5, "x.rs"),
        learned("b", "2", now, 0.5, "x.rs"),
        learned("c", "1", now, 0.5, "x.rs"),
        same("a", "b"),
        same("a", "c"),
        learned("d", "3", now, 0.4, "x.rs"),
        // A changed file halves the value.
        learned("e", "3", now, 0.4, "changed.rs"),
        // Two years without confirmation: 0.9 * 0.625.
        learned("f", "3", "2024-06-01T00:00:00Z", 0.9, "x.rs"),
    ];
    assert_eq!(leaving(&records), ["a", "e", "b", "d", "f", "c"]);
}

#[test]
fn newest_automatic_duplicate_stays_longest() {
    let failure = |id: &str, day: u8| {
        let line = format!(
            r#"{{"id":"{id}","ts":"2026-06-{day:02}T00:00:00Z","type":"failure","attempt":"cargo test","outcome":"no linker","session":"{id}"}}"#
        );
        Record::parse(&line).unwrap()
    };
    let many: Vec<Record> = (1..=28).map(|day| failure(&format!("{day:02}"), day)).collect();
    let left = prune(&many, &[], many[0].line().len() as u64 + 1, &|_| false).main;
    let left: Vec<&str> = left.iter().map(|record| record.id.as_str()).collect();
    assert_eq!(left, ["28"]);
}
