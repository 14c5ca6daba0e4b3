//! Reconciling files of a worktree.

mod interrupted;
mod pruning;

use std::collections::BTreeSet;
use std::path::Path;

use muninn_base::Clock;
use muninn_recall::Memories;
use muninn_team::Store;
use muninn_team::fixture::Fixture;
use muninn_team::records::{CONFLICTS, Home, MAIN, Record, SESSIONS};
use muninn_team::store::StoreSettings;

use super::{by_letters, learning};
use crate::{
    ARCHIVE, Keep, RECONCILED, ReconcileError, ReconcileOptions, Reconciled, Resolution, SESSIONS_ARCHIVE,
    open_conflicts, reconcile, resolve,
};

pub(super) struct TestWorktree {
    pub(super) repo: Fixture,
    state: tempfile::TempDir,
}

impl TestWorktree {
    /// Two segments with one duplicate and one contradiction, one of them with an invalid line, and a main with merge
    /// markers.
    pub(super) fn new() -> TestWorktree {
        let repo = Fixture::with(&[("a.txt", "x")]);
        let lines = |records: &[Record]| -> String { records.iter().map(|record| record.line() + "\n").collect() };
        let main = lines(&[learning(1, 9, (0, false))]);
        repo.write(MAIN, format!("<<<<<<< HEAD\n{main}=======\n>>>>>>> theirs\n").as_bytes());
        let one = lines(&[learning(2, 1, (0, false)), learning(3, 1, (1, false))]);
        let two = lines(&[learning(4, 2, (1, true)), learning(5, 2, (2, false))]);
        repo.write(&format!("{SESSIONS}/session_S1.0.jsonl"), one.as_bytes());
        repo.write(&format!("{SESSIONS}/session_S2.0.jsonl"), format!("{two}no record\n").as_bytes());
        repo.commit();
        TestWorktree { repo, state: tempfile::tempdir().unwrap() }
    }

    pub(super) fn store(&self) -> Store {
        store(&self.repo.path(""), self.state.path())
    }

    pub(super) fn run(&self, options: ReconcileOptions) -> Result<Reconciled, ReconcileError> {
        reconcile(&self.store(), options, &by_letters(), &mut |_| {})
    }

    pub(super) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.repo.path(name)).unwrap_or_default()
    }

    /// What a user sees: ids of recalled records and of open conflicts.
    fn seen(&self) -> (BTreeSet<String>, Vec<String>) {
        // All segments are read, as on another branch.
        let settings = StoreSettings {
            default_branch_segments: muninn_team::store::DefaultBranchSegments::All,
            ..StoreSettings::default()
        };
        let store = Store::at(self.repo.home(), self.state.path(), settings, Clock::system());
        let memories = Memories::load_from(store.home(), &store.files().unwrap().into(), None, None);
        let recalled = memories.items().iter().map(|item| item.source.clone()).collect();
        let conflicts = open_conflicts(store.home()).unwrap();
        (recalled, conflicts.iter().flat_map(|open| &open.pairs).map(|pair| pair.id.clone()).collect())
    }

    /// All files that git would track, by name.
    fn files(&self) -> Vec<(String, Vec<u8>)> {
        let mut files = Vec::new();
        gather(&self.repo.path(".muninn/memory"), &mut files);
        files.sort();
        files
    }
}

fn gather(dir: &Path, files: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            gather(&path, files);
        } else if path.extension().is_none_or(|extension| extension != "tmp") {
            files.push((path.display().to_string(), std::fs::read(&path).unwrap()));
        }
    }
}

fn store(root: &Path, state: &Path) -> Store {
    let worktree = muninn_repo_tools::Worktree::discover(root).unwrap();
    Store::at(Home::Repository(worktree), state, StoreSettings::default(), Clock::system())
}

