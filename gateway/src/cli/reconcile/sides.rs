//! A conflict as text and as JSON.

use std::io::IsTerminal as _;

use muninn_memory::reconcile::{FileChange, OpenConflict, file_change};
use muninn_memory::records::{Body, Record, kinds};
use muninn_repo_tools::Worktree;
use serde_json::{Value, json};

use crate::cli::output::{sanitize, sanitize_line};

/// The width from which a terminal gets both sides in columns. Narrower ones, and pipes, get one side below the other.
const MIN_WIDTH: usize = 80;
const SEPARATOR: &str = "  |  ";

/// The conflict as JSON.
pub(super) fn as_json(worktree: &Worktree, open: &OpenConflict) -> Value {
    let (by, reason) = why(&open.conflict);
    json!({
        "id": open.conflict.id,
        "reason": reason,
        "by": by,
        "left": side_json(worktree, &open.left),
        "right": side_json(worktree, &open.right),
    })
}

fn side_json(worktree: &Worktree, record: &Record) -> Value {
    let claim = Claim::of(record);
    let sources = record.origin.sources.iter();
    json!({
        "id": record.id,
        "text": claim.text,
        "subject": claim.subject,
        "entities": claim.entities,
        "date": record.ts,
        "session": record.origin.session,
        "branch": record.origin.branch,
        "author": claim.author,
        "confidence": claim.confidence,
        "files": sources.map(|source| json!({"path": source.path, "today": file_change(worktree, source)})).collect::<Vec<_>>(),
    })
}

/// The conflict as text: in two columns where the terminal is wide enough.
pub(super) fn text(worktree: &Worktree, open: &OpenConflict) -> String {
    let (by, reason) = why(&open.conflict);
    let (left, right) = (side(worktree, "left", &open.left), side(worktree, "right", &open.right));
    let heading = format!(
        "conflict {}\n{} ({})",
        sanitize_line(&open.conflict.id),
        sanitize_line(reason),
        sanitize_line(by)
    );
    let width = textwrap::termwidth();
    let body = match std::io::stdout().is_terminal() && width >= MIN_WIDTH {
        true => columns(&left, &right, width),
        false => format!("\n{left}\n{right}"),
    };
    format!("{heading}\n{body}")
}

fn why(conflict: &Record) -> (&str, &str) {
    match &conflict.body {
        Body::Conflict(kinds::Conflict { by, reason, .. }) => (by, reason),
        _ => Default::default(),
    }
}

/// Two texts in columns.
fn columns(left: &str, right: &str, width: usize) -> String {
    let column = (width - SEPARATOR.len()) / 2;
    let lines = |text: &str| -> Vec<String> {
        text.lines()
            .flat_map(|line| textwrap::wrap(line, column))
            .map(Into::into)
            .collect()
    };
    let (left, right) = (lines(left), lines(right));
    let mut text = String::new();
    for row in 0..left.len().max(right.len()) {
        let cell = |side: &[String]| side.get(row).cloned().unwrap_or_default();
        let (one, other) = (cell(&left), cell(&right));
        let blank = column.saturating_sub(textwrap::core::display_width(&one));
        text.push_str(&format!("{one}{}{SEPARATOR}{other}", " ".repeat(blank)));
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

/// One side: its text and its fields.
fn side(worktree: &Worktree, name: &str, record: &Record) -> String {
    let claim = Claim::of(record);
    let mut lines = vec![format!("[{name}] {}", sanitize(claim.text).replace('\n', "\n    "))];
    let origin = &record.origin;
    let mut field = |name: &str, value: Option<String>| {
        lines.extend(value.map(|value| format!("  {name:<10} {}", sanitize_line(&value))));
    };
    field("id", Some(record.id.clone()));
    field("date", Some(record.ts.chars().take(10).collect()));
    field("subject", claim.subject.map(str::to_owned));
    field(
        "about",
        Some(claim.entities.join(", ")).filter(|names| !names.is_empty()),
    );
    field("author", claim.author.map(str::to_owned));
    field("confidence", claim.confidence.map(|confidence| confidence.to_string()));
    field("session", origin.session.clone());
    field("branch", origin.branch.clone());
    for source in &origin.sources {
        let now = match file_change(worktree, source) {
            FileChange::Unchanged => "unchanged",
            FileChange::Changed => "changed since",
            FileChange::Gone => "deleted",
            FileChange::Unknown => "exists",
        };
        field("file", Some(format!("{} ({now})", source.path)));
    }
    lines.join("\n") + "\n"
}

/// The content of a learning or a pattern.
#[derive(Default)]
struct Claim<'a> {
    text: &'a str,
    subject: Option<&'a str>,
    entities: &'a [String],
    author: Option<&'a str>,
    confidence: Option<f64>,
}

impl<'a> Claim<'a> {
    fn of(record: &'a Record) -> Self {
        match &record.body {
            Body::Learning(kinds::Learning {
                text,
                subject,
                confidence,
                author,
            }) => Self {
                text,
                subject: subject.as_deref(),
                author: author.as_deref(),
                confidence: number(confidence.as_ref()),
                ..Self::default()
            },
            Body::Pattern(kinds::Pattern {
                pattern,
                entities,
                confidence,
                author,
            }) => Self {
                text: pattern,
                entities,
                author: author.as_deref(),
                confidence: number(confidence.as_ref()),
                ..Self::default()
            },
            _ => Self::default(),
        }
    }
}

fn number(number: Option<&serde_json::Number>) -> Option<f64> {
    number.and_then(serde_json::Number::as_f64)
}
