//! Sessions without waiting records, and legacy folders.

use std::fs;
use std::path::Path;
use std::time::Duration;

use muninn_base::Until;

use super::{SpoolFixture, record};
use crate::records::{Sessions, SpoolView};

fn session_folders(fixture: &SpoolFixture) -> Vec<String> {
    let Ok(entries) = fs::read_dir(fixture.dir.path().join("spool")) else {
        return Vec::new();
    };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.len() == 16 && name.bytes().all(|byte| byte.is_ascii_hexdigit())).collect()
}

/// All files below a directory.
fn files_below(dir: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(dir) else {
        return Vec::new();
    };
    let below = |path: &Path| if path.is_dir() { files_below(path) } else { vec![path.display().to_string()] };
    entries.flat_map(|entry| below(&entry.unwrap().path())).collect()
}

#[test]
fn a_session_that_learned_nothing_leaves_nothing() {
    let fixture = SpoolFixture::new();
    assert_eq!(fixture.spool().session("client").unwrap(), None);
    assert_eq!(fixture.spool().marks("client").unwrap(), [""; 0]);
    assert_eq!(files_below(&fixture.dir.path().join("spool")), [""; 0]);
}

#[test]
fn finished_session_leaves_no_folder_and_can_resume() {
    let fixture = SpoolFixture::new();
    fixture.spool().append("client", Some("main"), Some("turn 1"), &[record("one")]).unwrap();
    let id = fixture.spool().session("client").unwrap().unwrap();
    fixture.spool().flush(&fixture.segments(), |_| true).unwrap();
    assert_eq!(session_folders(&fixture), [""; 0]);
    // Another process resumes the session later.
    let spool = fixture.spool();
    assert_eq!(spool.session("client").unwrap().as_ref(), Some(&id));
    assert!(!spool.append("client", Some("main"), Some("turn 1"), &[record("one")]).unwrap());
    assert!(spool.append("client", Some("main"), Some("turn 2"), &[record("two")]).unwrap());
    let flushed = spool.flush(&fixture.segments(), |_| true).unwrap();
    assert_eq!(flushed.segments, [format!("session_{id}.1.jsonl")]);
    let mut recorded = SpoolView::default();
    recorded.refresh(&spool);
    assert!(recorded.has(&id));
    assert_eq!(recorded.files().count(), 0);
}

#[test]
fn flush_of_one_session_opens_no_other_file() {
    let fixture = SpoolFixture::new();
    let spool = fixture.spool();
    for client in ["a", "b"] {
        spool.append(client, Some("main"), None, &[record(client)]).unwrap();
    }
    let b = spool.session("b").unwrap().unwrap();
    let of_b = spool.waiting().unwrap().into_iter().find(|one| one.session == b).unwrap();
    // Opening this fails.
    fs::remove_file(&of_b.file).unwrap();
    fs::create_dir(&of_b.file).unwrap();
    let flush = |sessions| spool.flush_some(sessions, &fixture.segments(), None, |_| true);
    assert_eq!(flush(Sessions::Of(&["a"])).unwrap().records, 1);
    flush(Sessions::All).unwrap_err();
}

#[test]
fn flush_past_its_deadline_changes_nothing() {
    let fixture = SpoolFixture::new();
    let spool = fixture.spool();
    for client in 0..50 {
        spool.append(&client.to_string(), Some("main"), Some("turn"), &[record("x")]).unwrap();
    }
    let over = Until::within(Duration::ZERO);
    let cut = spool.flush_some(Sessions::All, &fixture.segments(), Some(&over), |_| true).unwrap();
    assert_eq!((cut.records, cut.is_cut, fixture.written().len()), (0, true, 0));
    assert_eq!(fixture.spool().flush(&fixture.segments(), |_| true).unwrap().records, 50);
}

/// Writes a session folder of earlier versions.
pub(super) fn old_folder(fixture: &SpoolFixture, client: &str, id: &str, next: u64, files: &[(&str, &str)]) {
    let hash = blake3::hash(client.as_bytes()).to_hex();
    let folder = fixture.dir.path().join("spool").join(&hash[..16]);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("lock"), "").unwrap();
    let named = serde_json::json!({"id": id, "next": next});
    fs::write(folder.join("session.json"), named.to_string()).unwrap();
    for (name, text) in files {
        fs::write(folder.join(name), text).unwrap();
    }
}

fn compact(fixture: &SpoolFixture) -> bool {
    fixture.spool().compact(&Until::within(Duration::from_secs(60))).unwrap()
}

