//! Importing knowledge: copied and refused files.

use std::path::Path;

use super::*;
use crate::knowledge::{ImportError, ImportReport, ROOT, WriteError, import};

fn set_up(files: &[(&str, &str)]) -> Fixture {
    let repo = Fixture::with(files);
    std::fs::create_dir_all(repo.path(".muninn")).unwrap();
    repo
}

fn names(paths: &[RelPath]) -> Vec<&str> {
    paths.iter().map(RelPath::as_str).collect()
}

fn refused(imported: &ImportReport) -> Vec<String> {
    let refused = imported.refused.iter();
    refused.map(|refused| format!("{}: {}", refused.path, refused.reason)).collect()
}

#[test]
fn missing_files_are_copied_with_their_source() {
    let there = Fixture::with(&[
        (".muninn/knowledge/plain.md", "# Plain\n"),
        (".muninn/knowledge/http/codes.md", "\u{feff}---\r\ntype: convention\r\n---\r\n# Codes\r\n"),
        (".muninn/knowledge/ours.md", "---\nsource: us\n---\n# Ours\n"),
        (".muninn/knowledge/broken.md", "---\ntype convention\n---\n# Broken\n"),
        (".muninn/knowledge/picture.png", "x"),
    ]);
    let here = set_up(&[]);
    let first = import(&here.worktree(), &there.path("")).unwrap();
    assert_eq!(names(&first.imported), ["broken.md", "http/codes.md", "ours.md", "plain.md"]);
    assert!(first.same.is_empty() && first.refused.is_empty(), "{first:?}");
    let text = |name: &str| std::fs::read_to_string(here.path(&format!("{ROOT}/{name}"))).unwrap();
    let source = muninn_repo_tools::front_matter::quoted(&format!("import from {}", first.from));
    assert_eq!(text("plain.md"), format!("---\nsource: {source}\n---\n# Plain\n"));
    let codes = format!("\u{feff}---\r\ntype: convention\r\nsource: {source}\r\n---\r\n# Codes\r\n");
    assert_eq!(text("http/codes.md"), codes);
    assert_eq!(text("ours.md"), "---\nsource: us\n---\n# Ours\n");
    assert_eq!(text("broken.md"), "---\ntype convention\n---\n# Broken\n");

    let again = import(&here.worktree(), &there.path(ROOT)).unwrap();
    assert_eq!(again.from, first.from, "the repository's name, however it is given");
    assert_eq!((again.imported.len(), again.same.len(), again.refused.len()), (0, 4, 0));
}

#[test]
fn existing_files_are_not_overwritten() {
    let there = Fixture::with(&[("notes/a.md", "# Theirs\n")]);
    let here = set_up(&[(".muninn/knowledge/a.md", "# Mine\n")]);
    let done = import(&here.worktree(), &there.path("notes")).unwrap();
    assert_eq!(refused(&done), ["a.md: a different file with this name exists and was not replaced"]);
    assert_eq!(std::fs::read_to_string(here.path(".muninn/knowledge/a.md")).unwrap(), "# Mine\n");
}

#[test]
fn secrets_and_binary_files_are_refused() {
    let token = format!("# A\nghp_{}\n", "a1B2c3".repeat(6));
    let there = Fixture::with(&[("k/secret.md", &token), ("k/ok.md", "# Ok\n")]);
    there.write("k/latin.md", b"# \xe9\n");
    there.write("k/large.md", vec![b'x'; 10 << 20]);
    let here = set_up(&[]);
    let done = import(&here.worktree(), &there.path("k")).unwrap();
    assert_eq!(names(&done.imported), ["ok.md"]);
    let mut said = refused(&done);
    said.sort();
    assert_eq!(
        said,
        [
            "large.md: it has 10485760 bytes, and 1048576 are the most that is read",
            "latin.md: it is not UTF-8",
            "secret.md: it holds a secret",
        ]
    );
    assert_eq!(std::fs::read_dir(here.path(ROOT)).unwrap().count(), 1);
}

#[cfg(unix)]
#[test]
fn symlinks_are_refused_on_both_sides() {
    use std::os::unix::fs::symlink;
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("x.md"), "# Outside\n").unwrap();
    let there = Fixture::with(&[("k/sub/a.md", "# A\n"), ("k/..\\b.md", "# B\n"), ("k/b\n.md", "# B\n")]);
    symlink(outside.path(), there.path("k/out")).unwrap();
    symlink(outside.path().join("x.md"), there.path("k/x.md")).unwrap();
    let here = set_up(&[]);
    std::fs::create_dir_all(here.path(ROOT)).unwrap();
    symlink(outside.path(), here.path(&format!("{ROOT}/sub"))).unwrap();
    let done = import(&here.worktree(), &there.path("k")).unwrap();
    assert!(done.imported.is_empty(), "{done:?}");
    assert_eq!(done.refused.len(), 5, "{done:?}");
    let written: Vec<_> = std::fs::read_dir(outside.path()).unwrap().collect();
    assert_eq!(written.len(), 1, "only what was there");

    let linked = Fixture::with(&[]);
    std::fs::create_dir(linked.path(".muninn")).unwrap();
    symlink(outside.path(), linked.path(ROOT)).unwrap();
    let error = import(&here.worktree(), &linked.path("")).unwrap_err();
    assert!(matches!(error, ImportError::NoKnowledge { .. }), "{error}");
}

#[test]
fn invalid_sources_are_errors() {
    let (here, bare) = (set_up(&[]), Fixture::with(&[("README.md", "# A\n")]));
    let error = |here: &Fixture, from: &Path| import(&here.worktree(), from).unwrap_err();
    assert!(matches!(error(&here, &bare.path("")), ImportError::NoKnowledge { .. }));
    assert!(matches!(error(&here, &bare.path("gone")), ImportError::NotADirectory { .. }));
    assert!(matches!(error(&bare, &here.path("")), ImportError::Write(WriteError::NotSetUp { .. })));
    std::fs::create_dir_all(here.path(ROOT)).unwrap();
    assert!(matches!(error(&here, &here.path("")), ImportError::Itself { .. }));
}