#[test]
fn segments_are_reconciled_and_removed() {
    let desk = TestWorktree::new();
    let dry = desk.run(ReconcileOptions { dry_run: true, ..ReconcileOptions::default() }).unwrap();
    assert_eq!(desk.read(CONFLICTS), "");
    let done = desk.run(ReconcileOptions::default()).unwrap();
    assert_eq!(dry, done);
    let summary = done.summary;
    assert_eq!((summary.consolidated, summary.duplicates, summary.undecided), (4, 1, 1));
    assert_eq!(done.notes.len(), 1, "{:?}", done.notes);
    assert!(done.notes[0].contains("session_S2.0.jsonl: a line is no record"), "{:?}", done.notes);
    let kept: Vec<_> = std::fs::read_dir(desk.repo.path(ARCHIVE)).unwrap().flatten().collect();
    assert!(std::fs::read_to_string(kept[0].path()).unwrap().ends_with("no record\n"));
    let main = desk.read(MAIN);
    assert_eq!(main.lines().count(), 7, "five records, a decision and a conflict: {main}");
    assert!(!main.contains("<<<<"));
    let mut sorted: Vec<&str> = main.lines().collect();
    sorted.sort_unstable();
    assert_eq!(main.lines().collect::<Vec<_>>(), sorted);
    assert_eq!(desk.read(CONFLICTS).lines().count(), 1);
    assert_eq!(desk.read(RECONCILED).lines().count(), 4, "two sessions, what main had before them, and the run");
    let left = std::fs::read_dir(desk.repo.path(SESSIONS)).unwrap().flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert_eq!(left, [".gitkeep"], "git would detect an emptied folder as moved");
    let before = desk.files();
    let again = desk.run(ReconcileOptions::default()).unwrap().summary;
    assert_eq!((again.consolidated, again.conflicts, again.open), (0, 0, 1));
    assert_eq!(desk.files(), before);
}

#[test]
fn archive_option_keeps_segments() {
    let desk = TestWorktree::new();
    let archive = ReconcileOptions { archive: true, ..ReconcileOptions::default() };
    let lines = |path: &str| -> Vec<String> { desk.read(path).lines().map(str::to_owned).collect() };
    let (one, two) = ("session_S1.0.jsonl", "session_S2.0.jsonl");
    let mut sessions = [one, two].map(|name| lines(&format!("{SESSIONS}/{name}"))).concat();
    sessions.retain(|line| line != "no record");
    desk.run(archive).unwrap();
    assert_eq!(lines(SESSIONS_ARCHIVE), sessions, "all records, in the order of their ids");
    assert_eq!(desk.read(&format!("{SESSIONS}/{one}")), "");
    // A later segment is added, and a line that a merge restores is archived once.
    let later = learning(9, 3, (3, false)).line();
    let again = [sessions[0].clone(), later.clone()].join("\n") + "\n";
    desk.repo.write(&format!("{SESSIONS}/session_S3.0.jsonl"), again.as_bytes());
    desk.repo.commit();
    desk.run(archive).unwrap();
    assert_eq!(lines(SESSIONS_ARCHIVE), [sessions, vec![later]].concat());
}

#[test]
fn run_needs_the_default_branch_and_the_lock() {
    let desk = TestWorktree::new();
    desk.repo.git(&["checkout", "-q", "-b", "side"]);
    let refused = desk.run(ReconcileOptions::default()).unwrap_err();
    assert_eq!(refused.to_string(), "side is checked out, and main memory belongs to main");
    let mut second = None;
    let here = ReconcileOptions { here: true, ..ReconcileOptions::default() };
    reconcile(&desk.store(), here, &by_letters(), &mut |_| {
        let dry = ReconcileOptions { dry_run: true, ..here };
        second.get_or_insert_with(|| [desk.run(here), desk.run(dry)]);
    })
    .unwrap();
    let second = second.unwrap();
    assert!(matches!(second, [Err(ReconcileError::Busy), Ok(_)]), "a dry run takes no lock: {second:?}");
}

#[test]
fn latest_decision_holds() {
    let desk = TestWorktree::new();
    desk.run(ReconcileOptions::default()).unwrap();
    let open = open_conflicts(&desk.repo.home()).unwrap();
    let id = &open[0].id;
    let unknown = resolve(&desk.store(), "NONE", &Resolution::Keep(Keep::Left), None).unwrap_err();
    assert_eq!(unknown.to_string(), "no conflict has an id that contains `NONE`");
    let secret = "asked Bo, ghp_0123456789abcdefghijABCDEFGHIJ012345";
    resolve(&desk.store(), &id[20..].to_lowercase(), &Resolution::Keep(Keep::Left), Some(secret)).unwrap();
    assert!(open_conflicts(&desk.repo.home()).unwrap().is_empty());
    assert_eq!(desk.read(CONFLICTS), "");
    let main = desk.read(MAIN);
    assert!(main.contains("asked Bo, [redacted:github-token]"), "{main}");
    let recalls = |id: &str| desk.seen().0.contains(id);
    assert!(recalls("003") && !recalls("004"));
    assert!(main.contains("\"id\":\"004\""), "the dropped record stays in main");
    let again = r#"{"id":"006","type":"learning","text":"not bravo indexing"}
{"id":"007","type":"same","kept":"004","folded":"006"}
"#;
    desk.repo.write(MAIN, format!("{main}{again}").as_bytes());
    assert!(!recalls("006"), "a duplicate of a dropped record is not recalled");
    // Another person resolved it on another branch, later.
    let theirs = format!(
        r#"{{"id":"Z","ts":"2999-01-01T00:00:00Z","type":"decision","conflict":"{id}","keep":["004"],"drop":["003"]}}"#
    );
    desk.repo.write(MAIN, format!("{main}{theirs}\n").as_bytes());
    assert!(recalls("004") && !recalls("003"));
    assert_eq!(desk.run(ReconcileOptions::default()).unwrap().summary.open, 0);
}

