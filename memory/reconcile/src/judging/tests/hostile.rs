//! Hostile content of files.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use muninn_team::records::lines::MAX_LINE_BYTES;
use muninn_team::records::{CONFLICTS, MAIN, Record, SESSIONS};

use super::learning;
use super::on_disk::TestWorktree;
use crate::judge::{Claim, FittedJudge, Judgement, Relation, judge, opposes};
use crate::{Judge, JudgeSetup, Keep, PlanInput, ReconcileOptions, Resolution, Segment, open_conflicts, plan, resolve};

#[test]
fn long_texts_are_not_aligned() {
    let tools = FittedJudge::shipped().unwrap();
    let long = |last: &str| "x ".repeat(30_000) + last;
    let (one, other) = (long("y"), long("z"));
    let relation = |one: &str, other: &str| judge(&Claim::of(one), &Claim::of(other), &tools).relation;
    assert_eq!(relation(&one, &other), Relation::Unrelated);
    assert_eq!(relation(&one, &one), Relation::Same);
    let read = [&one, &other].map(|text| tools.read(&Claim::of(text)));
    assert!(opposes(&read[0], &read[1]), "a model must not merge them");
}

#[test]
fn long_reason_is_truncated() {
    let text = |digit: &str| format!("The default port is {}.", digit.repeat(33_000));
    let records = [(1, text("1")), (2, text("2"))].map(|(id, text)| {
        let line = serde_json::json!({"id": format!("{id}"), "ts": "2026-01-01T00:00:00Z", "type": "learning", "text": text, "session": "S"});
        Record::parse(&line.to_string()).unwrap()
    });
    let segment = Segment { name: "session_S.0.jsonl".to_owned(), bytes: 1, records: records.into() };
    let judging =
        JudgeSetup { judge: &FittedJudge::shipped().unwrap(), embedder: None, progress: &(), reconciler: None };
    let before = PlanInput { segments: vec![segment], ..PlanInput::default() };
    let after = plan(&before, &judging);
    let lengths: Vec<usize> = after.conflicts.iter().map(|conflict| conflict.line().len()).collect();
    assert!(matches!(lengths[..], [length] if length < MAX_LINE_BYTES / 8), "{lengths:?}");
}

#[test]
fn records_only_in_conflicts_file_are_kept() {
    let desk = TestWorktree::new();
    desk.run(ReconcileOptions::default()).unwrap();
    let id = open_conflicts(&desk.repo.home()).unwrap()[0].id.clone();
    let theirs = learning(9, 3, (3, false)).line();
    let listed = desk.read(CONFLICTS) + &theirs + "\n";
    desk.repo.write(CONFLICTS, listed.as_bytes());
    resolve(&desk.store(), &id, &Resolution::Keep(Keep::Left), None).unwrap();
    assert!(desk.read(MAIN).contains(&theirs));
}

#[test]
fn smaller_of_two_decisions_is_kept() {
    let conflict = |by: &str| format!(r#"{{"id":"009","type":"conflict","left":"1","right":"2","by":"{by}"}}"#);
    for (first, second) in [("model:a", "rules"), ("rules", "model:a")] {
        let desk = TestWorktree::new();
        desk.run(ReconcileOptions::default()).unwrap();
        let main = desk.read(MAIN);
        let twice = format!("{main}{}\n{}\n", conflict(first), conflict(second));
        desk.repo.write(MAIN, twice.as_bytes());
        let done = desk.run(ReconcileOptions::default()).unwrap();
        assert_eq!(done.notes, Vec::<String>::new());
        let main = desk.read(MAIN);
        assert!(main.contains(&conflict("model:a")) && !main.contains(&conflict("rules")), "{main}");
    }
}

#[test]
fn long_file_name_is_truncated_in_the_archive() {
    let desk = TestWorktree::new();
    let name = format!("session_{}.1.jsonl", "s".repeat(235));
    let mut text = learning(9, 3, (3, false)).line();
    writeln!(text, "\nno record").unwrap();
    desk.repo.write(&format!("{SESSIONS}/{name}"), text.as_bytes());
    desk.repo.commit();
    let done = desk.run(ReconcileOptions::default()).unwrap();
    assert_eq!(done.notes.len(), 2, "{:?}", done.notes);
    assert!(desk.read(MAIN).contains("delta"));
}

/// A judge that finds no relation and counts its calls.
#[derive(Default)]
struct Counting(AtomicUsize);

impl Judge for Counting {
    fn judge(&self, _: &Claim<'_>, _: &Claim<'_>) -> Judgement {
        self.0.fetch_add(1, Ordering::Relaxed);
        Judgement {
            relation: Relation::Unrelated,
            reason: String::new(),
            related: 0.0,
            certainty: 0.0,
            is_value: false,
        }
    }

    fn opposes(&self, _: &Claim<'_>, _: &Claim<'_>) -> bool {
        false
    }
}

/// Number of judged pairs for a number of texts that main links as duplicates.
fn asked_about_one_chain(texts: usize) -> usize {
    let same = |at: usize| format!(r#"{{"id":"s{at}","type":"same","kept":"0","folded":"{at}"}}"#);
    let claim = |at: usize| {
        // The texts have no common word.
        let word = blake3::hash(&at.to_le_bytes()).to_hex().replace(|c: char| c.is_ascii_digit(), "q");
        format!(r#"{{"id":"{at}","ts":"2026-01-01T00:00:00Z","type":"learning","text":"{word}"}}"#)
    };
    let lines = (0..texts).map(claim).chain((1..texts).map(same));
    let before = PlanInput { main: lines.map(|line| Record::parse(&line).unwrap()).collect(), ..PlanInput::default() };
    let judge = Counting::default();
    let judging = JudgeSetup { judge: &judge, embedder: None, progress: &(), reconciler: None };
    assert_eq!(plan(&before, &judging).main.len(), 2 * texts - 1);
    judge.0.into_inner()
}

#[test]
fn huge_group_is_not_compared_pairwise() {
    // Each pair, except those with the first text, which main links already.
    assert_eq!(asked_about_one_chain(100), 99 * 98 / 2);
    let asked = asked_about_one_chain(2_000);
    assert!(asked < 100_000, "{asked}");
}
