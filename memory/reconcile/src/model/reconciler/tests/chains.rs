//! Claims that a model joins and rules would not.

use std::collections::BTreeSet;

use muninn_team::records::{Body, Record, kinds};

use super::super::Reconciler;
use super::{LIMITS, ScriptedModel, learning, says};
use crate::claim::RecordClaim;
use crate::decide::decisions;
use crate::judge::{Claim, Judgement, Relation};
use crate::{Judge, JudgeSetup, chains};

/// A judge that only knows that "is" and "not" contradict each other.
struct FirstWordJudge;

impl Judge for FirstWordJudge {
    fn judge(&self, older: &Claim<'_>, newer: &Claim<'_>) -> Judgement {
        let says = |word: &str| older.text.starts_with(word) || newer.text.starts_with(word);
        let relation = if says("is") && says("not") { Relation::Undecided } else { Relation::Unrelated };
        let reason = "little".to_owned();
        Judgement { relation, reason, related: 1.0, certainty: 1.0, is_value: false }
    }

    fn opposes(&self, _: &Claim<'_>, _: &Claim<'_>) -> bool {
        false
    }
}

#[test]
fn claims_joined_by_a_model_are_checked_for_contradictions() {
    let texts = ["is alpha", "about alpha", "not alpha"];
    let records = texts.iter().zip(1..).map(|(text, id)| learning(&id.to_string(), text));
    let records: Vec<Record> = records.collect();
    let claims: Vec<RecordClaim<'_>> = records.iter().filter_map(RecordClaim::of).collect();
    let model = ScriptedModel::new(|_, question: &str| Ok(says(question, "same")));
    let reconciler = Reconciler::new(&model, LIMITS, &());
    let judging = JudgeSetup { judge: &FirstWordJudge, embedder: None, progress: &(), reconciler: Some(&reconciler) };
    // The contradicting claims were not candidates for each other.
    let found = BTreeSet::from([(0, 1), (1, 2)]);
    let chained = |decided: &[Record]| chains::pairs(records.iter().chain(decided), &claims, &[0, 1, 2]);
    let (decided, _) = decisions(found, &claims, &judging, &chained, &|_| false);
    let kinds: Vec<&str> = decided.iter().map(|record| record.body.kind()).collect();
    assert_eq!(kinds, ["same", "same", "conflict"]);
    let Body::Conflict(kinds::Conflict { left, right, by, .. }) = &decided[2].body else { panic!("{decided:?}") };
    assert_eq!((left.as_str(), right.as_str(), by.as_str()), ("1", "3", "rules"));
}
