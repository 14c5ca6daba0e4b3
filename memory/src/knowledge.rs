//! Curated knowledge: `.muninn/knowledge/**/*.md`, written or approved by people.
//!
//! ```text
//! ---
//! type: convention
//! domain: error-handling
//! confidence: high
//! source: team-decision
//! ---
//! # Error handling convention
//! ```
//!
//! A file is recalled by section. Front matter that cannot be understood costs its meaning, not the text.

use std::path::Path;
use std::time::UNIX_EPOCH;

use muninn_repo_tools::{RelPath, Worktree, read_text};

use crate::markdown::sections;
use crate::recall::{Loaded, Memory, MemoryKind, Stamp};
use crate::redact::redact;

const ROOT: &str = ".muninn/knowledge";
const MAX_FILE_BYTES: u64 = 1 << 20;
const MAX_FILES: usize = 2_000;
const MAX_TOTAL_BYTES: u64 = 16 << 20;
const MAX_DEPTH: usize = 16;
/// Front matter longer than this is no front matter but a text that begins with a rule.
const MAX_FRONT_MATTER_LINES: usize = 64;

/// What a knowledge file says about itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FrontMatter {
    /// `convention`, `decision`, `glossary`, ...
    pub kind: Option<String>,
    /// What it is about.
    pub domain: Option<String>,
    /// `high`, `medium`, `low` or a number, as 0.9, 0.6, 0.3 or that number.
    pub confidence: Option<f32>,
    /// Where it comes from.
    pub source: Option<String>,
}

/// Reads the whole folder.
pub(crate) fn load(worktree: &Worktree) -> Loaded {
    let (stamps, notes) = stamps(worktree);
    let mut loaded = Loaded {
        stamps,
        notes,
        ..Loaded::default()
    };
    for stamp in &loaded.stamps {
        let Ok(path) = RelPath::new(&stamp.path) else { continue };
        match read_text(worktree, &path, MAX_FILE_BYTES) {
            Ok(file) => match items(&path, &redact(&file.text)) {
                (items, true) => loaded.items.extend(items),
                (items, false) => {
                    loaded.notes.push(format!(
                        "{}: front matter not understood, read as plain Markdown",
                        stamp.path
                    ));
                    loaded.items.extend(items);
                }
            },
            Err(error) => loaded.notes.push(format!("knowledge left out: {error}")),
        }
    }
    loaded
}

/// The sections of one file, and whether its front matter was understood.
pub fn items(path: &RelPath, text: &str) -> (Vec<Memory>, bool) {
    let (front, body_line, understood) = front_matter(text);
    let lines: Vec<&str> = text.lines().collect();
    let body: String = lines[body_line.min(lines.len())..].join("\n");
    let first = u32::try_from(body_line).unwrap_or(0) + 1;
    let item = |section: crate::markdown::Section| {
        let span = (section.first as usize - 1)..(section.last as usize);
        Memory {
            kind: MemoryKind::Knowledge,
            source: format!("{path}:{}-{}", section.first, section.last),
            path: path.to_string(),
            title: title(&section.title, &front, path),
            text: lines.get(span).unwrap_or_default().join("\n"),
            first_line: section.first,
            date: None,
            confidence: front.confidence,
            record_type: None,
            session: None,
            branch: None,
            task: None,
            cites: Vec::new(),
        }
    };
    (sections(&body, first).into_iter().map(item).collect(), understood)
}

/// The heading, or what else names a section; with the domain, so that a question about it finds every section.
fn title(heading: &str, front: &FrontMatter, path: &RelPath) -> String {
    let name = if heading.is_empty() {
        path.file_name().trim_end_matches(".md")
    } else {
        heading
    };
    match &front.domain {
        Some(domain) => format!("{name} ({domain})"),
        None => name.to_owned(),
    }
}

/// Front matter, the number of lines it takes, and whether it was understood (a file without any is).
pub fn front_matter(text: &str) -> (FrontMatter, usize, bool) {
    let mut front = FrontMatter::default();
    if text.lines().next().is_none_or(|line| line.trim_end() != "---") {
        return (front, 0, true);
    }
    for (number, line) in text.lines().enumerate().skip(1).take(MAX_FRONT_MATTER_LINES) {
        let line = line.trim_end();
        if line == "---" {
            return (front, number + 1, true);
        }
        // Lists and nested values belong to keys that are not ours.
        if line.is_empty() || line.starts_with([' ', '\t', '-', '#']) {
            continue;
        }
        let Some((key, value)) = line.split_once(':') else {
            break;
        };
        let value = value.trim().trim_matches(['"', '\'']);
        let field = match key.trim() {
            "type" => &mut front.kind,
            "domain" => &mut front.domain,
            "source" => &mut front.source,
            "confidence" => {
                front.confidence = confidence(value);
                continue;
            }
            _ => continue,
        };
        *field = (!value.is_empty()).then(|| value.to_owned());
    }
    (FrontMatter::default(), 0, false)
}

