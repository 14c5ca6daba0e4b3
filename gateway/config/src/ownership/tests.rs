//! Directories that others control, or could.

use std::os::unix::fs::symlink;

use super::*;

const ANN: User = User { id: 1000, group: 1000 };
const STAFF: User = User { id: 501, group: 20 };
const VARIABLE: &str = "MUNINN_STATE_DIR";

#[test]
fn directories_above_must_not_let_others_replace_what_is_in_them() {
    for (owner, group, mode, user, expected) in [
        (0, 0, 0o755, ANN, None),
        (0, 0, 0o1777, ANN, None),
        (1000, 1000, 0o700, ANN, None),
        (1000, 1000, 0o755, ANN, None),
        (1000, 1000, 0o775, ANN, None),
        (65_534, 65_534, 0o755, ANN, None),
        (0, 0, 0o777, ANN, Some(ParentProblem::Mode)),
        (1000, 1000, 0o777, ANN, Some(ParentProblem::Mode)),
        (1000, 1000, 0o757, ANN, Some(ParentProblem::Mode)),
        (1000, 100, 0o775, ANN, Some(ParentProblem::Mode)),
        (0, 1000, 0o2775, STAFF, Some(ParentProblem::Mode)),
        (501, 20, 0o775, STAFF, Some(ParentProblem::Mode)),
        (1001, 1001, 0o700, ANN, Some(ParentProblem::Owner)),
        (1001, 1000, 0o1777, ANN, Some(ParentProblem::Owner)),
    ] {
        let access = Access { owner, group, mode };
        assert_eq!(access.problem_as_parent(user), expected, "{access:?}");
    }
}

/// A directory of its own for each case.
fn state() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("above/state");
    fs::create_dir_all(&state).unwrap();
    set_mode(&state, 0o700);
    set_mode(&folder.path().join("above"), 0o755);
    (folder, state)
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

type Arrange = fn(&Path);

#[test]
fn state_directory_that_others_control_is_refused() {
    let cases: [(&str, Arrange, &str); 9] = [
        ("open to all, with own files only", |s| set_mode(s, 0o777), "run `chmod 700` on it"),
        ("the parent is open to all", |s| set_mode(s.parent().unwrap(), 0o777), "other users can write into"),
        (
            "the parent's parent is open to all",
            |s| set_mode(s.ancestors().nth(2).unwrap(), 0o757),
            "other users can write into",
        ),
        (
            "missing, below an open directory",
            |s| {
                fs::remove_dir(s).unwrap();
                set_mode(s.parent().unwrap(), 0o777);
            },
            "other users can write into",
        ),
        (
            "a link that leads nowhere",
            |s| {
                fs::remove_dir(s).unwrap();
                symlink("/nowhere/at/all", s).unwrap();
            },
            "cannot use",
        ),
        (
            "a link into an open directory",
            |s| {
                fs::remove_dir(s).unwrap();
                let open = s.with_extension("open");
                fs::create_dir_all(open.join("state")).unwrap();
                set_mode(&open, 0o777);
                symlink(open.join("state"), s).unwrap();
            },
            "other users can write into",
        ),
        (
            "open, with a planted link",
            |s| {
                symlink("/etc/passwd", s.join("hook.log")).unwrap();
                set_mode(s, 0o777);
            },
            "a symbolic link",
        ),
        (
            "open to the group, with a planted link",
            |s| {
                symlink("/etc", s.join("spool")).unwrap();
                set_mode(s, 0o770);
            },
            "a symbolic link",
        ),
        (
            "open, with a hard link",
            |s| {
                fs::write(s.with_extension("x"), "x").unwrap();
                fs::hard_link(s.with_extension("x"), s.join("daemon.log")).unwrap();
                set_mode(s, 0o733);
            },
            "second name",
        ),
    ];
    for (name, arrange, expected) in cases {
        let (_folder, state) = state();
        arrange(&state);
        let refused = OwnDirectory::examine(&state, VARIABLE).unwrap_err().to_string();
        assert!(refused.contains(expected), "{name}: {refused}");
    }
}

/// Nobody else can have made it. Without a directory, requests are answered without memory.
#[test]
fn own_file_in_place_of_the_directory_is_no_refusal() {
    let (_folder, state) = state();
    fs::remove_dir(&state).unwrap();
    fs::write(&state, "x").unwrap();
    let nothing = OwnDirectory { real: None, open: None };
    assert_eq!(OwnDirectory::examine(&state, VARIABLE).unwrap(), nothing);
}

