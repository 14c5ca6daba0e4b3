//! Reading and writing records, and the spool.

mod finished;
mod golden;
mod kill;

use std::fs;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::lines::{SkipReason, SkippedLine, read};
use super::*;
use muninn_base::Clock;

impl Spool {
    /// Appends records of a session that were learned on a branch.
    fn append(
        &self,
        client: &str,
        branch: Option<&str>,
        mark: Option<&str>,
        records: &[Record],
    ) -> Result<bool, SpoolError> {
        self.learn(client, mark, |_| (branch.map(str::to_owned), records.to_vec()))
    }

    /// Writes segments of the records that `is_due` selects in all sessions.
    pub(crate) fn flush(
        &self,
        segments: &Segments,
        is_due: impl Fn(&PendingRecords) -> bool,
    ) -> Result<Flushed, SpoolError> {
        self.flush_some(Sessions::All, segments, None, is_due)
    }
}

fn record(text: &str) -> Record {
    let body = Body::Learning(kinds::Learning {
        text: text.to_owned(),
        subject: None,
        confidence: serde_json::Number::from_f64(0.5),
        author: None,
    });
    let origin = Origin { session: Some("01S".to_owned()), branch: Some("main".to_owned()), ..Origin::default() };
    Record::new(body, origin, &Clock::system())
}

fn all(text: &[u8]) -> (Vec<Record>, Vec<SkippedLine>) {
    let (mut records, mut aside) = (Vec::new(), Vec::new());
    read(text, |_, record| records.push(record), |line| aside.push(line)).unwrap();
    (records, aside)
}

#[test]
fn every_type_round_trips() {
    for line in [
        r#"{"id":"1","ts":"2026-01-07T10:00:00Z","type":"context_hit","query_hash":"abc","query":"why?","terms":["ledger"],"files":["a.rs"],"relevance":0.95,"session":"s","branch":"b","commit":"c","sources":[{"path":"a.rs","blob":"d"}],"task":"T-1"}"#,
        r#"{"id":"2","ts":"t","type":"pattern","pattern":"auth","entities":["a","b"],"confidence":0.8}"#,
        r#"{"id":"3","ts":"t","type":"session_summary","files_touched":["a"],"learnings":["x"],"author":"model:a/b","task":"T-2"}"#,
        r#"{"id":"4","ts":"t","type":"learning","text":"x","subject":"y","confidence":1.0,"author":"me"}"#,
        r#"{"id":"4f","ts":"t","type":"failure","attempt":"x","count":2,"outcome":"y"}"#,
        r#"{"id":"4g","ts":"t","type":"failure","attempt":"x","confidence":0.9,"author":"me","session":"s"}"#,
        r#"{"id":"5","ts":"t","type":"failure","attempt":"cargo test","count":3,"outcome":"exit 101"}"#,
        r#"{"id":"6","ts":"t","type":"decision","conflict":"7","keep":["1"],"drop":["2"],"note":"n"}"#,
        r#"{"id":"7","ts":"t","type":"supersedes","older":"1","since":"t"}"#,
        r#"{"id":"7","ts":"t","type":"supersedes","older":"1","newer":"2","since":"t"}"#,
        r#"{"id":"8","ts":"t","type":"tombstone","forget":"1"}"#,
        r#"{"id":"9","ts":"t","type":"of_the_future","text":"x","numbers":[1e400,0.10,12345678901234567890123]}"#,
        r#"{"id":"0","ts":"t","type":"learning","text":"x","sources":[{"path":"a","blob":"d","lines":[1,2]},{"path":"b","blob":7}]}"#,
        r#"{"id":"A","ts":"t","type":"learning","text":"x","later":{"b":1,"a":[null]},"another":"ü\u0000"}"#,
    ] {
        assert_eq!(Record::parse(line).unwrap().line(), line);
    }
}