#[cfg(unix)]
#[test]
fn new_files_are_readable_by_their_owner_only_and_others_keep_their_mode() {
    use std::os::unix::fs::PermissionsExt as _;
    let desk = TestWorktree::new();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let main = desk.repo.path(MAIN);
    std::fs::set_permissions(&main, std::fs::Permissions::from_mode(0o664)).unwrap();
    let archive = ReconcileOptions { archive: true, ..ReconcileOptions::default() };
    desk.run(archive).unwrap();
    assert_eq!(mode(&main), 0o664);
    let new: Vec<_> = desk.files().into_iter().map(|(name, _)| name).collect();
    let new: Vec<_> = new.iter().filter(|name| !name.ends_with("main.jsonl")).collect();
    assert!(new.len() >= 5, "{new:?}");
    assert!(new.iter().all(|name| mode(Path::new(name)) == 0o600), "{new:?}");
}

#[test]
fn conflict_side_is_shown_by_its_recalled_duplicate() {
    let desk = TestWorktree::new();
    let main = r#"{"id":"1","type":"learning","text":"not alpha"}
{"id":"3","type":"learning","text":"is alpha"}
{"id":"4","type":"learning","text":"is alpha"}
{"id":"5","type":"same","kept":"1","folded":"2"}
{"id":"6","type":"same","kept":"3","folded":"4"}
{"id":"7","type":"supersedes","older":"3","newer":"2"}
{"id":"8","type":"conflict","left":"2","right":"3","by":"rules"}
{"id":"9","type":"conflict","left":"1","right":"4","by":"rules"}
"#;
    desk.repo.write(MAIN, main.as_bytes());
    let open = open_conflicts(&desk.repo.home()).unwrap();
    let shown: Vec<_> = open.iter().map(|open| [&open.id, &open.sides[0].id, &open.sides[1].id]).collect();
    assert_eq!(shown, [["8", "1", "4"]]);
    resolve(&desk.store(), "8", &Resolution::Keep(Keep::Left), None).unwrap();
    assert!(open_conflicts(&desk.repo.home()).unwrap().is_empty());
    let recalled = desk.seen().0;
    assert!(recalled.contains("1") && !recalled.contains("4"), "{recalled:?}");
}

#[test]
fn many_contradicting_records_are_resolved_in_few_conflicts() {
    const RECORDS: usize = 80;
    let desk = TestWorktree::new();
    let claim = |at: usize| format!("{{\"id\":\"{at:02}\",\"type\":\"learning\",\"text\":\"the limit is {at}\"}}\n");
    let pairs = (0..RECORDS).flat_map(|left| (left + 1..RECORDS).map(move |right| (left, right)));
    let conflict = |(left, right)| {
        format!(
            "{{\"id\":\"C{left:02}{right:02}\",\"type\":\"conflict\",\"left\":\"{left:02}\",\"right\":\"{right:02}\",\"by\":\"rules\"}}\n"
        )
    };
    let main: String = (0..RECORDS).map(claim).chain(pairs.map(conflict)).collect();
    desk.repo.write(MAIN, main.as_bytes());
    let mut counts = Vec::new();
    loop {
        let open = open_conflicts(&desk.repo.home()).unwrap();
        counts.push(open.len());
        let Some(first) = open.first() else { break };
        let sides: Vec<usize> = open.iter().map(|conflict| conflict.sides.len()).collect();
        assert!(sides.iter().all(|sides| (2..=32).contains(sides)), "{sides:?}");
        resolve(&desk.store(), &first.id, &Resolution::Keep(Keep::Left), None).unwrap();
    }
    assert!(counts.len() <= 5 && counts.iter().all(|count| *count <= 3), "{counts:?}");
    let recalled = desk.seen().0;
    let kept: Vec<&String> = recalled.iter().filter(|id| id.len() == 2).collect();
    assert_eq!(kept, ["00"]);
}

