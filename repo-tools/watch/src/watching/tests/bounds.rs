//! Limits, overflow, and worktrees that cannot be watched.

use std::fs;
use std::time::Instant;

use super::super::super::change::WatchError;
use super::*;

#[test]
fn too_many_changes_require_a_walk() {
    let mut repo = Watched::with(&[("a/b.rs", "x")]);
    (0..=super::super::super::change::MAX_PATHS).for_each(|n| repo.fixture.write(&format!("a/{n}.rs"), b"x"));
    assert_eq!(repo.reported(), "everything");
    repo.fixture.write("a/b.rs", b"y");
    assert_eq!(repo.reported(), "a/b.rs", "a later change must be reported by its path");
}

#[test]
fn too_many_directories_are_an_error() {
    let fixture = Fixture::with(&[("a/b/c.rs", "x"), ("d/e.rs", "x")]);
    let watcher = Watcher::start_bounded(Scope::Worktree(fixture.worktree()), None, &Supervisor::default(), 2).unwrap();
    assert!(!watcher.wait_ready(LONG));
    assert!(matches!(watcher.failure(), Some(WatchError::TooMany { max: 2 })));
    for _ in 0..2 {
        assert!(!watcher.settle(LONG));
        assert_eq!(watcher.changes(), Changes::Everything);
    }
}

#[test]
fn exceeding_the_directory_limit_stops_watching() {
    let fixture = Fixture::with(&[("a/b/c.rs", "x"), ("d/e.rs", "x")]);
    let watcher = Watcher::start_bounded(Scope::Worktree(fixture.worktree()), None, &Supervisor::default(), 3).unwrap();
    assert!(watcher.wait_ready(LONG) && watcher.failure().is_none());
    fs::remove_dir_all(fixture.path("d")).unwrap();
    fixture.write("f/x.rs", b"x");
    assert!(watcher.settle(LONG), "removing one directory and adding another must not exceed the limit");
    fixture.write("f/g/x.rs", b"x");
    assert!(!watcher.settle(LONG));
    assert!(matches!(watcher.failure(), Some(WatchError::TooMany { max: 3 })));
    assert_eq!(watcher.changes(), Changes::Everything);
}

#[test]
fn missed_deadline_requires_a_walk() {
    let mut repo = Watched::with(&[("a.rs", "x")]);
    // A mark that was never set.
    let resets = repo.watcher.shared.resets_if_complete().unwrap();
    assert!(!repo.watcher.shared.wait_for(u64::MAX, resets, Instant::now()));
    assert_eq!(repo.reported(), "everything");
    // A mark that arrived, with a reset since it was set.
    assert!(repo.watcher.shared.wait_for(0, resets, Instant::now()));
    assert!(!repo.watcher.shared.wait_for(0, resets + 1, Instant::now()));
    assert_eq!(repo.reported(), "everything");
    assert_eq!(repo.reported(), "");
}

#[cfg(target_os = "linux")]
#[test]
fn queue_overflow_requires_a_walk_and_new_watches() {
    let mut repo = Watched::with(&[("a.rs", "x"), ("b.rs", "x"), ("old/c.rs", "x")]);
    let queue = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    let queue: usize = queue.trim().parse().unwrap();
    {
        // The event thread blocks on this lock.
        let _guard = repo.watcher.shared.lock();
        repo.fixture.write("a.rs", b"y");
        for _ in 0..=queue {
            // Two files alternately, because equal consecutive events are merged.
            fs::File::open(repo.fixture.path("a.rs")).unwrap();
            fs::File::open(repo.fixture.path("b.rs")).unwrap();
        }
        fs::rename(repo.fixture.path("old"), repo.fixture.path("new")).unwrap();
        repo.fixture.write("old/fresh/c.rs", b"x");
    }
    repo.wait_for_reset();
    assert_eq!(repo.directories(), "new old old/fresh");
    repo.fixture.write("new/c.rs", b"y");
    repo.fixture.write("old/fresh/c.rs", b"y");
    assert_eq!(repo.reported(), "new/c.rs old/fresh/c.rs");
}

#[test]
fn removed_worktree_stops_watching() {
    let repo = Watched::with(&[("a.rs", "x")]);
    fs::remove_dir_all(repo.fixture.path("")).unwrap();
    // A part can be reported before the whole.
    while repo.watcher.failure().is_none() {
        repo.watcher.settle(LONG);
    }
    assert!(matches!(repo.watcher.failure(), Some(WatchError::Gone { .. })));
    assert_eq!(repo.watcher.changes(), Changes::Everything);
}

#[test]
fn removed_mark_directory_is_recreated() {
    let mut repo = Watched::with(&[("a.rs", "x")]);
    let marks = repo.watcher.shared.lock().marks.clone();
    fs::remove_dir_all(&marks).unwrap();
    repo.fixture.write("a.rs", b"y");
    repo.wait_for_reset();
    assert_ne!(repo.watcher.shared.lock().marks, marks);
    repo.fixture.write("a.rs", b"z");
    assert_eq!(repo.reported(), "a.rs");
}

#[test]
fn watcher_leaves_no_files() {
    let mut repo = Watched::with(&[("a.rs", "x")]);
    repo.follow();
    assert_eq!(fs::read_dir(repo.fixture.path("")).unwrap().count(), 2, "a.rs and .git");
    let marks = repo.watcher.shared.lock().marks.clone();
    assert!(marks.is_dir());
    drop(repo.watcher);
    assert!(!marks.exists());
}

#[test]
fn watcher_can_be_dropped_during_setup() {
    let fixture = Fixture::with(&[]);
    (0..200).for_each(|n| fixture.write(&format!("{n}/a.rs"), b"x"));
    for _ in 0..5 {
        drop(Watcher::start(Scope::Worktree(fixture.worktree()), None, &Supervisor::default()).unwrap());
    }
}
