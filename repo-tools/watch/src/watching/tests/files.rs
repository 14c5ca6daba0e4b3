//! Ways in which editors write files.

use std::fs;
use std::io::Write;

use super::*;

#[test]
fn every_way_to_write_a_file_is_reported() {
    let mut repo = Watched::with(&[("src/a.rs", "one"), ("src/b.rs", "one"), ("c.md", "one")]);
    assert_eq!(repo.reported(), "", "nothing happened");

    repo.fixture.write("src/a.rs", b"two");
    assert_eq!(repo.reported(), "src/a.rs");
    repo.fixture.write("src/new.rs", b"new");
    assert_eq!(repo.reported(), "src/new.rs");

    let mut open = fs::OpenOptions::new().append(true).open(repo.fixture.path("c.md")).unwrap();
    open.write_all(b" and more").unwrap();
    assert_eq!(repo.reported(), "c.md", "a file that is still open must be reported");
    drop(open);
    repo.follow();

    repo.fixture.write("src/.b.swp", b"saved");
    fs::rename(repo.fixture.path("src/.b.swp"), repo.fixture.path("src/b.rs")).unwrap();
    assert_eq!(repo.reported(), "src/.b.swp src/b.rs");
    fs::remove_file(repo.fixture.path("src/b.rs")).unwrap();
    assert_eq!(repo.reported(), "src/b.rs");
    fs::hard_link(repo.fixture.path("c.md"), repo.fixture.path("d.md")).unwrap();
    assert_eq!(repo.reported(), "d.md");
    assert_eq!(repo.reported(), "", "a change must be reported once");
}

#[test]
fn reading_is_no_change() {
    let mut repo = Watched::with(&[("src/a.rs", "one")]);
    // Only a first report can be due to the file's creation, closed late by a child process.
    let is_unreported = |_| {
        fs::read(repo.fixture.path("src/a.rs")).unwrap();
        fs::read_dir(repo.fixture.path("src")).unwrap().count();
        repo.fixture.git(&["status"]);
        repo.follow() == Changes::None
    };
    assert!((0..5).any(is_unreported));
}

#[test]
fn repeated_writes_are_reported_once() {
    let mut repo = Watched::with(&[("a.rs", "0")]);
    (0..50).for_each(|n| repo.fixture.write("a.rs", format!("{n}").as_bytes()));
    assert_eq!(repo.reported(), "a.rs");
}

#[cfg(unix)]
#[test]
fn permission_and_time_changes_are_reported() {
    use std::os::unix::fs::PermissionsExt;
    let mut repo = Watched::with(&[("a.sh", "one"), ("deep/er/b.rs", "one")]);
    fs::set_permissions(repo.fixture.path("a.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    assert!(repo.follow().covers(&path("a.sh")));
    fs::set_permissions(repo.fixture.path("deep"), fs::Permissions::from_mode(0o750)).unwrap();
    let changes = repo.follow();
    assert!(changes.covers(&path("deep")), "files below can have become readable");
    repo.fixture.write("deep/er/b.rs", b"two");
    assert_eq!(repo.reported(), "deep/er/b.rs", "the directory must still be watched");
}

#[cfg(unix)]
#[test]
fn symlinks_are_not_followed() {
    let mut repo = Watched::with(&[("a.rs", "one"), ("dir/b.rs", "one")]);
    let outside = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("a.rs", repo.fixture.path("link.rs")).unwrap();
    std::os::unix::fs::symlink(outside.path(), repo.fixture.path("out")).unwrap();
    std::os::unix::fs::symlink(".", repo.fixture.path("dir/loop")).unwrap();
    assert_eq!(repo.reported(), "dir/loop link.rs out");
    fs::write(outside.path().join("x.rs"), "x").unwrap();
    assert_eq!(repo.reported(), "");
    assert_eq!(repo.directories(), "dir");
    // A directory of the worktree becomes a link to another.
    fs::rename(repo.fixture.path("dir"), outside.path().join("dir")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("dir"), repo.fixture.path("dir")).unwrap();
    assert_eq!(repo.reported(), "dir");
    fs::write(outside.path().join("dir/b.rs"), "two").unwrap();
    assert_eq!(repo.reported(), "");
}

#[cfg(target_os = "linux")]
#[test]
fn unusual_names_are_reported_or_skipped() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let mut repo = Watched::with(&[("a.rs", "one")]);
    repo.fixture.write("line\nbreak/ü \"x\".rs", b"one");
    assert_eq!(repo.reported(), "line\nbreak");
    repo.fixture.write("line\nbreak/ü \"x\".rs", b"two");
    assert_eq!(repo.reported(), "line\nbreak/ü \"x\".rs");
    let no_text = repo.fixture.path("").join(OsStr::from_bytes(b"no\xfftext"));
    fs::create_dir(&no_text).unwrap();
    fs::write(no_text.join("a.rs"), "x").unwrap();
    fs::write(repo.fixture.path("").join(OsStr::from_bytes(b"\xff.rs")), "x").unwrap();
    assert_eq!(repo.reported(), "");
}

#[cfg(target_os = "linux")]
#[test]
fn case_change_is_a_rename() {
    let mut repo = Watched::with(&[("src/Readme.md", "one")]);
    fs::rename(repo.fixture.path("src/Readme.md"), repo.fixture.path("src/README.md")).unwrap();
    assert_eq!(repo.reported(), "src/README.md src/Readme.md");
    fs::rename(repo.fixture.path("src"), repo.fixture.path("SRC")).unwrap();
    assert_eq!(repo.reported(), "SRC src");
    repo.fixture.write("SRC/README.md", b"two");
    assert_eq!(repo.reported(), "SRC/README.md");
}
