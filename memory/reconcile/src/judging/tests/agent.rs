//! An agent decides undecided pairs in batches, and people who decide one pair differently are told.

use muninn_team::records::{Body, MAIN, Record, RecordStatus, kinds};
use serde_json::{Value, json};

use super::by_letters;
use super::on_disk::TestWorktree;
use crate::{
    AgentDecisions, ConflictState, Keep, ReconcileOptions, Resolution, ResolveError, UndecidedBatch, control_pairs,
    open_conflicts, resolve, settle, undecided_batch,
};

const BY: &str = "agent for Ada";

/// A reconciled main with one undecided pair.
fn desk() -> TestWorktree {
    let desk = TestWorktree::new();
    let done = desk.run(ReconcileOptions::default()).unwrap();
    assert_eq!((done.summary.undecided, done.summary.conflicts), (1, 0));
    desk
}

fn batch(desk: &TestWorktree) -> Option<UndecidedBatch> {
    undecided_batch(&desk.repo.home(), by_letters().judge).unwrap()
}

fn settled(desk: &TestWorktree, batch: &str, answer: &str) -> Result<AgentDecisions, ResolveError> {
    settle(&desk.store(), by_letters().judge, (batch, answer), BY)
}

/// An answer that is right about the control pairs.
fn answer(batch: &UndecidedBatch, relation: &str) -> String {
    let decision = |pair: &Value| {
        let known = control_pairs().find(|(older, _, _)| pair["older"]["text"] == *older);
        let relation = known.map_or(relation, |(_, _, contrary)| if contrary { "contradicts" } else { "same" });
        json!({"pair": pair["pair"], "relation": relation, "reason": "the code says so"})
    };
    json!({"decisions": batch.pairs.iter().map(decision).collect::<Vec<_>>()}).to_string()
}

fn main_of(desk: &TestWorktree) -> Vec<Record> {
    desk.read(MAIN).lines().map(|line| Record::parse(line).unwrap()).collect()
}

#[test]
fn each_decision_of_an_agent_is_a_record_with_its_name() {
    let state = |desk: &TestWorktree| open_conflicts(&desk.repo.home()).unwrap().first().map(|open| open.state());
    for (relation, expected, left) in [
        // The two negate each other, so they are never merged.
        ("same", AgentDecisions { unsure: 1, ..AgentDecisions::default() }, Some(ConflictState::Undecided)),
        ("unrelated", AgentDecisions { both: 1, ..AgentDecisions::default() }, None),
        ("refines", AgentDecisions { both: 1, ..AgentDecisions::default() }, None),
        ("replaced", AgentDecisions { replaced: 1, ..AgentDecisions::default() }, None),
        ("contradicts", AgentDecisions { conflicts: 1, ..AgentDecisions::default() }, Some(ConflictState::Conflict)),
        ("unsure", AgentDecisions { unsure: 1, ..AgentDecisions::default() }, Some(ConflictState::Undecided)),
    ] {
        let desk = desk();
        let asked = batch(&desk).unwrap();
        assert_eq!((asked.undecided, asked.pairs.len()), (1, 3), "two control pairs");
        let mut decided = settled(&desk, &asked.id, &answer(&asked, relation)).unwrap();
        let written = std::mem::take(&mut decided.records);
        assert_eq!((decided, state(&desk)), (expected, left), "{relation}");
        let main = main_of(&desk);
        let record = main.iter().find(|record| record.id == written[0]).unwrap();
        assert!(record.line().contains(BY), "{}", record.line());
        assert!(batch(&desk).is_none(), "{relation}: no agent is asked twice");
        // The next run changes nothing, and a person can decide otherwise.
        desk.run(ReconcileOptions::default()).unwrap();
        assert_eq!(state(&desk), left, "{relation}");
    }
}

#[test]
fn newer_memory_that_replaces_another_is_the_only_one_recalled() {
    let desk = desk();
    let asked = batch(&desk).unwrap();
    settled(&desk, &asked.id, &answer(&asked, "replaced")).unwrap();
    let status = RecordStatus::of(&main_of(&desk));
    assert!(status.is_gone("003") && !status.is_gone("004"));
    assert_eq!(status.superseded("003").unwrap().author.as_deref(), Some(BY));
}

#[test]
fn unusable_answers_write_nothing() {
    let desk = desk();
    let before = desk.read(MAIN);
    let asked = batch(&desk).unwrap();
    let right = answer(&asked, "same");
    let wrong_control = right.replacen("\"contradicts\"", "\"same\"", 1);
    let forged = right.replacen("\"pair\":1", "\"pair\":99", 1);
    let twice = right.replacen("\"pair\":1", "\"pair\":2", 1);
    for (id, text) in [
        (&*asked.id, "nonsense"),
        (&asked.id, ""),
        (&asked.id, "{\"decisions\": []}"),
        (&asked.id, &wrong_control),
        (&asked.id, &forged),
        (&asked.id, &twice),
        ("0123456789abcdef", &right),
        ("", &right),
    ] {
        let error = settled(&desk, id, text).unwrap_err();
        assert!(matches!(error, ResolveError::Answer(_) | ResolveError::OtherPairs), "{error}");
        assert_eq!(desk.read(MAIN), before, "{text}");
    }
}

#[test]
fn pair_that_changed_between_question_and_answer_is_not_decided() {
    let desk = desk();
    let asked = batch(&desk).unwrap();
    let open = open_conflicts(&desk.repo.home()).unwrap();
    resolve(&desk.store(), &open[0].id, &Resolution::Keep(Keep::Left), None).unwrap();
    let before = desk.read(MAIN);
    let error = settled(&desk, &asked.id, &answer(&asked, "same")).unwrap_err();
    assert!(matches!(error, ResolveError::OtherPairs), "{error}");
    assert_eq!(desk.read(MAIN), before);
}

#[test]
fn two_people_who_decide_differently_are_told() {
    let desk = desk();
    let open = open_conflicts(&desk.repo.home()).unwrap();
    let before = desk.read(MAIN);
    resolve(&desk.store(), &open[0].id, &Resolution::Keep(Keep::Left), Some("measured")).unwrap();
    let left = desk.read(MAIN);
    desk.repo.write(MAIN, before.as_bytes());
    resolve(&desk.store(), &open[0].id, &Resolution::Write("It depends on alpha.".to_owned()), None).unwrap();
    // Git's union merge of both clones.
    let merged = left.clone()
        + &desk
            .read(MAIN)
            .lines()
            .filter(|line| !left.contains(*line))
            .map(|line| format!("{line}\n"))
            .collect::<String>();
    desk.repo.write(MAIN, merged.as_bytes());
    let split = open_conflicts(&desk.repo.home()).unwrap();
    assert_eq!((split.len(), split[0].state(), split[0].split.len()), (1, ConflictState::Split, 2));
    assert_eq!((&split[0].id, split[0].sides.len()), (&open[0].id, 3));
    assert_eq!(split[0].split[0].note.as_deref(), Some("measured"));
    assert_eq!(desk.run(ReconcileOptions::default()).unwrap().summary.open, 1, "a run says it");
    // The next decision names both.
    let decision = resolve(&desk.store(), &split[0].id, &Resolution::Keep(Keep::Left), None).unwrap();
    let Body::Decision(kinds::Decision { over, .. }) = decision.body else { panic!("a decision") };
    assert_eq!(over.unwrap().len(), 2);
    assert!(open_conflicts(&desk.repo.home()).unwrap().is_empty());
}
