//! Git operations on a worktree. [`Watched::follow`] checks that every change is reported.

use super::*;

/// `main` and `side` differ by an edited, a removed, an added and a moved file, each in its own directory.
fn forked() -> Fixture {
    let fixture = Fixture::with(&[
        ("README.md", "read me"),
        ("src/edited.rs", "one"),
        ("src/removed/a.rs", "one"),
        ("src/moved/b.rs", "one"),
    ]);
    fixture.commit();
    fixture.git(&["checkout", "-q", "-b", "side"]);
    fixture.write("src/edited.rs", b"two");
    fixture.write("src/added/deep/c.rs", b"one");
    fixture.git(&["rm", "-q", "-r", "src/removed"]);
    fixture.git(&["mv", "src/moved", "src/elsewhere"]);
    fixture.commit();
    fixture.git(&["checkout", "-q", "main"]);
    fixture
}

fn watched() -> Watched {
    let fixture = forked();
    let worktree = fixture.worktree();
    Watched::of(fixture, worktree)
}

#[test]
fn checkouts() {
    let mut repo = watched();
    for branch in ["side", "main", "side"] {
        repo.fixture.git(&["checkout", "-q", branch]);
        let changes = repo.follow();
        assert!(changes.covers(&path("src/edited.rs")) && !changes.covers(&path("README.md")));
    }
    repo.fixture.write("src/added/deep/c.rs", b"two");
    assert_eq!(repo.reported(), "src/added/deep/c.rs");
    repo.fixture.git(&["checkout", "-q", "--", "."]);
    assert_eq!(repo.reported(), "src/added/deep/c.rs");
    repo.fixture.git(&["reset", "-q", "--hard", "main"]);
    assert!(repo.follow().covers(&path("src/edited.rs")));
}

#[test]
fn rebases() {
    let mut repo = watched();
    repo.fixture.write("main.rs", b"one");
    repo.fixture.write("lib/later/x.rs", b"one");
    repo.fixture.commit();
    assert_eq!(repo.reported(), "lib main.rs");
    repo.fixture.git(&["checkout", "-q", "side"]);
    repo.follow();
    repo.fixture.git(&["rebase", "-q", "main"]);
    let changes = repo.follow();
    assert!(changes.covers(&path("main.rs")) && changes.covers(&path("lib/later/x.rs")));
    assert!(repo.known.contains_key("src/elsewhere/b.rs") && repo.known.contains_key("main.rs"));
}

#[test]
fn stashes() {
    let mut repo = watched();
    repo.fixture.write("src/edited.rs", b"edited");
    repo.fixture.write("new/dir/x.rs", b"new");
    repo.follow();
    repo.fixture.git(&["stash", "-q", "--include-untracked"]);
    assert!(repo.follow().covers(&path("new/dir/x.rs")));
    assert_eq!(repo.known[&path("src/edited.rs")], "one");
    repo.fixture.git(&["stash", "pop", "-q"]);
    repo.follow();
    assert_eq!(repo.known[&path("new/dir/x.rs")], "new");
    repo.fixture.write("new/dir/x.rs", b"newer");
    assert_eq!(repo.reported(), "new/dir/x.rs");
}

#[test]
fn linked_worktrees_have_separate_watches() {
    let fixture = forked();
    fixture.git(&["worktree", "add", "-q", "linked", "side"]);
    let linked = Worktree::discover(&fixture.path("linked")).unwrap();
    let mut repo = Watched::of(fixture, linked);
    repo.fixture.write("src/edited.rs", b"in the main worktree");
    assert_eq!(repo.reported(), "");
    repo.fixture.write("linked/src/edited.rs", b"in the linked one");
    assert_eq!(repo.reported(), "src/edited.rs");
    repo.fixture.git(&["-C", "linked", "checkout", "-q", "--detach", "--force", "main"]);
    assert!(repo.follow().covers(&path("src/removed/a.rs")));
}

#[test]
fn nested_worktree_is_not_watched() {
    let mut repo = watched();
    repo.fixture.git(&["worktree", "add", "-q", "below/linked", "side"]);
    repo.follow();
    assert!(repo.watcher.wait_ready(LONG));
    repo.follow();
    assert!(!repo.directories().contains("linked"), "{}", repo.directories());
    repo.fixture.write("below/linked/src/edited.rs", b"in the linked one");
    assert_eq!(repo.reported(), "");
    repo.fixture.git(&["worktree", "remove", "--force", "below/linked"]);
    repo.follow();
}

#[test]
fn ignore_file_of_a_checkout_is_applied() {
    let fixture = forked();
    fixture.git(&["checkout", "-q", "side"]);
    fixture.write(".gitignore", b"local/\n");
    fixture.write("local/a.rs", b"x");
    fixture.git(&["add", ".gitignore"]);
    fixture.git(&["commit", "-q", "-m", "ignore"]);
    let worktree = fixture.worktree();
    let mut repo = Watched::of(fixture, worktree);
    assert!(!repo.directories().contains("local"));
    repo.fixture.git(&["checkout", "-q", "main"]);
    repo.wait_for_reset();
    assert!(repo.directories().contains("local"));
}