#[test]
fn members_are_ordered_and_invalid_ones_survive() {
    let odd = r#" {"task":7,"relevance":"high","x":1.50,"type":"context_hit","files":["b"],"ts":"t","id":"1"} "#;
    let line = Record::parse(odd).unwrap().line();
    let expected = r#"{"id":"1","ts":"t","type":"context_hit","files":["b"],"task":7,"relevance":"high","x":1.50}"#;
    assert_eq!(line, expected);
    assert_eq!(Record::parse(&line).unwrap().line(), line);
    for sources in [r#"[["a.rs"]]"#, r#"[{"path":"a.rs","lines":"1-2"}]"#, r#"[{"path":"a.rs","blob":7}]"#] {
        let line = format!(r#"{{"id":"1","ts":"t","type":"new","sources":{sources}}}"#);
        assert_eq!(Record::parse(&line).unwrap().line(), line);
    }
}

#[test]
fn invalid_lines_are_skipped_with_a_reason() {
    let text = concat!(
        "\u{feff}{\"id\":\"1\",\"type\":\"learning\",\"text\":\"a\"}\r\n",
        "<<<<<<< HEAD\n",
        "{\"id\":\"2\",\"type\":\"learning\",\"text\":\"ours\"}\n",
        "=======\n",
        "{\"id\":\"3\",\"type\":\"learning\",\"text\":\"theirs\"}\n",
        ">>>>>>> branch\n",
        "\n",
        "{\"id\":\"2\",\"type\":\"learning\",\"text\":\"ours\"}\n",
        "{\"id\":\"2\",\"type\":\"learning\",\"text\":\"another\"}\n",
        "[1]\n",
        "{\"type\":\"learning\"}\n",
        "{\"id\":\"4\",\"type\":\"lear",
    );
    let (records, aside) = all(text.as_bytes());
    let ids: Vec<_> = records.iter().map(|record| record.id.as_str()).collect();
    assert_eq!(ids, ["1", "2", "3", ""], "a record without an id must not count as a duplicate");
    let lines: Vec<_> = aside.iter().map(|aside| aside.line).collect();
    assert_eq!(lines, [2, 4, 6, 9, 10, 12]);
    assert_eq!(aside[0].reason, SkipReason::ConflictMarker);
    assert_eq!(aside[3].reason, SkipReason::Duplicate("2".to_owned()));
    assert_eq!(aside[5].reason, SkipReason::Torn);
    let long = format!(
        "{{\"id\":\"1\",\"type\":\"x\",\"t\":\"{}\"}}\n{{\"id\":\"2\",\"type\":\"x\"}}\n",
        "y".repeat(lines::MAX_LINE_BYTES)
    );
    let (records, aside) = all(long.as_bytes());
    assert_eq!((records.len(), &aside[0].reason), (1, &SkipReason::TooLong));
    let (records, aside) = all(b"\xff\xfe\n{\"id\":\"1\",\"type\":\"x\"}\n\xff");
    assert_eq!((records.len(), aside.len()), (1, 2));
}

/// Any JSON value.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<Option<bool>>().prop_map(|value| json!(value)),
        any::<i64>().prop_map(|value| json!(value)),
        ".{0,12}".prop_map(|value| json!(value)),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|values| json!(values)),
            prop::collection::btree_map(".{0,6}", inner, 0..4).prop_map(|members| json!(members)),
        ]
    })
}

proptest! {
    #[test]
    fn rewriting_keeps_every_member(
        members in prop::collection::btree_map("[a-z_]{1,8}|id|ts|task|sources|text|files|relevance|count", value(), 0..8),
        kind in "context_hit|pattern|session_summary|learning|failure|decision|supersedes|tombstone|new",
    ) {
        let mut object = json!(members);
        object["id"] = json!("1");
        object["type"] = json!(kind);
        let written: Value = serde_json::from_str(&Record::parse(&object.to_string()).unwrap().line()).unwrap();
        // Empty members can be dropped.
        let says_something = |value: &Value| *value != json!("") && *value != json!([]) && !value.is_null();
        for (name, value) in object.as_object().unwrap().iter().filter(|(_, value)| says_something(value)) {
            prop_assert_eq!(&written[name], value, "{}", name);
        }
    }

    #[test]
    fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        all(&bytes);
    }
}

struct SpoolFixture {
    dir: tempfile::TempDir,
}

