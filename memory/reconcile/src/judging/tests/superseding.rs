//! A later statement of the same author about the same subject is proposed to replace the earlier one; both hold until somebody
//! decides.

use muninn_team::records::{Body, Record, RecordStatus, kinds};

use super::{next, reconciled, segment};
use crate::open::open_among;
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

#[test]
fn same_author_and_subject_is_a_proposal() {
    for (author, expected) in [("ada", Some("The same author wrote about the same subject again.")), ("ben", None)] {
        let after = of(&[said(1, "is", "ada"), said(2, "not", author)]);
        assert_eq!((after.summary.undecided, after.summary.conflicts, after.conflicts.len()), (1, 0, 1));
        let open = open_among(&after.main.iter().collect::<Vec<_>>());
        assert_eq!(open[0].proposal.as_deref(), expected, "{author}");
        let status = RecordStatus::of(&after.main);
        assert!(!status.is_gone("001") && !status.is_gone("002"), "both are recalled");
    }
}

#[test]
fn superseding_of_an_earlier_version_still_holds() {
    let mut before = next(&of(&[said(1, "is", "ada"), said(2, "not", "ada")]), Vec::new());
    let (older, newer) = ("001".to_owned(), Some("002".to_owned()));
    let body = Body::Supersedes(kinds::Supersedes { older, newer, ..kinds::Supersedes::default() });
    before.main.retain(|record| !matches!(record.body, Body::Conflict(_)));
    before.main.push(Record::derived(body, &["001", "002"], &"2026-01-01T00:00:02Z".into()));
    before.conflicts.clear();
    before.segments = vec![segment(7, 0, vec![said(7, "is", "ben")])];
    let later = reconciled(&before);
    assert_eq!(later.conflicts.len(), 1, "only the current statement must be in conflict");
}
