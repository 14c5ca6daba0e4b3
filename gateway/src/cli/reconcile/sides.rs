//! A conflict as text.

use std::io::IsTerminal as _;

use muninn_memory::reconcile::FileChange;

use crate::app::{ConflictView, SideView};
use crate::cli::output::{sanitize, sanitize_line};

/// The width from which a terminal gets both sides in columns. Narrower ones, and pipes, get one side below the other.
const MIN_WIDTH: usize = 80;
const SEPARATOR: &str = "  |  ";

/// The conflict as text: in two columns where the terminal is wide enough.
pub(super) fn text(conflict: &ConflictView) -> String {
    let (left, right) = (side("left", &conflict.left), side("right", &conflict.right));
    let heading = format!(
        "conflict {}\n{} ({})",
        sanitize_line(&conflict.id),
        sanitize_line(&conflict.reason),
        sanitize_line(&conflict.by)
    );
    let width = textwrap::termwidth();
    let body = match std::io::stdout().is_terminal() && width >= MIN_WIDTH {
        true => columns(&left, &right, width),
        false => format!("\n{left}\n{right}"),
    };
    format!("{heading}\n{body}")
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
fn side(name: &str, side: &SideView) -> String {
    let mut lines = vec![format!("[{name}] {}", sanitize(&side.text).replace('\n', "\n    "))];
    let mut field = |name: &str, value: Option<String>| {
        lines.extend(value.map(|value| format!("  {name:<10} {}", sanitize_line(&value))));
    };
    field("id", Some(side.id.clone()));
    field("date", Some(side.date.chars().take(10).collect()));
    field("subject", side.subject.clone());
    field(
        "about",
        Some(side.entities.join(", ")).filter(|names| !names.is_empty()),
    );
    field("author", side.author.clone());
    field("confidence", side.confidence.map(|confidence| confidence.to_string()));
    field("session", side.session.clone());
    field("branch", side.branch.clone());
    for file in &side.files {
        let now = match file.today {
            FileChange::Unchanged => "unchanged",
            FileChange::Changed => "changed since",
            FileChange::Gone => "deleted",
            FileChange::Unknown => "exists",
        };
        field("file", Some(format!("{} ({now})", file.path)));
    }
    lines.join("\n") + "\n"
}
