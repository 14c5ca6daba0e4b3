//! Comparisons with real git, in every kind of checkout.

use std::path::Path;

use super::*;
use crate::cut::Cut;
use crate::fixture::Fixture;
use crate::path::RelPath;
use crate::worktree::Worktree;

/// The changes in the form of `git status --short`: `XY path`.
fn short(worktree: &Worktree) -> Vec<String> {
    let status = status(worktree, &StatusQuery::default()).unwrap();
    assert!(status.cuts.is_empty());
    let letter = |change: Option<Change>| change.map_or(' ', Change::letter);
    status
        .entries
        .iter()
        .map(|entry| match (entry.staged, entry.unstaged) {
            (None, Some(Change::Untracked)) => format!("?? {}", entry.path),
            (staged, unstaged) => format!("{}{} {}", letter(staged), letter(unstaged), entry.path),
        })
        .collect()
}

/// The changes that git itself reports.
fn of_git(repo: &Fixture, dir: &Path) -> Vec<String> {
    let dir = dir.to_str().unwrap();
    let printed = repo.git(&[
        "-C",
        dir,
        "status",
        "--porcelain",
        "-z",
        "-uall",
        "--no-renames",
        "--ignore-submodules=all",
    ]);
    let mut lines: Vec<String> = printed.split_terminator('\0').map(str::to_owned).collect();
    lines.sort_by(|a, b| a[3..].cmp(&b[3..]));
    lines
}

/// Asserts that status and diff equal those of git, and returns the number of changed files.
fn assert_same_as_git(repo: &Fixture, dir: &Path) -> usize {
    let worktree = Worktree::discover(dir).unwrap();
    let ours = short(&worktree);
    assert_eq!(ours, of_git(repo, dir), "{}", dir.display());
    // Only hunks are compared; the heads of git have more fields.
    let diff = diff(&worktree, &DiffQuery::default()).unwrap();
    let ours: String = diff.files.iter().map(|file| hunks(&file.unified())).collect();
    let dir = dir.to_str().unwrap();
    let head = if repo.git(&["-C", dir, "rev-list", "-n1", "--all"]).is_empty() {
        EMPTY_TREE
    } else {
        "HEAD"
    };
    let theirs = repo.git(&[
        "-C",
        dir,
        "-c",
        "core.quotePath=false",
        "diff",
        "--no-renames",
        "--histogram",
        "--ignore-submodules=all",
        head,
    ]);
    assert_eq!(ours, hunks(&theirs), "{dir}");
    diff.files.len()
}

const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

fn hunks(diff: &str) -> String {
    let is_part_of_hunk = |line: &&str| {
        line.starts_with(['@', '+', '-', ' ', '\\']) && !line.starts_with("+++") && !line.starts_with("---")
    };
    // Git prints the enclosing function behind a hunk's numbers.
    let plain = |line: &str| match line.strip_prefix("@@").and_then(|rest| rest.split_once("@@")) {
        Some((numbers, _)) => format!("@@{numbers}@@\n"),
        None => format!("{line}\n"),
    };
    diff.lines().filter(is_part_of_hunk).map(plain).collect()
}

