mod checks;
mod imports;
mod metis_documents;

use super::*;
use crate::fixture::Fixture;
use crate::memories::Memory;

fn parse(text: &str) -> Vec<Memory> {
    items(&RelPath::new(".muninn/knowledge/a.md").unwrap(), &front(text))
}

#[test]
fn reads_front_matter_and_keeps_the_files_lines() {
    let text = "---\ntype: convention\ndomain: error-handling\nconfidence: high\ntags:\n  - x\n---\n# Errors\nbody\n\n## More\nx\n";
    let items = parse(text);
    let sources: Vec<_> = items.iter().map(|item| (item.source.as_str(), item.title.as_str())).collect();
    let file = ".muninn/knowledge/a.md";
    let expected =
        [(format!("{file}:8-9"), "Errors (error-handling)"), (format!("{file}:11-12"), "More (error-handling)")];
    assert_eq!(sources, expected.each_ref().map(|(source, title)| (source.as_str(), *title)));
    assert_eq!(items[0].confidence, Some(0.9));
    assert_eq!(items[0].text, "# Errors\nbody");
}

#[test]
fn unchanged_placeholder_is_not_knowledge() {
    let path = ".muninn/knowledge/README.md";
    let titles = |text: &str| {
        let repo = Fixture::with(&[(path, text)]);
        let items = load(&repo.worktree(), None).items;
        items.into_iter().map(|item| item.title).collect::<Vec<_>>()
    };
    assert_eq!(titles(PLACEHOLDER), [""; 0]);
    assert_eq!(titles(&PLACEHOLDER.replace('\n', "\r\n")), [""; 0]);
    let written = format!("{PLACEHOLDER}\n# Money\nAmounts are cents.\n");
    assert_eq!(titles(&written), ["What goes into this folder (muninn)", "Money (muninn)"]);
}

#[test]
fn broken_front_matter_is_plain_markdown() {
    for text in ["---\ntype convention\n---\n# A\n", "---\ntype: x\n# never closed\nbody\n"] {
        let items = parse(text);
        assert!(items.iter().all(|item| item.confidence.is_none()));
        assert!(items.iter().any(|item| item.text.contains('#')));
        let repo = Fixture::with(&[(".muninn/knowledge/a.md", text)]);
        let notes = load(&repo.worktree(), None).notes;
        assert!(notes[0].contains("a.md: invalid front matter"), "{notes:?}");
    }
    assert!(parse("").is_empty());
}

#[test]
fn conflict_markers_are_reported_and_text_loaded() {
    let text =
        "---\ntype: convention\n<<<<<<< HEAD\nconfidence: high\n=======\nconfidence: low\n>>>>>>> other\n---\n# Kept\n";
    let repo = Fixture::with(&[(".muninn/knowledge/a.md", text)]);
    let loaded = load(&repo.worktree(), None);
    assert!(loaded.notes.iter().any(|note| note.contains("a.md:3: git conflict markers")), "{:?}", loaded.notes);
    assert!(loaded.items.iter().any(|item| item.text == "# Kept"));
    assert!(loaded.items.iter().all(|item| item.confidence.is_none()));
}

#[cfg(unix)]
#[test]
fn symlinks_are_not_followed_and_skipped_files_reported() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("x.md"), "# Outside\n").unwrap();
    let big = "x".repeat(10 << 20);
    let repo = Fixture::with(&[(".muninn/knowledge/a/b.md", "# In\n"), (".muninn/knowledge/big.md", &big)]);
    std::os::unix::fs::symlink(outside.path(), repo.path(".muninn/knowledge/out")).unwrap();
    std::os::unix::fs::symlink(repo.path(".muninn"), repo.path(".muninn/knowledge/loop")).unwrap();
    let loaded = load(&repo.worktree(), None);
    assert_eq!(loaded.items.len(), 1);
    assert_eq!(
        loaded.notes,
        [
            ".muninn/knowledge/big.md: skipped: it has 10485760 bytes, and 1048576 are the most that is read",
            ".muninn/knowledge/loop: skipped: it is a symlink, which is not followed",
            ".muninn/knowledge/out: skipped: it is a symlink, which is not followed",
        ]
    );
}

#[cfg(unix)]
#[test]
fn a_muninn_directory_that_is_a_symlink_is_not_read() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(outside.path().join("knowledge")).unwrap();
    std::fs::write(outside.path().join("knowledge/x.md"), "# Outside\n").unwrap();
    let repo = Fixture::with(&[]);
    std::os::unix::fs::symlink(outside.path(), repo.path(".muninn")).unwrap();
    assert!(load(&repo.worktree(), None).items.is_empty());
}