#[test]
fn own_directory_that_others_may_enter_is_closed() {
    for mode in [0o755, 0o750, 0o711, 0o770, 0o701] {
        let (_folder, state) = state();
        fs::write(state.join("state.db"), "").unwrap();
        set_mode(&state, mode);
        let own = OwnDirectory::examine(&state, VARIABLE).unwrap();
        assert_eq!(own.open, Some(mode), "{mode:o}");
        own.close().unwrap();
        assert_eq!(OwnDirectory::examine(&state, VARIABLE).unwrap().open, None);
    }
    let (folder, state) = state();
    let link = folder.path().join("link");
    symlink(&state, &link).unwrap();
    assert!(OwnDirectory::examine(&link, VARIABLE).unwrap().open.is_none());
    assert!(OwnDirectory::examine(&state.join("new/deep"), VARIABLE).unwrap().real.is_none());
}

/// Entries that lie deeper than the directory itself, and whether each is refused.
#[test]
fn entries_below_an_open_directory_are_looked_at() {
    let cases: [(&str, u32, Arrange, Option<&str>); 7] = [
        ("own files", 0o755, |s| fs::write(s.join("a/b/x"), "x").unwrap(), None),
        ("a link", 0o777, |s| symlink("/etc/passwd", s.join("a/b/x")).unwrap(), Some("a symbolic link")),
        (
            "a link below a directory that the group writes into",
            0o770,
            |s| symlink("/etc", s.join("a/x")).unwrap(),
            Some("a symbolic link"),
        ),
        (
            "a hard link",
            0o733,
            |s| {
                fs::write(s.with_extension("x"), "x").unwrap();
                fs::hard_link(s.with_extension("x"), s.join("a/b/x")).unwrap();
            },
            Some("second name"),
        ),
        (
            "a link where only a deeper directory is writable",
            0o755,
            |s| {
                set_mode(&s.join("a"), 0o777);
                symlink("/etc", s.join("a/b/x")).unwrap();
            },
            Some("a symbolic link"),
        ),
        ("an own link where no directory is writable", 0o755, |s| symlink("/etc", s.join("a/b/x")).unwrap(), None),
        (
            "a link in a closed directory",
            0o700,
            |s| {
                set_mode(&s.join("a"), 0o777);
                symlink("/etc", s.join("a/b/x")).unwrap();
            },
            None,
        ),
    ];
    for (name, mode, arrange, expected) in cases {
        let (_folder, state) = state();
        fs::create_dir_all(state.join("a/b")).unwrap();
        for folder in ["a", "a/b"] {
            set_mode(&state.join(folder), 0o755);
        }
        arrange(&state);
        set_mode(&state, mode);
        let examined = OwnDirectory::examine(&state, VARIABLE).err().map(|error| error.to_string());
        let is_expected = match (&examined, expected) {
            (Some(refused), Some(expected)) => refused.contains(expected),
            (None, None) => true,
            _ => false,
        };
        assert!(is_expected, "{name}: {examined:?}");
    }
}

/// Only root gives directories away; for other users the table above covers the decision.
#[test]
fn directory_of_another_user_is_refused() {
    if user() != 0 {
        return;
    }
    let give = |path: &Path| std::os::unix::fs::chown(path, Some(12_345), Some(12_345)).unwrap();
    let cases: [fn(&Path) -> PathBuf; 6] = [
        |state| {
            let deep = state.join("memory/1/sessions/s.jsonl");
            fs::create_dir_all(deep.parent().unwrap()).unwrap();
            fs::write(&deep, "").unwrap();
            set_mode(state, 0o777);
            deep
        },
        |state| {
            let deep = state.join("memory/sessions/s.jsonl");
            fs::create_dir_all(deep.parent().unwrap()).unwrap();
            fs::write(&deep, "").unwrap();
            set_mode(&state.join("memory"), 0o777);
            set_mode(state, 0o755);
            deep
        },
        |state| state.to_owned(),
        |state| state.parent().unwrap().to_owned(),
        |state| {
            let link = state.with_extension("link");
            symlink(state, &link).unwrap();
            link
        },
        |state| {
            fs::write(state.join("state.db"), "").unwrap();
            set_mode(state, 0o777);
            state.join("state.db")
        },
    ];
    for (at, given) in cases.iter().enumerate() {
        let (_folder, state) = state();
        let path = given(&state);
        if path.is_symlink() {
            std::os::unix::fs::lchown(&path, Some(12_345), Some(12_345)).unwrap();
        } else {
            give(&path);
        }
        let examined = if path.is_symlink() { &path } else { &state };
        let refused = OwnDirectory::examine(examined, VARIABLE).unwrap_err();
        let is_named = matches!(
            &refused,
            OwnershipError::Owner { owner: 12_345, .. } | OwnershipError::Planted { what: "another user's", .. }
        );
        assert!(is_named, "{at}: {refused}");
    }
}
