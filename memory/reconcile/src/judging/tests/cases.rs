//! Cases of reconciling.

use muninn_base::Clock;

use super::*;
use crate::{PlanInput, Segment, prune};

#[test]
fn decision_holds_until_a_new_contradiction() {
    let sessions = vec![segment(0, 0, vec![learning(1, 0, (0, false)), learning(2, 0, (0, true))])];
    let after = reconciled(&PlanInput { segments: sessions, ..PlanInput::default() });
    let conflict = after.conflicts[0].id.clone();
    for keep in [vec!["001"], vec!["002"], vec!["001", "002"]] {
        let drop = ["001", "002"].iter().filter(|id| !keep.contains(id)).map(|id| (*id).to_owned()).collect();
        let body = Body::Decision(kinds::Decision {
            conflict: conflict.clone(),
            keep: keep.iter().map(|id| (*id).to_owned()).collect(),
            drop,
            ..kinds::Decision::default()
        });
        let mut settled = next(&after, Vec::new());
        settled.main.push(Record::new(body, Origin::default(), &Clock::system()));
        assert!(reconciled(&settled).conflicts.is_empty(), "{keep:?}");
        // A duplicate from another session adds nothing,
        settled.segments = vec![segment(1, 0, vec![learning(3, 1, (0, keep[0] == "002"))])];
        assert!(reconciled(&settled).conflicts.is_empty(), "{keep:?}");
        // but the contrary claim is added if one of the duplicates was dropped.
        settled.segments = vec![segment(1, 0, vec![learning(3, 1, (0, keep[0] == "001"))])];
        let open = reconciled(&settled).conflicts.len();
        assert_eq!(open, if keep.len() == 2 { 0 } else { 1 }, "{keep:?}");
    }
}

#[test]
fn grown_segment_adds_its_new_records() {
    let first = vec![learning(1, 0, (0, false))];
    let after = reconciled(&PlanInput { segments: vec![segment(0, 0, first.clone())], ..PlanInput::default() });
    let grown = [first, vec![learning(2, 0, (1, false))]].concat();
    let after = reconciled(&next(&after, vec![segment(0, 0, grown)]));
    assert_eq!(after.summary.consolidated, 1);
    assert_eq!(after.main.len(), 2);
}

#[test]
fn statement_and_its_contradiction_are_both_recalled_in_any_order_of_runs() {
    let says = |id: usize, yes: &str, author: &str| {
        let text = format!("{yes} alpha here");
        let line = format!(
            r#"{{"id":"{id:03}","ts":"2026-01-01T00:00:{id:02}Z","type":"learning","text":"{text}","subject":"alpha","author":"{author}","session":"S{id}"}}"#
        );
        segment(id, 0, vec![Record::parse(&line).unwrap()])
    };
    let table = [
        (vec![says(1, "is", "ana"), says(2, "not", "ana"), says(3, "is", "ana")], vec!["002", "003"], 1),
        (vec![says(1, "is", "ana"), says(2, "is", "bo"), says(3, "not", "ana")], vec!["002", "003"], 1),
    ];
    for (segments, expected, open) in table {
        let mut before = PlanInput::default();
        for segment in &segments {
            before.segments = vec![segment.clone()];
            before = next(&reconciled(&before), Vec::new());
        }
        let together = reconciled(&PlanInput { segments, ..PlanInput::default() });
        assert_eq!(lines(&before.main), lines(&together.main), "sequential and joint runs agree");
        assert_eq!((before.conflicts.len(), together.conflicts.len()), (open, open));
        let memories = muninn_recall::Memories::of_records(&together.main, None);
        let recalled: Vec<&str> = memories.items().iter().map(|item| item.source.as_str()).collect();
        assert_eq!(recalled, expected);
    }
}

#[test]
fn dropping_a_record_keeps_its_contradiction() {
    let says = |id: usize, how: &str| {
        let text = format!("{how} alpha here");
        let line = format!(
            r#"{{"id":"{id:03}","ts":"2026-01-01T00:00:{id:02}Z","type":"learning","text":"{text}","session":"S{id}"}}"#
        );
        vec![segment(id, 0, vec![Record::parse(&line).unwrap()])]
    };
    let both = reconciled(&PlanInput { segments: says(2, "any"), ..PlanInput::default() });
    // One branch deletes one side; another branch adds the other side.
    let mut one = reconciled(&next(&both, says(1, "is")));
    let forget = "001".to_owned();
    one.main.push(Record::new(Body::Tombstone(kinds::Tombstone { forget }), Origin::default(), &Clock::system()));
    let other = reconciled(&next(&both, says(3, "not")));
    let after = reconciled(&PlanInput {
        main: union(&one.main, &other.main),
        log: union(&one.log, &other.log),
        ..PlanInput::default()
    });
    let memories = muninn_recall::Memories::of_records(&after.main, None);
    let recalled: Vec<&str> = memories.items().iter().map(|item| item.source.as_str()).collect();
    assert_eq!(recalled, ["003"]);
}

