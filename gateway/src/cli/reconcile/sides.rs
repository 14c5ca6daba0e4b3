//! A conflict as text.

use std::io::IsTerminal as _;

use muninn_core::{ConflictView, DecisionView, SideView};
use muninn_reconcile::ConflictState;

use crate::cli::output::{sanitize, sanitize_line};

/// The width from which a terminal gets two sides in columns. Narrower ones, and pipes, get one side below the other.
const MIN_WIDTH: usize = 80;
const SEPARATOR: &str = "  |  ";
/// Maximum number of reasons that are shown. A conflict of many sides has one per pair.
const MAX_REASONS: usize = 4;
/// Maximum length of a side's text in a line, in bytes.
const LONGEST_LINE: usize = 90;

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
    let state = match conflict.state {
        ConflictState::Undecided => "undecided pair",
        ConflictState::Conflict => "conflict",
        ConflictState::Split => "decided differently:",
    };
    let mut heading = format!("{state} {}", sanitize_line(&conflict.id));
    for decision in &conflict.decisions {
        heading.push_str(&format!("\n{}", decided(decision, &conflict.sides)));
    }
    for reason in conflict.reasons.iter().take(MAX_REASONS) {
        heading.push_str(&format!("\n{} ({})", sanitize_line(reason), sanitize_line(&conflict.by)));
    }
    if let Some(more) = conflict.reasons.len().checked_sub(MAX_REASONS).filter(|more| *more > 0) {
        heading.push_str(&format!("\n... {more} more reasons"));
    }
    if let Some(evidence) = &conflict.proposal {
        heading.push_str(&format!(
            "\nproposed: the newest replaces the others (`muninn resolve ID --accept`). {}",
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

/// An undecided pair in one line.
pub(super) fn question(conflict: &ConflictView) -> String {
    let side = |side: &SideView| {
        let date: String = side.date.chars().take(10).collect();
        let author = side.author.as_ref().map(|author| format!(", {author}")).unwrap_or_default();
        format!("\"{}\" ({date}{author})", shortened(&sanitize_line(&side.text)))
    };
    let sides: Vec<String> = conflict.sides.iter().map(side).collect();
    format!("  {}  {}", sanitize_line(&conflict.id), sides.join(" / "))
}

fn shortened(text: &str) -> String {
    if text.len() <= LONGEST_LINE {
        return text.to_owned();
    }
    format!("{} ...", text[..text.floor_char_boundary(LONGEST_LINE)].trim_end())
}

/// A decision: who kept which sides, when, and why.
fn decided(decision: &DecisionView, sides: &[SideView]) -> String {
    let numbers = sides.iter().zip(1..).filter(|(side, _)| decision.keep.contains(&side.id));
    let numbers: Vec<String> = numbers.map(|(_, number)| number.to_string()).collect();
    let kept = if numbers.is_empty() { "none".to_owned() } else { numbers.join(", ") };
    let author = decision.author.as_deref().unwrap_or("somebody");
    let note = decision.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
    let date: String = decision.date.chars().take(10).collect();
    sanitize_line(&format!("{date} {author} kept {kept}{note}"))
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
