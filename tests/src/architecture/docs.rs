//! The paths and links in the documents, and the pages of the book.

use std::path::{Path, PathBuf};

/// Prefixes of paths in users' directories and repositories.
const USER_PATHS: [&str; 9] = [
    "muninn.toml", ".muninn", ".metis", "JOURNAL.md", // Of personal memory.
    "identity.md", "state/", "entities/", "signals/", ".index/",
];

/// The Markdown files of the book, with their texts.
pub(super) fn pages(docs: &Path) -> Vec<(PathBuf, String)> {
    let mut pages = Vec::new();
    let mut folders = vec![docs.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                let text = std::fs::read_to_string(&path).unwrap();
                pages.push((path, text));
            }
        }
    }
    pages.sort();
    pages
}

/// A text without its fenced blocks, because diagrams and transcripts may name anything.
pub(super) fn prose(text: &str) -> String {
    text.split("```").step_by(2).collect()
}

/// The names in backticks or bold that look like paths of the repository.
pub(super) fn paths_in(prose: &str) -> Vec<&str> {
    let looks_like_a_path = |name: &&str| {
        let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c));
        let file = [".rs", ".toml", ".md", ".py"].iter().any(|ending| name.ends_with(ending));
        let is_users = USER_PATHS.iter().any(|prefix| name.starts_with(prefix));
        plain && !name.starts_with('/') && !is_users && (name.ends_with('/') || file)
    };
    let quoted = prose.split('`').skip(1).step_by(2);
    let bold = prose.split("**").skip(1).step_by(2);
    quoted.chain(bold).filter(looks_like_a_path).collect()
}

/// The relative links of a page whose file or heading does not exist.
pub(super) fn broken_links(path: &Path, text: &str) -> Vec<String> {
    let prose = prose(text);
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let local = targets.filter(|target| !target.contains("://"));
    let is_broken = |target: &&str| {
        let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
        let file = match file {
            "" => path.to_owned(),
            file => path.parent().unwrap().join(file),
        };
        let has_heading = || headings(&std::fs::read_to_string(&file).unwrap()).any(|heading| heading == anchor);
        !file.exists() || !(anchor.is_empty() || has_heading())
    };
    local.filter(is_broken).map(|target| format!("{}: {target}", path.display())).collect()
}

/// The anchors of a page's headings, as code hosts and mdBook generate them.
fn headings(text: &str) -> impl Iterator<Item = String> {
    let lines = text.lines().filter(|line| line.starts_with('#'));
    lines.map(|line| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    })
}

#[test]
fn links_to_missing_files_and_headings_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let (page, other) = (folder.path().join("a.md"), folder.path().join("b.md"));
    std::fs::write(&other, "# Two Words\n").unwrap();
    let text = "# A b\n[x](b.md) [x](b.md#two-words) [x](#a-b) [x](https://example.org/none)\n```\n[x](in-a-fence.md)\n```\n\
                [x](none.md) [x](b.md#three) [x](#c)";
    std::fs::write(&page, text).unwrap();
    let broken: Vec<_> =
        broken_links(&page, text).iter().map(|link| link.rsplit(' ').next().unwrap().to_owned()).collect();
    assert_eq!(broken, ["none.md", "b.md#three", "#c"]);
}
