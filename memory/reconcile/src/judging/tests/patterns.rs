//! Patterns with the same entities fold, or contradict each other.

use muninn_recall::Memories;
use muninn_team::records::{Body, Record, kinds};

use super::{by_letters, learning, lines, next, reconciled, segment, union};
use crate::{Plan, PlanInput, plan};

fn pattern(id: usize, session: usize, text: &str, entities: &str) -> Record {
    let entities: Vec<String> = entities.split_whitespace().map(|name| format!("\"{name}\"")).collect();
    let line = format!(
        r#"{{"id":"{id:03}","ts":"2026-01-01T00:00:{:02}Z","type":"pattern","pattern":"{text}","entities":[{}],"confidence":0.5,"session":"S{session}"}}"#,
        id % 60,
        entities.join(",")
    );
    Record::parse(&line).unwrap()
}

/// Each record in its own session.
fn of(records: &[Record]) -> Plan {
    let sessions = records.iter().enumerate();
    let segments = sessions.map(|(number, record)| segment(number, 0, vec![record.clone()]));
    reconciled(&PlanInput { segments: segments.collect(), ..PlanInput::default() })
}

/// Derived records in main, by type.
fn decisions(after: &Plan) -> Vec<&str> {
    let kinds = after.main.iter().map(|record| record.body.kind());
    kinds.filter(|kind| !["pattern", "learning"].contains(kind)).collect()
}

/// Recalled patterns, with confidence in percent.
fn recalled(main: &[Record]) -> Vec<(String, i32)> {
    let memories = Memories::of_records(main, None);
    let percent = |confidence: Option<f32>| confidence.map_or(0, |confidence| (confidence * 100.0).round() as i32);
    let items = memories.items().iter();
    items.map(|item| (item.source.clone(), percent(item.confidence))).collect()
}

#[test]
fn patterns_with_the_same_entities_fold_in_any_order() {
    for (text, decided) in [("is alpha here", vec![]), ("is alpha there", vec!["same"])] {
        let after = of(&[pattern(1, 0, "is alpha here", "a.rs b.rs"), pattern(2, 1, text, "b.rs a.rs a.rs")]);
        assert_eq!(decisions(&after), decided, "{text}");
        assert_eq!(after.summary.duplicates, 1, "{text}");
        assert!(after.conflicts.is_empty());
        // Two independent sessions with 0.5 each.
        assert_eq!(recalled(&after.main), [("002".to_owned(), 75)], "{text}");
    }
}

#[test]
fn patterns_with_different_entities_are_independent() {
    for text in ["is alpha here", "not alpha here"] {
        let after = of(&[
            pattern(1, 0, "is alpha here", "a.rs b.rs"),
            pattern(2, 1, text, "a.rs b.rs c.rs"),
            pattern(3, 2, text, "a.rs"),
            pattern(4, 3, text, ""),
            learning(5, 4, (0, true)),
        ]);
        assert_eq!(decisions(&after), [] as [&str; 0], "{text}");
        assert!(after.conflicts.is_empty(), "{text}");
        assert_eq!(recalled(&after.main).len(), 5, "{text}");
    }
}

#[test]
fn contradicting_patterns_become_a_conflict() {
    let after = of(&[
        pattern(1, 0, "is alpha here", "a.rs b.rs"),
        pattern(2, 1, "is alpha here", "b.rs a.rs"),
        pattern(3, 2, "not alpha here", "b.rs a.rs"),
    ]);
    assert_eq!(after.conflicts.len(), 1, "one conflict for all patterns with the same words");
    let Body::Conflict(kinds::Conflict { left, left_text, right_text, .. }) = &after.conflicts[0].body else {
        panic!("{:?}", after.conflicts);
    };
    assert_eq!(
        (left_text.as_str(), right_text.as_str()),
        ("is alpha here (a.rs, b.rs)", "not alpha here (a.rs, b.rs)")
    );
    assert!(["001", "002"].contains(&left.as_str()));
    // Both sides are recalled and marked, though the newest duplicate represents its group.
    let with_conflict: Vec<Record> = after.main.iter().chain(&after.conflicts).cloned().collect();
    let memories = Memories::of_records(&with_conflict, None);
    let sides: Vec<_> = memories
        .items()
        .iter()
        .filter_map(|item| Some((item.source.as_str(), item.contested.as_ref()?.other.as_str())))
        .collect();
    assert_eq!(sides, [("002", "003"), ("003", "002")]);
}

#[test]
fn deleting_a_pattern_deletes_its_duplicates() {
    let mut after = of(&[pattern(1, 0, "is alpha here", "a.rs b.rs"), pattern(2, 1, "is alpha here", "a.rs b.rs")]);
    let forget = r#"{"id":"900","type":"tombstone","forget":"001"}"#;
    after.main.push(Record::parse(forget).unwrap());
    assert_eq!(recalled(&after.main), []);
    // A new record does not contradict it either.
    let contrary = pattern(4, 3, "not alpha here", "a.rs b.rs");
    let later = reconciled(&next(&after, vec![segment(3, 0, vec![contrary])]));
    assert!(later.conflicts.is_empty());
}

#[test]
fn two_people_reach_the_same_patterns() {
    let records = [
        pattern(1, 0, "is alpha here", "a.rs b.rs"),
        pattern(2, 1, "is alpha there", "b.rs a.rs"),
        pattern(3, 2, "is alpha here", "b.rs a.rs"),
        pattern(4, 3, "not alpha here", "a.rs b.rs"),
    ];
    let segments: Vec<_> =
        records.iter().enumerate().map(|(number, record)| segment(number, 0, vec![record.clone()])).collect();
    let one = of(&records);
    for cut in 0..=segments.len() {
        let (left, right) = segments.split_at(cut);
        let side = |segments: &[_]| {
            let before = PlanInput { segments: segments.to_vec(), ..PlanInput::default() };
            plan(&before, &by_letters())
        };
        let (left, right) = (side(left), side(right));
        let both = reconciled(&PlanInput {
            main: union(&left.main, &right.main),
            log: union(&left.log, &right.log),
            conflicts: union(&left.conflicts, &right.conflicts),
            segments: Vec::new(),
            ..PlanInput::default()
        });
        assert_eq!(lines(&both.main), lines(&one.main), "{cut}");
        assert_eq!(lines(&both.conflicts), lines(&one.conflicts), "{cut}");
    }
}
