//! Checking knowledge files.

use super::*;
use crate::knowledge::check;

/// The problems as messages.
fn found(files: &[(&str, &str)]) -> Vec<String> {
    let findings = check(&Fixture::with(files).worktree()).into_iter();
    let said = findings.map(|finding| {
        let name = finding.path.strip_prefix(".muninn/knowledge/").unwrap_or(&finding.path).to_owned();
        let line = finding.line.map_or_else(String::new, |line| line.to_string());
        format!("{name}:{line} {:?} {}", finding.kind, finding.message)
    });
    said.collect()
}

#[test]
fn good_files_have_no_findings() {
    let good = "---\ntype: convention\ndomain: http\nconfidence: high\nsource: us\napplies_to: [src/**, \"!*.md\"]\n---\n# A\n";
    let files = [(".muninn/knowledge/a.md", good), (".muninn/knowledge/b.md", "# B\n"), ("src/a.rs", "")];
    assert_eq!(found(&files), [] as [&str; 0]);
}

#[test]
fn each_problem_is_found_on_its_line() {
    let token = format!("# Keys\n\nghp_{}\n", "a1B2c3".repeat(6));
    let large = "x".repeat(10 << 20);
    let files = [
        (".muninn/knowledge/broken.md", "---\ntype convention\n---\n# Broken\n"),
        (".muninn/knowledge/conflict.md", "# C\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n"),
        (".muninn/knowledge/double.md", "\n# broken\n"),
        (".muninn/knowledge/globs.md", "---\ntype: x\napplies_to: [gone/**, src/a.rs]\n---\n# G\n"),
        (".muninn/knowledge/keys.md", &token),
        (".muninn/knowledge/large.md", &large),
        (".muninn/knowledge/values.md", "---\nconfidense: high\nconfidence: very\n---\n# V\n"),
        ("src/a.rs", ""),
    ];
    assert_eq!(
        found(&files),
        [
            "broken.md:2 FrontMatter this line of the front matter is neither `key: value` nor an item of a list",
            "conflict.md:2 Conflict a merge left conflict markers",
            "double.md:2 DuplicateTitle .muninn/knowledge/broken.md has the same title, `broken`",
            "globs.md:3 Glob `gone/**` in applies_to matches no file of the worktree",
            "keys.md:3 Secret a secret (github-token)",
            "large.md: Unread it has 10485760 bytes, and 1048576 are the most that is read",
            "values.md:2 UnknownKey `confidense` is no key of front matter",
            "values.md:3 Value confidence is high, medium, low or a number from 0 to 1, not `very`",
        ]
    );
}
