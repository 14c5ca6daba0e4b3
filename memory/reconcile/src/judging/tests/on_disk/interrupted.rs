//! Killed runs, and runs during which files are changed.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use muninn_team::records::{CONFLICTS, MAIN, SESSIONS};

use super::super::{by_letters, learning};
use super::{TestWorktree, store};
use crate::{RECONCILED, ReconcileError, ReconcileOptions, reconcile};

/// Environment variable of killed processes: the worktree, and the step at which to exit.
const VICTIM: &str = "MUNINN_TEST_RECONCILE";
const STEP: &str = "MUNINN_TEST_STEP";

/// Reconciles and kills itself. Not a test of its own.
#[test]
fn victim() {
    let (Some(place), Ok(step)) = (std::env::var_os(VICTIM), std::env::var(STEP)) else {
        return;
    };
    let place = Path::new(&place);
    let store = store(&place.join("repo"), &place.join("state"));
    let last: usize = step.parse().unwrap();
    let mut steps = 0;
    let options = ReconcileOptions { archive: true, ..ReconcileOptions::default() };
    reconcile(&store, options, &by_letters(), &mut |_| {
        steps += 1;
        if steps == last {
            std::process::abort();
        }
    })
    .ok();
    std::process::exit(0);
}

#[test]
#[cfg(unix)]
fn killed_run_is_completed_by_the_next() {
    let whole = TestWorktree::new();
    let old = whole.seen();
    whole.run(ReconcileOptions { archive: true, ..ReconcileOptions::default() }).unwrap();
    let (new, files) = (whole.seen(), whole.files());
    assert_ne!(old, new);
    let names = |files: &[(String, Vec<u8>)], root: &Path| -> Vec<(String, Vec<u8>)> {
        let below = |(name, bytes): &(String, Vec<u8>)| (name.replace(&root.display().to_string(), ""), bytes.clone());
        files.iter().map(below).collect()
    };
    let expected = names(&files, &whole.repo.path(""));
    let (mut step, mut seen_old) = (0, false);
    loop {
        step += 1;
        let desk = TestWorktree::new();
        let place = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(desk.repo.path(""), place.path().join("repo")).unwrap();
        std::os::unix::fs::symlink(desk.state.path(), place.path().join("state")).unwrap();
        let (_, module) = module_path!().split_once("::").unwrap();
        let ended = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &format!("{module}::victim"), "--nocapture", "--test-threads=1"])
            .env(VICTIM, place.path())
            .env(STEP, step.to_string())
            .output()
            .unwrap();
        let seen = desk.seen();
        assert!(seen == old || seen == new, "after step {step}: {seen:?}");
        seen_old |= seen == old;
        desk.run(ReconcileOptions { archive: true, ..ReconcileOptions::default() }).unwrap();
        assert_eq!(names(&desk.files(), &desk.repo.path("")), expected, "after step {step}");
        assert_eq!(desk.seen(), new);
        if ended.status.success() {
            break;
        }
    }
    assert!(seen_old && step > 10, "{step} steps");
}

#[test]
fn concurrent_changes_are_not_overwritten() {
    let learned = learning(9, 3, (3, false)).line();
    let logged = r#"{"id":"009","type":"reconciled","segment":"session_S9.0.jsonl","bytes":9,"run":"008"}"#;
    let session = format!("{SESSIONS}/session_S1.0.jsonl");
    let cases = [(MAIN, learned.as_str()), (CONFLICTS, &learned), (RECONCILED, logged), (&session, &learned)];
    let everything = |desk: &TestWorktree| -> String {
        let files = desk.files();
        files.iter().map(|(_, bytes)| String::from_utf8_lossy(bytes)).collect()
    };
    let (before, mut refused) = (everything(&TestWorktree::new()), BTreeSet::new());
    for (path, line) in cases {
        // Another process adds a line after the first step, after the second, and so on until the run has no more
        // steps.
        for after in 1.. {
            let (desk, mut steps) = (TestWorktree::new(), 0);
            let run = reconcile(&desk.store(), ReconcileOptions::default(), &by_letters(), &mut |_| {
                steps += 1;
                if steps == after {
                    desk.repo.write(path, format!("{}{line}\n", desk.read(path)).as_bytes());
                }
            });
            if steps < after {
                break;
            }
            match run {
                Err(ReconcileError::Changed { path: changed }) => {
                    assert_eq!(changed, path);
                    refused.insert(changed);
                }
                done => drop(done.unwrap()),
            }
            let (left, at) = (everything(&desk), format!("step {after}, {path}"));
            for kept in before.lines().filter(|line| line.starts_with('{')).chain([line]) {
                assert!(left.contains(kept), "{at}: {kept} is gone:\n{left}");
            }
            desk.repo.commit();
            desk.run(ReconcileOptions::default()).unwrap();
            let reconciled = desk.read(MAIN) + &desk.read(RECONCILED);
            for kept in before.lines().filter(|line| line.starts_with('{')).chain([line]) {
                assert!(reconciled.contains(kept), "{at}: {kept} is missing after the next run:\n{reconciled}");
            }
        }
    }
    assert_eq!(refused.len(), 3, "the changed segment stays, and the run continues: {refused:?}");
}

#[test]
fn segment_removed_meanwhile_is_not_reported() {
    let (desk, mut is_first) = (TestWorktree::new(), true);
    let session = desk.repo.path(&format!("{SESSIONS}/session_S1.0.jsonl"));
    let done = reconcile(&desk.store(), ReconcileOptions::default(), &by_letters(), &mut |_| {
        if std::mem::take(&mut is_first) {
            std::fs::remove_file(&session).unwrap();
        }
    });
    let notes = done.unwrap().notes;
    assert!(notes.iter().all(|note| !note.contains("stays")), "{notes:?}");
    assert!(desk.read(MAIN).contains("\"id\":\"003\""), "its records are in main");
}