/// Every kind of change, on top of a commit.
fn change_everything(repo: &Fixture) {
    repo.write(
        "src/ed\u{ee}t.rs",
        "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n".as_bytes(),
    );
    for name in [
        "gone.txt",
        "staged-gone.txt",
        "moved.txt",
        "both.txt",
        "touched.txt",
        "new\nline.txt",
        "last",
        "run.sh",
        "link-to-be",
    ] {
        repo.write(name, b"a\nb\nc\n");
    }
    repo.write("latin.c", b"// caf\xe9\nint x;\n");
    repo.write("image.png", b"\x89PNG\0\0");
    repo.write("crlf.txt", b"a\r\nb\r\n");
    repo.commit();
    repo.write(
        "src/ed\u{ee}t.rs",
        "one\nTWO\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n".as_bytes(),
    );
    repo.write("new\nline.txt", b"a\nB\nc\n");
    repo.write("latin.c", b"// caf\xe9\nint y;\n");
    repo.write("image.png", b"\x89PNG\0\0\0");
    repo.write("crlf.txt", b"a\r\nc\r\n");
    repo.write("last", b"a\nb\nc");
    repo.write("touched.txt", b"a\nb\nc\n");
    std::fs::remove_file(repo.path("gone.txt")).unwrap();
    repo.git(&["rm", "-q", "staged-gone.txt"]);
    repo.git(&["mv", "moved.txt", "moved-to.txt"]);
    repo.write("both.txt", b"a\nstaged\nc\n");
    repo.git(&["add", "both.txt"]);
    repo.write("both.txt", b"a\nstaged\nand then\nc\n");
    repo.write("staged-new.txt", b"new\n");
    repo.git(&["add", "staged-new.txt"]);
    repo.write("intended.txt", b"x\n");
    repo.git(&["add", "-N", "intended.txt"]);
    repo.write("un/tracked.txt", b"x\n");
    repo.write("ignored.log", b"x\n");
    repo.write(".gitignore", b"*.log\n");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(repo.path("run.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::remove_file(repo.path("link-to-be")).unwrap();
        std::os::unix::fs::symlink("both.txt", repo.path("link-to-be")).unwrap();
    }
}

#[test]
fn every_kind_of_change_is_reported_as_by_git() {
    let repo = Fixture::with(&[]);
    assert_eq!(assert_same_as_git(&repo, repo.root()), 0, "before the first commit");
    repo.write("first.txt", b"x\n");
    repo.git(&["add", "first.txt"]);
    assert_eq!(assert_same_as_git(&repo, repo.root()), 1);
    change_everything(&repo);
    assert!(assert_same_as_git(&repo, repo.root()) > 10);
    repo.git(&["checkout", "-q", "--detach"]);
    assert_same_as_git(&repo, repo.root());
    let found = status(&repo.worktree(), &StatusQuery::default()).unwrap();
    assert_eq!(found.branch, None);
    assert_eq!(found.head.as_deref(), Some(repo.git(&["rev-parse", "HEAD"]).trim()));
}

#[test]
fn secrets_are_omitted_and_limits_reported() {
    let repo = Fixture::with(&[(".env", "KEY=1\n"), ("a.txt", "a\n"), ("b.txt", "b\n")]);
    repo.commit();
    for name in [".env", "a.txt", "b.txt"] {
        repo.write(name, b"KEY=2\n");
    }
    let found = diff(&repo.worktree(), &DiffQuery::default()).unwrap();
    assert!(found.skipped.secret == 0 && found.files.len() == 2, "{found:?}");
    assert!(!found.files.iter().any(|file| file.path.as_str() == ".env"));
    let committed = DiffQuery {
        from: Some("no-such-branch".into()),
        to: Some("HEAD".into()),
        ..DiffQuery::default()
    };
    assert!(matches!(
        diff(&repo.worktree(), &committed),
        Err(HistoryError::Revision { .. })
    ));
    let found = status(
        &repo.worktree(),
        &StatusQuery {
            max_entries: 1,
            ..StatusQuery::default()
        },
    )
    .unwrap();
    assert!(found.skipped.secret == 1 && found.entries.len() == 1 && found.cuts.has(Cut::Matches));
    let few = diff(
        &repo.worktree(),
        &DiffQuery {
            max_files: 1,
            ..DiffQuery::default()
        },
    )
    .unwrap();
    assert!(few.files.len() == 1 && few.cuts.has(Cut::Files));
    let small = diff(
        &repo.worktree(),
        &DiffQuery {
            max_bytes: 10,
            ..DiffQuery::default()
        },
    )
    .unwrap();
    assert!(small.cuts.has(Cut::Bytes) && small.files[0].cut && small.files[0].text.len() <= 10);
    let large = diff(
        &repo.worktree(),
        &DiffQuery {
            max_file_bytes: 1,
            ..DiffQuery::default()
        },
    )
    .unwrap();
    assert!(large.files[0].cut && large.files[0].text.is_empty());
}

#[test]
fn linked_worktrees_and_a_bare_common_directory() {
    let repo = Fixture::with(&[("a.txt", "a\n"), ("b/c.txt", "c\n")]);
    repo.commit();
    repo.git(&["worktree", "add", "-q", "-b", "side", "side"]);
    repo.git(&["clone", "-q", "--bare", ".", "bare.git"]);
    repo.git(&[
        "--git-dir",
        "bare.git",
        "worktree",
        "add",
        "-q",
        "-b",
        "topic",
        "of-bare",
    ]);
    for name in ["side", "of-bare"] {
        let dir = repo.path(name);
        std::fs::write(dir.join("a.txt"), "changed\n").unwrap();
        std::fs::write(dir.join("new.txt"), "new\n").unwrap();
        assert_eq!(assert_same_as_git(&repo, &dir), 1);
        let worktree = Worktree::discover(&dir).unwrap();
        assert_eq!(log(&worktree, &LogQuery::default()).unwrap().commits.len(), 1);
        let found = crate::walk(&worktree, &crate::WalkLimits::default());
        assert_eq!(found.files.len(), 3, "{name}");
    }
}

#[test]
fn sparse_shallow_and_with_a_submodule() {
    let origin = Fixture::with(&[("keep/a.txt", "a\n"), ("leave/b.txt", "b\n"), ("top.txt", "t\n")]);
    origin.commit();
    origin.write("keep/a.txt", b"a2\n");
    origin.commit();
    let url = format!("file://{}", origin.root().display());
    let repo = Fixture::with(&[]);
    repo.git(&["clone", "-q", "--depth=1", &url, "shallow"]);
    let shallow = repo.path("shallow");
    assert_same_as_git(&repo, &shallow);
    let found = log(&Worktree::discover(&shallow).unwrap(), &LogQuery::default()).unwrap();
    assert!(found.commits.len() == 1 && found.cuts.has(Cut::Shallow));
    repo.git(&["clone", "-q", &url, "sparse"]);
    let sparse = repo.path("sparse");
    for (cone, more) in [(true, None), (true, Some("--sparse-index")), (false, None)] {
        let mode = if cone { "--cone" } else { "--no-cone" };
        let dir = sparse.to_str().unwrap();
        let mut arguments = vec!["-C", dir, "sparse-checkout", "set", mode];
        arguments.extend(more);
        arguments.push(if cone { "keep" } else { "/keep/" });
        repo.git(&arguments);
        std::fs::write(sparse.join("keep/a.txt"), "changed\n").unwrap();
        assert_eq!(assert_same_as_git(&repo, &sparse), 1, "{mode} {more:?}");
        let found = status(&Worktree::discover(&sparse).unwrap(), &StatusQuery::default()).unwrap();
        assert!(found.sparse > 0);
        repo.git(&["-C", dir, "checkout", "-q", "keep/a.txt"]);
    }
    repo.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        "-q",
        &url,
        "module",
    ]);
    repo.write("a.txt", b"a\n");
    std::fs::remove_dir_all(&shallow).unwrap();
    std::fs::remove_dir_all(&sparse).unwrap();
    repo.commit();
    repo.write("a.txt", b"b\n");
    repo.write("module/top.txt", b"changed inside\n");
    // A byte order mark in .gitmodules must not be an error.
    let modules = std::fs::read(repo.path(".gitmodules")).unwrap();
    repo.write(".gitmodules", &[b"\xef\xbb\xbf", &modules[..]].concat());
    assert_eq!(assert_same_as_git(&repo, repo.root()), 2);
    let found = status(&repo.worktree(), &StatusQuery::default()).unwrap();
    assert_eq!(found.submodules, 1);
    let query = crate::GrepQuery::new(crate::GrepPattern::Literals(vec!["changed inside".into()]));
    let found = crate::grep(&repo.worktree(), &query, None).unwrap();
    assert!(
        found.matches.is_empty() && found.skipped.nested_repositories == 1,
        "it is another repository"
    );
}

