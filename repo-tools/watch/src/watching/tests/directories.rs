//! New, removed and moved directories, and foreign repositories.

use std::fs;

use super::*;

#[test]
fn files_in_a_new_directory_are_reported() {
    let mut repo = Watched::with(&[("a.rs", "one")]);
    repo.fixture.write("x/y/z/deep.rs", b"one");
    repo.fixture.write("x/top.rs", b"one");
    assert_eq!(repo.reported(), "x");
    assert_eq!(repo.directories(), "x x/y x/y/z");
    repo.fixture.write("x/y/z/deep.rs", b"two");
    assert_eq!(repo.reported(), "x/y/z/deep.rs");
    fs::create_dir(repo.fixture.path("x/y/empty")).unwrap();
    assert_eq!(repo.reported(), "x/y/empty");
    repo.fixture.write("x/y/empty/no_more.rs", b"one");
    assert_eq!(repo.reported(), "x/y/empty/no_more.rs");
}

#[test]
fn removed_directory_can_return() {
    let mut repo = Watched::with(&[("x/y/a.rs", "one"), ("x-y/b.rs", "one"), ("x0/c.rs", "one")]);
    fs::remove_dir_all(repo.fixture.path("x")).unwrap();
    assert_eq!(repo.reported(), "x");
    assert_eq!(repo.directories(), "x-y x0");
    repo.fixture.write("x/y/a.rs", b"two");
    assert_eq!(repo.reported(), "x");
    for text in ["three", "four", "five"] {
        fs::remove_dir_all(repo.fixture.path("x")).unwrap();
        repo.fixture.write("x/y/a.rs", text.as_bytes());
    }
    repo.follow();
    repo.fixture.write("x/y/a.rs", b"six");
    assert_eq!(repo.reported(), "x/y/a.rs");
}

#[test]
fn renamed_directory_is_watched_under_its_new_name() {
    let mut repo = Watched::with(&[("one/deep/a.rs", "one"), ("other/b.rs", "one")]);
    fs::rename(repo.fixture.path("one"), repo.fixture.path("two")).unwrap();
    assert_eq!(repo.reported(), "one two");
    repo.fixture.write("two/deep/a.rs", b"two");
    assert_eq!(repo.reported(), "two/deep/a.rs");
    // Two directories swap names.
    for (from, to) in [("two", "three"), ("other", "two"), ("three", "other")] {
        fs::rename(repo.fixture.path(from), repo.fixture.path(to)).unwrap();
    }
    repo.follow();
    assert_eq!(repo.directories(), "other other/deep two");
    repo.fixture.write("two/b.rs", b"three");
    repo.fixture.write("other/deep/a.rs", b"three");
    assert_eq!(repo.reported(), "other/deep/a.rs two/b.rs");
}

#[test]
fn directories_move_in_and_out() {
    let mut repo = Watched::with(&[("src/inner/a.rs", "one")]);
    let outside = repo.fixture.path("../").canonicalize().unwrap();
    let outside = tempfile::tempdir_in(outside).unwrap();
    fs::rename(repo.fixture.path("src"), outside.path().join("src")).unwrap();
    assert_eq!(repo.reported(), "src");
    fs::write(outside.path().join("src/inner/a.rs"), "two").unwrap();
    assert_eq!(repo.reported(), "", "changes in a directory that was moved out must not be reported");
    fs::rename(outside.path().join("src"), repo.fixture.path("back")).unwrap();
    // notify removes the watch of a moved directory with a delay, and can report its next move under the old name too.
    assert!(repo.follow().covers(&path("back/inner/a.rs")));
    repo.fixture.write("back/inner/a.rs", b"three");
    assert_eq!(repo.reported(), "back/inner/a.rs");
}

#[test]
fn a_file_becomes_a_directory_and_a_file_again() {
    let mut repo = Watched::with(&[("it", "one")]);
    fs::remove_file(repo.fixture.path("it")).unwrap();
    repo.fixture.write("it/a.rs", b"one");
    assert_eq!(repo.reported(), "it");
    repo.fixture.write("it/a.rs", b"two");
    assert_eq!(repo.reported(), "it/a.rs");
    fs::remove_dir_all(repo.fixture.path("it")).unwrap();
    repo.fixture.write("it", b"three");
    assert_eq!(repo.reported(), "it");
}

#[test]
fn ignored_directories_are_not_watched() {
    let mut repo = Watched::with(&[
        (".gitignore", "target/\nnode_modules/\n"),
        (".muninn/cache/x", "x"),
        ("src/.gitignore", "generated/\n"),
        ("src/generated/deep/a.rs", "x"),
        ("src/a.rs", "x"),
        ("target/debug/deps/a.d", "x"),
        ("web/node_modules/left-pad/index.js", "x"),
    ]);
    repo.fixture.git(&["init", "-q", "other"]);
    repo.fixture.write("other/src/a.rs", b"x");
    repo.follow();
    assert_eq!(repo.directories(), "src web");
    for inside in
        [".muninn/cache/y", "src/generated/b.rs", "target/b.d", "web/node_modules/x/index.js", "other/src/b.rs"]
    {
        repo.fixture.write(inside, b"y");
    }
    repo.fixture.git(&["config", "user.name", "Somebody"]);
    assert_eq!(repo.reported(), "");
}

#[test]
fn directory_that_becomes_a_repository_is_not_watched() {
    let mut repo = Watched::with(&[("inner/src/a.rs", "one"), ("b.rs", "one")]);
    repo.fixture.git(&["init", "-q", "inner"]);
    repo.wait_for_reset();
    assert_eq!(repo.directories(), "");
    repo.fixture.write("inner/src/a.rs", b"two");
    assert_eq!(repo.reported(), "");
}

#[test]
fn changed_ignore_file_changes_the_watched_set() {
    let mut repo = Watched::with(&[(".gitignore", "target/\n"), ("src/a.rs", "x"), ("target/b.rs", "x")]);
    assert_eq!(repo.directories(), "src");
    repo.fixture.write(".gitignore", b"src/\n");
    repo.wait_for_reset();
    assert_eq!(repo.directories(), "target");
    repo.fixture.write("target/b.rs", b"y");
    repo.fixture.write("src/a.rs", b"y");
    assert_eq!(repo.reported(), "target/b.rs");

    repo.fixture.write("target/.gitignore", b"*.tmp\n");
    repo.wait_for_reset();
    fs::remove_file(repo.fixture.path(".gitignore")).unwrap();
    repo.wait_for_reset();
    assert_eq!(repo.directories(), "src target");
}

#[test]
fn exclude_file_applies_in_a_linked_worktree() {
    let fixture = Fixture::with(&[("local/a.rs", "x"), ("src/b.rs", "x")]);
    fixture.commit();
    fixture.git(&["worktree", "add", "-q", "-b", "side", "side"]);
    let side = Worktree::discover(&fixture.path("side")).unwrap();
    let mut repo = Watched::of(fixture, side);
    assert_eq!(repo.directories(), "local src");
    repo.fixture.write(".git/info/exclude", b"local/\n");
    repo.wait_for_reset();
    fs::remove_dir_all(repo.fixture.path(".git/info")).unwrap();
    assert_eq!(repo.reported(), "everything");
    assert!(repo.watcher.wait_ready(LONG));
    repo.follow();
    assert_eq!(repo.directories(), "local src");
    fs::create_dir(repo.fixture.path(".git/info")).unwrap();
    repo.follow();
    assert!(repo.watcher.wait_ready(LONG));
    repo.follow();
    repo.fixture.write(".git/info/exclude", b"src/\n");
    repo.wait_for_reset();
    assert_eq!(repo.directories(), "local");
}
