//! Reconciling is independent of order and of the number of people, and loses nothing.

mod agent;
mod cases;
mod folds;
mod histories;
mod homes;
mod hostile;
mod on_disk;
mod patterns;
mod superseding;
mod withdrawn;

use crate::Plan;
use crate::PlanInput;
use crate::Segment;
use crate::claim;
use crate::plan;
use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::super::judge::Relation;
use super::*;
use muninn_team::records::{Body, Origin, Record, RecordStatus, kinds, ordered};

/// A judge of letters: the same letter is a duplicate, `not` before it a contradiction, and `any` agrees with both.
struct LetterJudge;

impl Judge for LetterJudge {
    fn judge(&self, older: &Claim<'_>, newer: &Claim<'_>) -> Judgement {
        let (older, newer) = (older.text, newer.text);
        let letter = |text: &str| text.split(' ').nth(1).map(str::to_owned);
        let relation = match (
            letter(older) == letter(newer),
            older.starts_with("not") == newer.starts_with("not")
                || [older, newer].iter().any(|text| text.starts_with("any")),
        ) {
            (true, true) => Relation::Same,
            (true, false) => Relation::Undecided,
            (false, _) => Relation::Unrelated,
        };
        Judgement { related: 1.0, certainty: 1.0, is_value: false, relation, reason: "letters".to_owned() }
    }

    fn tokens(&self, claim: &Claim<'_>) -> ClaimTokens {
        let letter = claim.text.split(' ').nth(1).unwrap_or_default();
        ClaimTokens::of([("all", 1.0), (letter, 1.0)].into_iter())
    }

    fn opposes(&self, one: &Claim<'_>, other: &Claim<'_>) -> bool {
        one.text.starts_with("not") != other.text.starts_with("not")
    }
}

fn by_letters() -> JudgeSetup<'static> {
    JudgeSetup { judge: &LetterJudge, embedder: None, progress: &(), reconciler: None }
}

fn learning(id: usize, session: usize, (letter, negated): (usize, bool)) -> Record {
    let letter = ["alpha", "bravo", "charlie", "delta"][letter];
    let yes = if negated { "not" } else { "is" };
    let line = format!(
        r#"{{"id":"{id:03}","ts":"2026-01-01T00:00:{:02}Z","type":"learning","text":"{yes} {letter} indexing","session":"S{session}"}}"#,
        id % 60
    );
    Record::parse(&line).unwrap()
}

fn segment(session: usize, number: usize, records: Vec<Record>) -> Segment {
    let bytes = records.iter().map(|record| record.line().len() as u64 + 1).sum();
    Segment { name: format!("session_S{session}.{number}.jsonl"), bytes, records }
}

/// A judge with a random but fixed relation for each pair, because real judgements are not transitive.
#[derive(Debug, Clone)]
struct RandomJudge(Vec<Relation>);

impl RandomJudge {
    fn number(claim: &Claim<'_>) -> usize {
        let words = ["alpha", "bravo", "charlie", "delta"];
        let letter = words.iter().position(|word| claim.text.contains(word)).unwrap();
        2 * letter + usize::from(claim.text.starts_with("not"))
    }

    fn between(&self, one: &Claim<'_>, other: &Claim<'_>) -> Relation {
        let (one, other) = (Self::number(one), Self::number(other));
        if one == other { Relation::Same } else { self.0[one.min(other) * 8 + one.max(other)] }
    }
}

impl Judge for RandomJudge {
    fn judge(&self, older: &Claim<'_>, newer: &Claim<'_>) -> Judgement {
        Judgement {
            related: 1.0,
            certainty: 1.0,
            is_value: false,
            relation: self.between(older, newer),
            reason: "anything".to_owned(),
        }
    }

    fn opposes(&self, _: &Claim<'_>, _: &Claim<'_>) -> bool {
        false
    }
}

fn random_judge() -> impl Strategy<Value = RandomJudge> {
    let relations = prop::sample::select(vec![Relation::Same, Relation::Undecided, Relation::Unrelated]);
    prop::collection::vec(relations, 64).prop_map(RandomJudge)
}

fn reconciled(before: &PlanInput) -> Plan {
    plan(before, &by_letters())
}

/// The next input, after the segments are removed.
fn next(after: &Plan, segments: Vec<Segment>) -> PlanInput {
    PlanInput {
        main: after.main.clone(),
        log: after.log.clone(),
        conflicts: after.conflicts.clone(),
        segments,
        ..PlanInput::default()
    }
}

fn lines(records: &[Record]) -> Vec<String> {
    records.iter().map(Record::line).collect()
}

/// The union of two files, as git's union merge produces it.
fn union(one: &[Record], other: &[Record]) -> Vec<Record> {
    let all: BTreeMap<String, Record> = one.iter().chain(other).map(|record| (record.line(), record.clone())).collect();
    all.into_values().collect()
}

/// Random segments.
fn segments() -> impl Strategy<Value = Vec<Segment>> {
    let claim = (0..4usize, any::<bool>());
    prop::collection::vec(prop::collection::vec(claim, 1..4), 1..5).prop_map(|sessions| {
        let mut id = 0;
        let session = |(number, claims): (usize, Vec<(usize, bool)>)| {
            let mut next = |claim| {
                id += 1;
                learning(id, number, claim)
            };
            segment(number, 0, claims.into_iter().map(&mut next).collect())
        };
        sessions.into_iter().enumerate().map(session).collect()
    })
}

