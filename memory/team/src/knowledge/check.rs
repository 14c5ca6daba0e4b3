//! Checks knowledge files: everything that [`super::load`] skips, with its line, and problems that only people notice.

use std::collections::HashMap;

use muninn_base::RelPath;
use muninn_repo_tools::{GlobSet, WalkLimits, Worktree, read_text, walk};
use muninn_text::markdown::heading;
use muninn_text::redact::redact;
use serde::Serialize;

use super::front::{Front, ProblemKind, front};
use super::listing::Listing;
use super::{MAX_FILE_BYTES, conflict};

/// A problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The file.
    pub path: String,
    /// The line, counted from 1; `None` for the whole file.
    pub line: Option<u32>,
    pub kind: FindingKind,
    pub message: String,
    /// The unknown key, for [`FindingKind::UnknownKey`].
    #[serde(skip)]
    pub unknown_key: Option<String>,
}

/// The kind of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// The file is not read: too large, a symlink, or binary.
    Unread,
    /// Invalid front matter, which is treated as text.
    FrontMatter,
    UnknownKey,
    /// An invalid value.
    Value,
    /// A malformed glob, or one that matches no file.
    Glob,
    /// Markers of an unresolved merge.
    Conflict,
    /// Another file has the same title.
    DuplicateTitle,
    /// A secret. It is redacted in prompts, but stays in git.
    Secret,
}

/// Checks every file of `.muninn/knowledge`, sorted by path.
pub fn check(worktree: &Worktree) -> Vec<Finding> {
    let listing = Listing::of_worktree(worktree, None);
    let mut checker = Checker::default();
    for skipped in &listing.skipped {
        checker.find(&skipped.path, None, FindingKind::Unread, format!("it {}", skipped.reason));
    }
    for file in &listing.files {
        let path = file.path.as_str();
        match read_text(worktree, &file.path, MAX_FILE_BYTES) {
            Ok(file) => checker.file(worktree, path, &file.text),
            Err(error) => checker.find(path, None, FindingKind::Unread, error.to_string()),
        }
    }
    checker.found.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    checker.found
}

#[derive(Default)]
struct Checker {
    found: Vec<Finding>,
    /// Lowercase titles, with the first file of each.
    titles: HashMap<String, String>,
    /// The files that globs can match, listed when needed.
    files: Option<Vec<RelPath>>,
}

impl Checker {
    fn find(&mut self, path: &str, line: Option<u32>, kind: FindingKind, message: String) {
        self.found.push(Finding { path: path.to_owned(), line, kind, message, unknown_key: None });
    }

    fn file(&mut self, worktree: &Worktree, path: &str, text: &str) {
        let clean = redact(text);
        self.secrets(path, text, &clean);
        if let Some(line) = conflict::first_marker(&clean) {
            let message = "a merge left conflict markers".to_owned();
            self.find(path, Some(line), FindingKind::Conflict, message);
        }
        let front = front(&clean);
        self.front(path, &front);
        self.globs(worktree, path, &front);
        self.title(path, &front);
    }

    /// Reports lines that redaction changes. Redaction keeps the number of lines.
    fn secrets(&mut self, path: &str, text: &str, clean: &str) {
        for (number, (line, clean)) in (1..).zip(text.lines().zip(clean.lines())) {
            if line != clean && clean.contains("[redacted:") {
                let kind = clean.split("[redacted:").nth(1).and_then(|rest| rest.split(']').next());
                let message = format!("a secret ({})", kind.unwrap_or("of a known shape"));
                self.find(path, Some(number), FindingKind::Secret, message);
            }
        }
    }

    fn front(&mut self, path: &str, front: &Front<'_>) {
        for problem in &front.problems {
            let kind = match &problem.kind {
                ProblemKind::NeverClosed(_) | ProblemKind::Strange => FindingKind::FrontMatter,
                ProblemKind::UnknownKey { .. } => FindingKind::UnknownKey,
                ProblemKind::Twice { .. } | ProblemKind::Confidence { .. } => FindingKind::Value,
                ProblemKind::Glob { .. } => FindingKind::Glob,
            };
            self.found.push(Finding {
                path: path.to_owned(),
                line: Some(problem.line),
                kind,
                message: problem.kind.to_string(),
                unknown_key: match &problem.kind {
                    ProblemKind::UnknownKey { key } => Some(key.clone()),
                    _ => None,
                },
            });
        }
    }

    /// Reports globs that match no file. Negated globs are not checked.
    fn globs(&mut self, worktree: &Worktree, path: &str, front: &Front<'_>) {
        for glob in front.applies_to.iter().filter(|glob| !glob.starts_with('!')) {
            let files = self.files.get_or_insert_with(|| {
                let walked = walk(worktree, &WalkLimits::default()).files.into_iter();
                walked.map(|entry| entry.path).collect()
            });
            let matches = GlobSet::new([glob.as_str()]).is_ok_and(|globs| files.iter().any(|file| globs.matches(file)));
            if !matches {
                let message = format!("`{glob}` in applies_to matches no file of the worktree");
                self.find(path, front.applies_to_line, FindingKind::Glob, message);
            }
        }
    }

    fn title(&mut self, path: &str, front: &Front<'_>) {
        let Some((number, title)) = first_heading(front) else {
            return;
        };
        let key = title.to_lowercase();
        match self.titles.get(&key) {
            Some(first) => {
                let message = format!("{first} has the same title, `{title}`");
                self.find(path, Some(number), FindingKind::DuplicateTitle, message);
            }
            None => {
                self.titles.insert(key, path.to_owned());
            }
        }
    }
}

fn first_heading<'t>(front: &Front<'t>) -> Option<(u32, &'t str)> {
    let mut lines = (front.body_line..).zip(front.body.lines());
    lines.find_map(|(number, line)| Some((number, heading(line)?)))
}
