//! Metis documents as knowledge, and the current task.

use super::metis::current_task;
use super::*;
use crate::knowledge::list;

const ADR: &str = "---\nid: cookies\nlevel: adr\ntitle: \"Sessions are signed cookies\"\nnumber: 3\nshort_code: \"PROJ-A-0003\"\ntags:\n  - \"#adr\"\n  - \"#phase/decided\"\n---\n\n# ADR-3: Sessions are signed cookies\n\nWhy.\n\n## Decision\n\nNo session table.\n";

fn adr(phase: &str) -> String {
    ADR.replace("decided", phase)
}

fn task(code: &str, phase: &str) -> String {
    format!("---\nid: x\nlevel: task\ntitle: Do it\nshort_code: {code}\ntags: [\"#phase/{phase}\"]\n---\n# Do it\n")
}

#[test]
fn decisions_visions_and_plans_are_recalled_with_their_codes() {
    let vision = "---\nid: v\nlevel: vision\ntitle: Fast\nshort_code: PROJ-V-0001\n---\n# Fast\nAlways.\n";
    let repo = Fixture::with(&[
        (".metis/adrs/001.md", ADR),
        (".metis/adrs/002.md", &adr("draft").replace("0003", "0004").replace("number: 3", "number: 4")),
        (".metis/adrs/003.md", &adr("superseded")),
        (".metis/archived/adrs/004.md", ADR),
        (".metis/initiatives/i/tasks/t.md", &task("PROJ-T-0001", "todo")),
        (".metis/vision.md", vision),
        (".metis/half.md", "---\nid: half\n"),
        (".metis/ignored/adrs/5.md", ADR),
        (".gitignore", ".metis/ignored/\n"),
    ]);
    let loaded = load(&repo.worktree(), None);
    let items = loaded.items.iter();
    let shown: Vec<_> =
        items.map(|item| format!("{} | {} | {:?}", item.source, item.title, item.confidence.unwrap())).collect();
    assert_eq!(
        shown,
        [
            ".metis/adrs/001.md:12-14 | ADR-3 (PROJ-A-0003): Sessions are signed cookies | 0.9",
            ".metis/adrs/001.md:16-18 | ADR-3 (PROJ-A-0003): Sessions are signed cookies, Decision | 0.9",
            ".metis/adrs/002.md:12-14 | ADR-4 (PROJ-A-0004): Sessions are signed cookies | 0.3",
            ".metis/adrs/002.md:16-18 | ADR-4 (PROJ-A-0004): Sessions are signed cookies, Decision | 0.3",
            ".metis/initiatives/i/tasks/t.md:8-8 | PROJ-T-0001: Do it | 0.3",
            ".metis/vision.md:7-8 | PROJ-V-0001: Fast | 0.6",
        ]
    );
    assert_eq!(
        loaded.notes,
        [".metis/half.md: not a Metis document: front matter is never closed by a line of ---; indexed as a file"]
    );
    assert_eq!(list(&repo.worktree(), None).len(), 5, "the one that holds no more is listed, without sections");
}

#[cfg(unix)]
#[test]
fn a_metis_directory_that_is_a_symlink_is_not_read() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("vision.md"), "---\nid: v\n---\n# V\n").unwrap();
    let repo = Fixture::with(&[]);
    std::os::unix::fs::symlink(outside.path(), repo.path(".metis")).unwrap();
    let loaded = load(&repo.worktree(), None);
    assert!(loaded.items.is_empty() && loaded.stamps.is_empty());
    assert_eq!(current_task(&repo.worktree()), None);
}

#[test]
fn current_task_is_active_or_in_the_branch_name() {
    let repo = Fixture::with(&[(".metis/tasks/1.md", &task("PROJ-T-0001", "todo"))]);
    let worktree = repo.worktree();
    assert_eq!(current_task(&worktree), None);
    repo.write(".metis/tasks/2.md", task("PROJ-T-0002", "active").as_bytes());
    assert_eq!(current_task(&worktree).as_deref(), Some("PROJ-T-0002"));
    repo.write(".metis/tasks/3.md", task("PROJ-T-00021", "in-progress").as_bytes());
    assert_eq!(current_task(&worktree), None, "two, and the branch is main");
    repo.git(&["checkout", "-q", "-b", "fix/proj-t-00021-cookies"]);
    assert_eq!(current_task(&worktree).as_deref(), Some("PROJ-T-00021"));
    repo.git(&["checkout", "-q", "-b", "proj-t-0001"]);
    assert_eq!(current_task(&worktree), None, "that one is not active");
    assert_eq!(current_task(&Fixture::with(&[]).worktree()), None);
}