#[test]
fn logs_by_path_and_between_commits() {
    let repo = Fixture::with(&[("a.txt", "a\n"), ("dir/b.txt", "b\n")]);
    let nothing = log(&repo.worktree(), &LogQuery::default()).unwrap();
    assert!(nothing.commits.is_empty());
    repo.commit();
    repo.write("dir/b.txt", b"b2\n");
    repo.git(&["commit", "-qam", "second\n\nwith a body\n"]);
    repo.write("a.txt", b"a2\n");
    repo.git(&["commit", "-qam", "third"]);
    let ids = |query: LogQuery| -> Vec<String> {
        log(&repo.worktree(), &query)
            .unwrap()
            .commits
            .into_iter()
            .map(|commit| commit.id)
            .collect()
    };
    let of_git = |arguments: &[&str]| -> Vec<String> {
        repo.git(&[&["log", "--format=%H"], arguments].concat())
            .lines()
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(ids(LogQuery::default()), of_git(&[]));
    for path in ["a.txt", "dir", "dir/b.txt", "gone"] {
        let query = LogQuery {
            path: RelPath::new(path).ok(),
            ..LogQuery::default()
        };
        assert_eq!(ids(query), of_git(&["--", path]), "{path}");
    }
    assert_eq!(
        ids(LogQuery {
            from: Some("HEAD~1".into()),
            ..LogQuery::default()
        }),
        of_git(&["HEAD~1"])
    );
    let one = log(
        &repo.worktree(),
        &LogQuery {
            from: Some("HEAD~1".into()),
            max_commits: 1,
            ..LogQuery::default()
        },
    )
    .unwrap();
    let commit = &one.commits[0];
    assert_eq!(
        (commit.summary.as_str(), commit.body.as_str()),
        ("second", "with a body")
    );
    assert_eq!((commit.author.as_str(), commit.parents.len()), ("Test", 1));
    assert!(one.cuts.has(Cut::Matches));
    assert!(matches!(
        log(
            &repo.worktree(),
            &LogQuery {
                from: Some("nope".into()),
                ..LogQuery::default()
            }
        ),
        Err(HistoryError::Revision { .. })
    ));
    let between = DiffQuery {
        from: Some("HEAD~2".into()),
        to: Some("HEAD~1".into()),
        ..DiffQuery::default()
    };
    let found = diff(&repo.worktree(), &between).unwrap();
    assert_eq!(found.files.len(), 1);
    assert_eq!(
        found.files[0].unified(),
        "--- a/dir/b.txt\n+++ b/dir/b.txt\n@@ -1 +1 @@\n-b\n+b2\n"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_path_that_is_not_utf8_is_counted_and_a_symlinked_folder_not_entered() {
    use std::os::unix::ffi::OsStrExt;
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("x.txt"), "outside\n").unwrap();
    let repo = Fixture::with(&[("dir/x.txt", "inside\n")]);
    std::fs::write(repo.root().join(std::ffi::OsStr::from_bytes(b"\xff.txt")), "x").unwrap();
    repo.commit();
    std::fs::remove_dir_all(repo.path("dir")).unwrap();
    std::os::unix::fs::symlink(outside.path(), repo.path("dir")).unwrap();
    std::fs::write(repo.root().join(std::ffi::OsStr::from_bytes(b"\xff.txt")), "y").unwrap();
    let found = diff(&repo.worktree(), &DiffQuery::default()).unwrap();
    assert_eq!((found.files.len(), found.files[0].change), (1, Change::Deleted));
    assert!(!found.files[0].text.contains("outside"), "{found:?}");
    let found = status(&repo.worktree(), &StatusQuery::default()).unwrap();
    assert_eq!(found.skipped.not_utf8, 1);
}