#[test]
fn legacy_folders_are_migrated_without_loss() {
    let fixture = SpoolFixture::new();
    let waits = record("waits");
    let live = format!("{}\n", waits.line());
    old_folder(&fixture, "idle", "01IDLE", 0, &[]);
    old_folder(&fixture, "finished", "01FINISHED", 3, &[("marks", "turn 1\nturn 2\n")]);
    let files = [
        ("marks", "turn 1\n"),
        ("live-0123456789abcdef.jsonl", live.as_str()),
        ("aside-2-0123456789abcdef.jsonl", "no record\n"),
    ];
    old_folder(&fixture, "open", "01OPEN", 2, &files);
    // A session that resumes before the migration finds its data.
    let spool = fixture.spool();
    assert_eq!(spool.marks("finished").unwrap(), ["turn 1", "turn 2"]);
    assert!(!spool.append("open", Some("main"), Some("turn 1"), &[record("again")]).unwrap());
    assert!(!spool.compact(&Until::within(Duration::ZERO)).unwrap());
    assert!(compact(&fixture) && compact(&fixture));
    assert_eq!(session_folders(&fixture), [""; 0]);
    let mut recorded = SpoolView::default();
    recorded.refresh(&spool);
    let known = ["01IDLE", "01FINISHED", "01OPEN"].map(|id| recorded.has(id));
    assert_eq!(known, [false, true, true], "a session without records must not be recorded");
    assert_eq!(spool.set_aside().unwrap().len(), 1);
    assert!(spool.append("finished", Some("main"), Some("turn 3"), &[record("x")]).unwrap());
    let flushed = spool.flush(&fixture.segments(), |_| true).unwrap();
    assert_eq!(
        flushed.segments.iter().map(String::as_str).collect::<std::collections::BTreeSet<_>>(),
        ["session_01FINISHED.3.jsonl", "session_01OPEN.2.jsonl"].into()
    );
    let written = fixture.written();
    assert!(written.iter().any(|(_, text)| text == &live));
}

#[test]
fn interrupted_migration_resumes() {
    let fixture = SpoolFixture::new();
    let one = record("one");
    let live = format!("{}\n", one.line());
    let files = [("marks", "turn 1\n"), ("live-0123456789abcdef.jsonl", live.as_str())];
    old_folder(&fixture, "client", "01CLIENT", 1, &files);
    assert!(compact(&fixture));
    // Killed after the files moved, and after the index was written but before they moved.
    old_folder(&fixture, "client", "01CLIENT", 1, &[("marks", "turn 1\n")]);
    assert!(compact(&fixture));
    let two = record("two");
    let live = format!("{}\n", two.line());
    old_folder(&fixture, "client", "01CLIENT", 1, &[("live-0123456789abcdef.jsonl", live.as_str())]);
    assert!(compact(&fixture));
    let spool = fixture.spool();
    assert_eq!(spool.session("client").unwrap().as_deref(), Some("01CLIENT"));
    assert_eq!(spool.marks("client").unwrap(), ["turn 1"]);
    assert_eq!(spool.flush(&fixture.segments(), |_| true).unwrap().records, 2);
    let texts: String = fixture.written().into_iter().map(|(_, text)| text).collect();
    assert!(texts.contains(&one.id) && texts.contains(&two.id));
    assert_eq!(session_folders(&fixture), [""; 0]);
}

#[test]
fn damaged_index_is_set_aside() {
    let fixture = SpoolFixture::new();
    fixture.spool().append("client", Some("main"), Some("turn 1"), &[record("one")]).unwrap();
    fs::write(fixture.dir.path().join("spool/sessions.db"), "no database, however long it may be".repeat(500)).unwrap();
    for suffix in ["-wal", "-shm"] {
        fs::remove_file(fixture.dir.path().join(format!("spool/sessions.db{suffix}"))).ok();
    }
    let spool = fixture.spool();
    assert!(spool.append("client", Some("main"), Some("turn 2"), &[record("two")]).unwrap());
    assert_eq!(spool.flush(&fixture.segments(), |_| true).unwrap().records, 2);
    let is_aside = |name: &String| name.contains("sessions.db.damaged-");
    assert!(files_below(&fixture.dir.path().join("spool")).iter().any(is_aside));
}

#[test]
fn deleted_spool_is_recreated() {
    let fixture = SpoolFixture::new();
    let spool = fixture.spool();
    let mut recorded = SpoolView::default();
    spool.append("client", Some("main"), Some("turn"), &[record("one")]).unwrap();
    let before = spool.session("client").unwrap().unwrap();
    recorded.refresh(&spool);
    assert!(recorded.has(&before));
    fs::remove_dir_all(fixture.dir.path().join("spool")).unwrap();
    assert!(spool.append("client", Some("main"), Some("turn"), &[record("two")]).unwrap());
    let after = fixture.spool().session("client").unwrap().unwrap();
    recorded.refresh(&spool);
    assert!(recorded.has(&after) && !recorded.has(&before));
}