fn confidence(word: &str) -> Option<f32> {
    match word {
        "high" => Some(0.9),
        "medium" => Some(0.6),
        "low" => Some(0.3),
        number => number.parse().ok().filter(|value| (0.0..=1.0).contains(value)),
    }
}

/// The knowledge files as they are now, in the order of their paths, and what was left out.
pub(crate) fn stamps(worktree: &Worktree) -> (Vec<Stamp>, Vec<String>) {
    let mut found = Listing::default();
    let muninn = worktree.root().join(".muninn");
    if muninn.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
        found.visit(worktree.root(), &worktree.root().join(ROOT), 0);
    }
    found.stamps.sort_by(|a, b| a.path.cmp(&b.path));
    (found.stamps, found.notes)
}

#[derive(Default)]
struct Listing {
    stamps: Vec<Stamp>,
    notes: Vec<String>,
    bytes: u64,
}

impl Listing {
    /// Descends without following a symlink: knowledge is read from the repository alone.
    fn visit(&mut self, root: &Path, path: &Path, depth: usize) {
        let Ok(metadata) = path.symlink_metadata() else {
            return;
        };
        if metadata.is_dir() && depth < MAX_DEPTH {
            let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
            entries.for_each(|entry| self.visit(root, &entry.path(), depth + 1));
            return;
        }
        let Some(relative) = path.strip_prefix(root).ok().and_then(RelPath::from_relative) else {
            return;
        };
        if !metadata.is_file() || relative.extension() != "md" {
            return;
        }
        let over = self.stamps.len() >= MAX_FILES || self.bytes + metadata.len() > MAX_TOTAL_BYTES;
        if over || metadata.len() > MAX_FILE_BYTES {
            self.notes.push(format!(
                "{relative}: too large, or too much knowledge beside it; left out"
            ));
            return;
        }
        self.bytes += metadata.len();
        let modified = metadata.modified().unwrap_or(UNIX_EPOCH);
        self.stamps.push(Stamp {
            path: relative.to_string(),
            size: metadata.len(),
            modified,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    fn parse(text: &str) -> (Vec<Memory>, bool) {
        items(&RelPath::new(".muninn/knowledge/a.md").unwrap(), text)
    }

    #[test]
    fn reads_front_matter_and_keeps_the_files_lines() {
        let text = "---\ntype: convention\ndomain: error-handling\nconfidence: high\ntags:\n  - x\n---\n# Errors\nbody\n\n## More\nx\n";
        let (items, understood) = parse(text);
        assert!(understood);
        let sources: Vec<_> = items
            .iter()
            .map(|item| (item.source.as_str(), item.title.as_str()))
            .collect();
        let file = ".muninn/knowledge/a.md";
        let expected = [
            (format!("{file}:8-9"), "Errors (error-handling)"),
            (format!("{file}:11-12"), "More (error-handling)"),
        ];
        assert_eq!(
            sources,
            expected.each_ref().map(|(source, title)| (source.as_str(), *title))
        );
        assert_eq!(items[0].confidence, Some(0.9));
        assert_eq!(items[0].text, "# Errors\nbody");
    }

    #[test]
    fn broken_front_matter_is_plain_markdown() {
        for text in [
            "---\ntype convention\n---\n# A\n",
            "---\ntype: x\n# never closed\nbody\n",
        ] {
            let (items, understood) = parse(text);
            assert!(!understood, "{text}");
            assert!(items.iter().all(|item| item.confidence.is_none()));
            assert!(items.iter().any(|item| item.text.contains('#')));
        }
        assert!(parse("").0.is_empty());
    }

    #[test]
    fn confidence_is_a_word_or_a_number() {
        assert_eq!(confidence("medium"), Some(0.6));
        assert_eq!(confidence("0.75"), Some(0.75));
        assert_eq!(confidence("7"), None);
        assert_eq!(confidence("NaN"), None);
    }

    #[cfg(unix)]
    #[test]
    fn follows_no_symlink_and_reports_what_is_too_large() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("x.md"), "# Outside\n").unwrap();
        let big = "x".repeat(MAX_FILE_BYTES as usize + 1);
        let repo = Fixture::with(&[
            (".muninn/knowledge/a/b.md", "# In\n"),
            (".muninn/knowledge/big.md", &big),
        ]);
        std::os::unix::fs::symlink(outside.path(), repo.path(".muninn/knowledge/out")).unwrap();
        std::os::unix::fs::symlink(repo.path(".muninn"), repo.path(".muninn/knowledge/loop")).unwrap();
        let loaded = load(&repo.worktree());
        assert_eq!(loaded.items.len(), 1);
        assert_eq!(loaded.notes.len(), 1, "{:?}", loaded.notes);
    }

    #[cfg(unix)]
    #[test]
    fn a_muninn_directory_that_is_a_symlink_is_not_read() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(outside.path().join("knowledge")).unwrap();
        std::fs::write(outside.path().join("knowledge/x.md"), "# Outside\n").unwrap();
        let repo = Fixture::with(&[]);
        std::os::unix::fs::symlink(outside.path(), repo.path(".muninn")).unwrap();
        assert!(load(&repo.worktree()).items.is_empty());
    }
}