#[cfg(unix)]
#[test]
fn links_are_not_written_through() {
    let desk = TestWorktree::new();
    let outside = tempfile::tempdir().unwrap();
    std::fs::rename(desk.repo.path(".muninn/memory"), outside.path().join("memory")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("memory"), desk.repo.path(".muninn/memory")).unwrap();
    desk.run(ReconcileOptions::default()).unwrap_err();
    let main = std::fs::read_to_string(outside.path().join("memory/main.jsonl")).unwrap();
    assert!(main.contains("<<<<"), "untouched");
    // The same for a link from git with the name of the first written file.
    for name in ["main.jsonl", "conflicts.jsonl", "reconciled.jsonl"] {
        let desk = TestWorktree::new();
        let precious = outside.path().join(name);
        std::fs::write(&precious, "precious").unwrap();
        std::os::unix::fs::symlink(&precious, desk.repo.path(&format!(".muninn/memory/.{name}.tmp"))).unwrap();
        desk.run(ReconcileOptions::default()).unwrap();
        assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious", "{name}");
        let written = desk.repo.path(&format!(".muninn/memory/{name}"));
        assert!(written.symlink_metadata().unwrap().is_file());
    }
    // The same for a link in place of the lock.
    let desk = TestWorktree::new();
    let made = outside.path().join("made");
    std::fs::create_dir_all(desk.repo.path(".muninn/cache")).unwrap();
    std::os::unix::fs::symlink(&made, desk.repo.path(".muninn/cache/reconcile.lock")).unwrap();
    desk.run(ReconcileOptions::default()).unwrap_err();
    assert!(!made.exists());
    // A main that is a link is an error, not an empty main.
    let desk = TestWorktree::new();
    std::fs::remove_file(desk.repo.path(MAIN)).unwrap();
    std::os::unix::fs::symlink(outside.path().join("memory/main.jsonl"), desk.repo.path(MAIN)).unwrap();
    desk.run(ReconcileOptions::default()).unwrap_err();
}

#[test]
fn notes_that_are_too_long_are_refused() {
    let desk = TestWorktree::new();
    desk.run(ReconcileOptions::default()).unwrap();
    let id = open_conflicts(&desk.repo.home()).unwrap()[0].id.clone();
    let long = resolve(&desk.store(), &id, &Resolution::Keep(Keep::Left), Some(&"n".repeat(9_000))).unwrap_err();
    assert_eq!(long.to_string(), "the note has 9000 bytes, and at most 8192 are kept");
    assert_eq!(open_conflicts(&desk.repo.home()).unwrap().len(), 1);
    // An id can be any string.
    for path in [MAIN, CONFLICTS] {
        let renamed = desk.read(path).replace(id.as_str(), "low-1");
        desk.repo.write(path, renamed.as_bytes());
    }
    resolve(&desk.store(), "low-1", &Resolution::Keep(Keep::Left), None).unwrap();
    // With an id this line would exceed the maximum length.
    let text = "z".repeat(65_480);
    let line = format!("{{\"type\":\"learning\",\"text\":\"{text}\"}}\n");
    desk.repo.write(&format!("{SESSIONS}/session_S3.0.jsonl"), line.as_bytes());
    desk.repo.commit();
    let done = desk.run(ReconcileOptions::default()).unwrap();
    assert_eq!((done.summary.consolidated, done.notes.len()), (0, 1), "{:?}", done.notes);
}

#[test]
fn unreadable_main_is_an_error() {
    let desk = TestWorktree::new();
    std::fs::remove_file(desk.repo.path(MAIN)).unwrap();
    std::fs::create_dir(desk.repo.path(MAIN)).unwrap();
    let error = open_conflicts(&desk.repo.home()).unwrap_err();
    assert!(matches!(&error, ReconcileError::Io { path, .. } if path.ends_with(MAIN)), "{error:?}");
    assert!(desk.run(ReconcileOptions::default()).is_err());
}