impl SpoolFixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("home")).unwrap();
        Self { dir }
    }

    fn spool(&self) -> Spool {
        Spool::at(self.dir.path().join("spool"), Durability::Segment, Clock::system())
    }

    fn segments(&self) -> Segments {
        Segments::of(&Home::Directory(self.dir.path().join("home"))).unwrap()
    }

    /// Names and contents of the segments.
    fn written(&self) -> Vec<(String, String)> {
        let Ok(entries) = fs::read_dir(self.dir.path().join("home/sessions")) else {
            return Vec::new();
        };
        let read =
            |entry: fs::DirEntry| (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap());
        let mut written: Vec<_> = entries.map(|entry| read(entry.unwrap())).collect();
        written.sort();
        written
    }
}

#[test]
fn flushed_segments_are_never_rewritten() {
    let fixture = SpoolFixture::new();
    let spool = fixture.spool();
    let (one, two, three) = (record("one"), record("two"), record("three"));
    spool.append("client", Some("main"), None, &[one.clone(), two.clone()]).unwrap();
    assert!(fixture.written().is_empty());
    assert_eq!(spool.waiting().unwrap()[0].records, 2);
    let id = spool.session("client").unwrap().unwrap();
    let flushed = spool.flush(&fixture.segments(), |_| true).unwrap();
    assert_eq!((flushed.segments, flushed.records), (vec![format!("session_{id}.0.jsonl")], 2));
    let first = fixture.written();
    assert_eq!(first[0].1, format!("{}\n{}\n", one.line(), two.line()));
    spool.append("client", Some("main"), None, std::slice::from_ref(&three)).unwrap();
    spool.flush(&fixture.segments(), |_| true).unwrap();
    let both = fixture.written();
    assert_eq!(both[0], first[0]);
    assert_eq!(both[1], (format!("session_{id}.1.jsonl"), format!("{}\n", three.line())));
    assert!(spool.waiting().unwrap().is_empty());
    assert!(spool.flush(&fixture.segments(), |_| true).unwrap().segments.is_empty());
    assert_eq!(Segments::parse_name(&both[1].0), Some((id.as_str(), 1)));
}

#[test]
fn only_due_records_are_flushed() {
    let fixture = SpoolFixture::new();
    let spool = fixture.spool();
    spool.append("client", Some("main"), None, &[record("here")]).unwrap();
    let mut elsewhere = record("there");
    elsewhere.origin.branch = Some("feature/x: y".to_owned());
    elsewhere.origin.commit = Some("abc".to_owned());
    spool.append("client", Some("feature/x: y"), None, &[elsewhere]).unwrap();
    let flushed = spool.flush(&fixture.segments(), |waiting| waiting.branch.as_deref() == Some("main")).unwrap();
    assert_eq!((flushed.records, flushed.waiting.len()), (1, 1));
    let waiting = &flushed.waiting[0];
    assert_eq!(
        (waiting.branch.as_deref(), waiting.commits.as_slice()),
        (Some("feature/x: y"), &["abc".to_owned()][..])
    );
    assert_eq!(spool.flush(&fixture.segments(), |_| true).unwrap().records, 1);
    assert_eq!(fixture.written().len(), 2);
}

#[test]
fn torn_line_is_kept_aside() {
    let fixture = SpoolFixture::new();
    let spool = fixture.spool();
    spool.append("client", Some("main"), None, &[record("whole")]).unwrap();
    let file = spool.waiting().unwrap()[0].file.clone();
    let mut text = fs::read_to_string(&file).unwrap();
    text.push_str("{\"id\":\"9\",\"type\":\"lear");
    fs::write(&file, &text).unwrap();
    spool.append("client", Some("main"), None, &[record("after")]).unwrap();
    assert_eq!(spool.flush(&fixture.segments(), |_| true).unwrap().records, 2);
    let aside = spool.set_aside().unwrap();
    assert!(fs::read_to_string(&aside[0]).unwrap().contains("\"lear\n"), "{aside:?}");
    assert_eq!((aside.len(), spool.waiting().unwrap().len()), (1, 0));
    assert!(!fixture.written()[0].1.contains("lear\n"));
}