proptest! {
    #[test]
    fn reconciling_is_order_independent_idempotent_and_lossless(segments in segments()) {
        let before = PlanInput { segments: segments.clone(), ..PlanInput::default() };
        let after = reconciled(&before);
        let mut turned = before;
        turned.segments.reverse();
        let other = reconciled(&turned);
        prop_assert_eq!(lines(&after.main), lines(&other.main));
        prop_assert_eq!(lines(&after.conflicts), lines(&other.conflicts));
        // Again, with the segments removed, and with them still there, as after a crash.
        for left in [Vec::new(), segments.clone()] {
            let again = reconciled(&next(&after, left));
            prop_assert_eq!(lines(&after.main), lines(&again.main));
            prop_assert_eq!(lines(&after.conflicts), lines(&again.conflicts));
            prop_assert_eq!(lines(&after.log), lines(&again.log));
        }
        let main: BTreeSet<String> = lines(&after.main).into_iter().collect();
        for record in segments.iter().flat_map(|segment| &segment.records) {
            prop_assert!(main.contains(&record.line()));
        }
    }

    #[test]
    fn two_people_reach_the_result_of_one(segments in segments(), cut in any::<prop::sample::Index>()) {
        let one = reconciled(&PlanInput { segments: segments.clone(), ..PlanInput::default() });
        let (left, right) = segments.split_at(cut.index(segments.len() + 1));
        let side = |segments: &[Segment]| reconciled(&PlanInput { segments: segments.to_vec(), ..PlanInput::default() });
        let (left, right) = (side(left), side(right));
        let merged = PlanInput {
            main: union(&left.main, &right.main),
            log: union(&left.log, &right.log),
            conflicts: union(&left.conflicts, &right.conflicts),
            ..PlanInput::default()
        };
        let both = reconciled(&merged);
        prop_assert_eq!(lines(&one.main), lines(&both.main));
        prop_assert_eq!(lines(&one.conflicts), lines(&both.conflicts));
        // A late segment restores nothing.
        let late = reconciled(&next(&both, segments));
        prop_assert_eq!(lines(&late.main), lines(&both.main));
    }

    #[test]
    fn intransitive_judgements_do_no_harm(
        segments in segments(),
        cut in any::<prop::sample::Index>(),
        judge in random_judge(),
    ) {
        let judging = JudgeSetup { judge: &judge, ..by_letters() };
        let of = |before: &PlanInput| plan(before, &judging);
        let one = of(&PlanInput { segments: segments.clone(), ..PlanInput::default() });
        let again = of(&next(&one, segments.clone()));
        prop_assert_eq!(lines(&one.main), lines(&again.main));
        prop_assert_eq!(lines(&one.conflicts), lines(&again.conflicts));
        let (left, right) = segments.split_at(cut.index(segments.len() + 1));
        let side = |segments: &[Segment]| of(&PlanInput { segments: segments.to_vec(), ..PlanInput::default() });
        let (left, right) = (side(left), side(right));
        let both = of(&PlanInput {
            main: union(&left.main, &right.main),
            log: union(&left.log, &right.log),
            conflicts: union(&left.conflicts, &right.conflicts),
            segments: Vec::new(),
            ..PlanInput::default()
        });
        prop_assert_eq!(lines(&one.main), lines(&both.main));
        prop_assert_eq!(lines(&one.conflicts), lines(&both.conflicts));
        // Contradictions are not merged, and are in open conflicts.
        let status = RecordStatus::of(&one.main);
        let claims: Vec<claim::RecordClaim<'_>> = one.main.iter().filter_map(claim::RecordClaim::of).collect();
        let pair = |one: &str, other: &str| ordered(status.kept(one), status.kept(other));
        let open: BTreeSet<_> = one.conflicts.iter().filter_map(Record::sides).map(|(left, right)| pair(left, right)).collect();
        for (at, one) in claims.iter().enumerate() {
            for other in &claims[at + 1..] {
                if judge.between(&one.claim(), &other.claim()) == Relation::Undecided {
                    prop_assert!(open.contains(&pair(one.id(), other.id())));
                    prop_assert_ne!(status.kept(one.id()), status.kept(other.id()));
                }
            }
        }
    }

    #[test]
    fn contradictions_are_not_merged(segments in segments()) {
        let after = reconciled(&PlanInput { segments, ..PlanInput::default() });
        let text = |id: &str| {
            let record = after.main.iter().find(|record| record.id == id);
            match &record.unwrap().body {
                Body::Learning(kinds::Learning { text, .. }) => text.clone(),
                other => panic!("{other:?}"),
            }
        };
        for record in &after.main {
            if let Body::Same(kinds::Same { kept, folded, .. }) = &record.body {
                prop_assert_eq!(text(kept), text(folded));
            }
        }
        let kinds = |letter: &str| {
            let of = |negated: &str| after.main.iter().any(|record| record.line().contains(&format!("\"{negated} {letter}")));
            of("is") && of("not")
        };
        let contradicted = ["alpha", "bravo", "charlie", "delta"].iter().filter(|letter| kinds(letter)).count();
        prop_assert_eq!(after.conflicts.len(), contradicted);
    }
}
