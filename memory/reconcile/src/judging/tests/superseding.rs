//! A later statement of the same author about the same subject supersedes the earlier one.

use muninn_team::records::{Body, Record, kinds};

use super::{lines, next, reconciled, segment, union};
use crate::{Plan, PlanInput};

/// A learning about a subject by an author, at a second.
fn said(second: usize, text: &str, author: &str) -> Record {
    let line = format!(
        r#"{{"id":"{second:03}","ts":"2026-01-01T00:00:{second:02}Z","type":"learning","text":"{text} alpha","subject":"ports","author":"{author}","session":"S{second}"}}"#
    );
    Record::parse(&line).unwrap()
}

fn of(records: &[Record]) -> Plan {
    let segments = records.iter().enumerate().map(|(number, record)| segment(number, 0, vec![record.clone()]));
    reconciled(&PlanInput { segments: segments.collect(), ..PlanInput::default() })
}

fn superseding(after: &Plan) -> Vec<&Record> {
    let main = after.main.iter();
    main.filter(|record| matches!(record.body, Body::Supersedes(_))).collect()
}

#[test]
fn supersedes_names_successor_and_date() {
    let records = [said(1, "is", "ada"), said(2, "not", "ada")];
    let after = of(&records);
    assert_eq!((after.summary.superseded, after.conflicts.len()), (1, 0));
    let body = Body::Supersedes(kinds::Supersedes {
        older: "001".to_owned(),
        newer: Some("002".to_owned()),
        since: Some("2026-01-01T00:00:02Z".into()),
        reason: Some("letters; the same author wrote about the same subject again".to_owned()),
    });
    assert_eq!(superseding(&after)[0].body, body);
    // Two people write the same line.
    let other = of(&[records[1].clone(), records[0].clone()]);
    assert_eq!(lines(&union(&after.main, &other.main)), lines(&after.main));
    // A line of an earlier version names no successor, and is still valid.
    let mut before = next(&after, Vec::new());
    let old = superseding(&after)[0].line().replace(r#","newer":"002""#, "");
    before.main.retain(|record| !matches!(record.body, Body::Supersedes(_)));
    before.main.push(Record::parse(&old).unwrap());
    before.segments = vec![segment(7, 0, vec![said(7, "is", "ben")])];
    let later = reconciled(&before);
    assert_eq!(superseding(&later).len(), 1);
    assert_eq!(later.conflicts.len(), 1, "only the current statement must be in conflict");
}

#[test]
fn other_author_is_a_conflict() {
    let after = of(&[said(1, "is", "ada"), said(2, "not", "ben")]);
    assert_eq!((after.summary.superseded, after.conflicts.len()), (0, 1));
}