#[test]
fn interrupted_flush_resumes() {
    let fixture = SpoolFixture::new();
    let spool = fixture.spool();
    spool.append("client", Some("main"), None, &[record("one")]).unwrap();
    let live = spool.waiting().unwrap()[0].file.clone();
    let text = fs::read_to_string(&live).unwrap();
    let flushing = live.with_file_name(live.file_name().unwrap().to_str().unwrap().replace("live", "flushing"));
    // Killed before the segment was written,
    fs::rename(&live, &flushing).unwrap();
    spool.append("client", Some("main"), None, &[record("two")]).unwrap();
    spool.flush(&fixture.segments(), |_| true).unwrap();
    let written = fixture.written();
    assert_eq!((written.len(), &written[0].1), (2, &text));
    // and after the segment was written, but before the spool was updated.
    let index = rusqlite::Connection::open(fixture.dir.path().join("spool/sessions.db")).unwrap();
    let leave = |text: &str| {
        fs::create_dir_all(flushing.parent().unwrap()).unwrap();
        fs::write(&flushing, text).unwrap();
    };
    let forget_numbers = || index.execute("UPDATE session SET next = 0", []).unwrap();
    leave(&text);
    forget_numbers();
    assert_eq!(spool.flush(&fixture.segments(), |_| true).unwrap().segments, [written[0].0.clone()]);
    assert_eq!(fixture.written(), written, "the same segment is not written twice");
    // A used name is not used again.
    leave(&format!("{}\n", record("three").line()));
    forget_numbers();
    spool.flush(&fixture.segments(), |_| true).unwrap();
    assert_eq!((fixture.written().len(), &fixture.written()[..2]), (3, &written[..]));
}

#[test]
fn mark_is_added_once() {
    let fixture = SpoolFixture::new();
    let spool = fixture.spool();
    assert_eq!(spool.marks("a").unwrap(), [""; 0]);
    assert!(spool.mark("a", "nothing in it").unwrap());
    assert!(!spool.mark("a", "nothing in it").unwrap());
    assert!(spool.append("a", None, Some("turn"), &[record("x")]).unwrap());
    assert!(!spool.mark("a", "turn").unwrap());
    assert!(!spool.append("a", None, Some("nothing in it"), &[record("x")]).unwrap());
    assert_eq!(spool.marks("a").unwrap(), ["nothing in it", "turn"]);
    assert_eq!(spool.marks("b").unwrap(), [""; 0]);
}

#[test]
fn marked_input_is_learned_once() {
    let fixture = SpoolFixture::new();
    let spool = fixture.spool();
    let keep = |client, mark| spool.append(client, Some("main"), Some(mark), &[record("x")]).unwrap();
    assert_eq!([keep("a", "1"), keep("a", "1"), keep("a", "2"), keep("b", "1")], [true, false, true, true]);
    spool.flush(&fixture.segments(), |_| true).unwrap();
    assert!(!keep("a", "2"), "a used mark must be refused after a flush");
    assert_eq!(spool.waiting().unwrap(), []);
}

#[test]
fn view_shows_waiting_files() {
    let fixture = SpoolFixture::new();
    let spool = fixture.spool();
    let mut recorded = SpoolView::default();
    let mut look = || {
        recorded.refresh(&spool);
        recorded.files().count()
    };
    assert_eq!(look(), 0);
    spool.append("a", Some("main"), None, &[record("x")]).unwrap();
    assert_eq!(look(), 1);
    spool.append("a", Some("side"), None, &[record("x")]).unwrap();
    spool.append("b", None, None, &[record("x")]).unwrap();
    assert_eq!(look(), 3);
    spool.flush(&fixture.segments(), |_| true).unwrap();
    assert_eq!(look(), 0);
}

#[test]
fn session_ids_differ_between_spools() {
    let (one, other) = (SpoolFixture::new(), SpoolFixture::new());
    let session = |fixture: &SpoolFixture, client: &str| {
        fixture.spool().append(client, Some("main"), None, &[record("x")]).unwrap();
        fixture.spool().session(client).unwrap().unwrap()
    };
    let id = session(&one, "the same client id");
    assert_ne!(id, session(&other, "the same client id"));
    assert_ne!(id, session(&one, "another"));
    assert_eq!(id, session(&one, "the same client id"));
    let mut recorded = SpoolView::default();
    recorded.refresh(&one.spool());
    assert!(recorded.has(&id) && !recorded.has("another"));
}