#[test]
fn records_reverted_from_main_are_reconciled_again() {
    let sessions = vec![segment(0, 0, vec![learning(1, 0, (0, false)), learning(2, 0, (0, true))])];
    let after = reconciled(&PlanInput { segments: sessions.clone(), ..PlanInput::default() });
    let mut reverted = next(&after, sessions.clone());
    reverted.main.clear();
    reverted.conflicts.clear();
    let again = reconciled(&reverted);
    assert_eq!(lines(&again.main), lines(&after.main));
    assert_eq!(lines(&again.conflicts), lines(&after.conflicts));
    // If main kept both sides, their conflict is open again.
    let mut half = next(&after, sessions.clone());
    half.conflicts.clear();
    assert_eq!(lines(&reconciled(&half).conflicts), lines(&after.conflicts));
    // Archived records stay archived.
    let mut pruned = next(&after, sessions);
    pruned.main.clear();
    pruned.conflicts.clear();
    pruned.pruned = ["001", "002"].map(str::to_owned).into();
    assert!(reconciled(&pruned).main.is_empty());
}

#[test]
fn two_records_with_one_id_are_both_kept() {
    let (one, other) = (learning(1, 0, (0, false)), learning(1, 1, (1, false)));
    let sessions = vec![segment(0, 0, vec![one.clone()]), segment(1, 0, vec![other.clone()])];
    let after = reconciled(&PlanInput { segments: sessions.clone(), ..PlanInput::default() });
    let kept = lines(&after.main);
    assert_eq!(kept.len(), 2);
    assert!(kept.contains(&one.line()) && kept.iter().any(|line| line.contains("is bravo indexing")));
    assert_eq!(lines(&reconciled(&next(&after, sessions)).main), kept);
    // Records in main are never rewritten.
    let main =
        PlanInput { main: vec![other.clone()], segments: vec![segment(0, 0, vec![one])], ..PlanInput::default() };
    let after = reconciled(&main);
    assert!(lines(&after.main).contains(&other.line()) && after.main.len() == 2);
}

#[test]
fn conflict_of_long_texts_is_a_valid_line() {
    let long = |id: usize, negated| {
        let mut record = learning(id, id, (0, negated));
        if let Body::Learning(kinds::Learning { text, .. }) = &mut record.body {
            text.push_str(&" word".repeat(12_000));
        }
        record
    };
    let after = reconciled(&PlanInput {
        segments: vec![segment(1, 0, vec![long(1, false)]), segment(2, 0, vec![long(2, true)])],
        ..PlanInput::default()
    });
    let read = after.conflicts.iter().map(|conflict| conflict.line().len());
    assert!(read.eq([after.conflicts[0].line().len()]) && after.conflicts[0].line().len() < 4_000);
}

#[test]
fn restored_records_are_compared_with_newer_ones() {
    let main = vec![learning(1, 0, (0, false)), learning(2, 1, (0, true))];
    let by_hand = reconciled(&PlanInput { main: main.clone(), ..PlanInput::default() });
    assert_eq!(by_hand.conflicts.len(), 1, "a record that a person wrote into main is compared");
    let before = |pruned: &[&str]| PlanInput {
        main: main.clone(),
        log: by_hand.log.clone(),
        pruned: pruned.iter().map(|id| (*id).to_owned()).collect(),
        ..PlanInput::default()
    };
    assert!(reconciled(&before(&[])).conflicts.is_empty(), "once");
    assert_eq!(reconciled(&before(&["001"])).conflicts.len(), 1);
}

#[test]
fn segment_of_equal_length_and_other_content_is_reconciled() {
    let first = segment(0, 0, vec![learning(1, 0, (0, false))]);
    let other = segment(0, 0, vec![learning(2, 0, (1, true))]);
    let bytes = first.bytes.max(other.bytes);
    let sized = |segment: Segment| Segment { bytes, ..segment };
    let after = reconciled(&PlanInput { segments: vec![sized(first)], ..PlanInput::default() });
    let after = reconciled(&next(&after, vec![sized(other)]));
    assert_eq!(after.main.len(), 2);
}

#[test]
fn representative_of_a_conflict_side_is_not_pruned() {
    let claims = vec![learning(1, 0, (0, true)), learning(2, 0, (0, true)), learning(3, 0, (0, false))];
    let after = reconciled(&PlanInput { segments: vec![segment(0, 0, claims)], ..PlanInput::default() });
    let mut open = after.conflicts;
    let Body::Conflict(kinds::Conflict { left, .. }) = &mut open[0].body else { panic!("{open:?}") };
    // The conflict names the first record, whose representative is the second.
    *left = "001".to_owned();
    let pruned = prune(&after.main, &open, 0, &|_| false);
    assert!(pruned.archived.is_empty(), "{:?}", pruned.archived);
}
