//! A conflict as text.

use std::io::IsTerminal as _;

use muninn_core::{ConflictView, SideView};

use crate::cli::output::{sanitize, sanitize_line};

/// The width from which a terminal gets two sides in columns. Narrower ones, and pipes, get one side below the other.
const MIN_WIDTH: usize = 80;
const SEPARATOR: &str = "  |  ";
/// Maximum number of reasons that are shown. A conflict of many sides has one per pair.
const MAX_REASONS: usize = 4;

/// The conflict as text: two sides in columns where the terminal is wide enough.
pub(super) fn text(conflict: &ConflictView) -> String {
    let last = conflict.sides.len();
    let name = |number: usize| match number {
        1 => "left",
        number if number == last => "right",
        _ => "",
    };
    let sides = conflict.sides.iter().zip(1..);
    let sides: Vec<String> = sides.map(|(one, number)| side(number, name(number), one)).collect();
    let mut heading = format!("conflict {}", sanitize_line(&conflict.id));
    for reason in conflict.reasons.iter().take(MAX_REASONS) {
        heading.push_str(&format!("\n{} ({})", sanitize_line(reason), sanitize_line(&conflict.by)));
    }
    if let Some(more) = conflict.reasons.len().checked_sub(MAX_REASONS).filter(|more| *more > 0) {
        heading.push_str(&format!("\n... {more} more reasons"));
    }
    if let Some(evidence) = &conflict.proposal {
        heading.push_str(&format!(
            "\nproposed: the newest replaces the others, because {} (`muninn resolve ID --accept`)",
            sanitize_line(evidence)
        ));
    }
    let width = textwrap::termwidth();
    let body = match &sides[..] {
        [left, right] if std::io::stdout().is_terminal() && width >= MIN_WIDTH => columns(left, right, width),
        sides => format!("\n{}", sides.join("\n")),
    };
    format!("{heading}\n{body}")
}

/// Two texts in columns.
fn columns(left: &str, right: &str, width: usize) -> String {
    let column = (width - SEPARATOR.len()) / 2;
    let lines = |text: &str| -> Vec<String> {
        text.lines().flat_map(|line| textwrap::wrap(line, column)).map(Into::into).collect()
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
fn side(number: usize, name: &str, side: &SideView) -> String {
    let name = format!("{number} {name}");
    let text = sanitize(&side.text).replace('\n', "\n    ");
    let mut lines = vec![format!("[{}] {text}", name.trim_end())];
    let mut field = |name: &str, value: Option<String>| {
        lines.extend(value.map(|value| format!("  {name:<10} {}", sanitize_line(&value))));
    };
    field("differs", Some(side.differing.join(" ")).filter(|words| !words.is_empty()));
    field("id", Some(side.id.clone()));
    field("date", Some(side.date.chars().take(10).collect()));
    field("subject", side.subject.clone());
    field("about", Some(side.entities.join(", ")).filter(|names| !names.is_empty()));
    field("author", side.author.clone());
    field("confidence", side.confidence.map(|confidence| confidence.to_string()));
    field("session", side.session.clone());
    field("branch", side.branch.clone());
    for file in &side.files {
        let lines = file.lines.as_ref().map(|lines| format!(":{lines}")).unwrap_or_default();
        field("file", Some(format!("{}{lines} ({})", file.path, file.today)));
    }
    lines.join("\n") + "\n"
}
