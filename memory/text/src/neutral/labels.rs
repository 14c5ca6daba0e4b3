//! Labels at the start of a line that open a turn: `Human:`, `> **System note**:`, `### Instruction`.

use super::characters::is_invisible;
use super::fold::folded;
use super::{Change, Ground};

/// The speakers of a conversation.
const ROLES: [&str; 12] = [
    "human", "assistant", "system", "user", "developer", "tool", "ai", "bot", "chatbot", "ipython", "instruction",
    "instructions",
];
/// Those that a comment of code can name.
const SPEAKERS: [&str; 5] = ["human", "assistant", "system", "user", "developer"];
/// Words behind a role: `System message:`.
const KINDS: [&str; 16] = [
    "message", "prompt", "note", "notice", "notification", "reminder", "instruction", "instructions", "override",
    "turn", "request", "query", "input", "role", "command", "update",
];
/// Headings of instruction templates, each behind `###`.
const HEADINGS: [&str; 9] =
    ["instruction", "instructions", "input", "response", "system", "user", "human", "assistant", "end"];
/// The longest beginning of a line that is a label, in bytes.
const LONGEST: usize = 96;

/// Breaks the label whose colon is at `at`.
pub(super) fn change(text: &str, at: usize, colon: char, ground: Ground) -> Option<Change> {
    let before = &text[..at];
    // Most colons of code follow something else.
    let last = before.chars().next_back()?;
    if !(last.is_alphanumeric()
        || last.is_whitespace()
        || matches!(last, '*' | '_' | ')' | ']' | '>')
        || is_invisible(last))
    {
        return None;
    }
    let line = line_before(before)?;
    let is_label = match ground {
        Ground::Prose => is_prose_label(line),
        Ground::Code | Ground::Markup => is_code_label(line, &text[at + colon.len_utf8()..]),
    };
    is_label.then(|| match colon {
        ':' => Change::of(':', "&#58;"),
        wide => Change::reference(wide),
    })
}

/// Breaks a heading of an instruction template that begins at `at`.
pub(super) fn heading(text: &str, at: usize, ground: Ground) -> Option<Change> {
    let (before, rest) = (&text[..at], &text[at..]);
    let title = rest.strip_prefix("###").filter(|_| ground == Ground::Prose)?;
    if title.starts_with('#') || !line_before(before)?.trim_matches(is_leader).is_empty() {
        return None;
    }
    let line = title.split(['\n', '\r']).next().unwrap_or_default();
    let line = &line[..line.floor_char_boundary(LONGEST)];
    let words = folded(line.trim_matches(|c: char| !c.is_alphabetic()));
    HEADINGS.contains(&&*words).then(|| Change::of('#', "&#35;"))
}

/// The beginning of the line; `None` if it is too long for a label.
fn line_before(before: &str) -> Option<&str> {
    let least = before.floor_char_boundary(before.len().saturating_sub(LONGEST));
    let near = &before[least..];
    let is_end = |c: char| matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}');
    match near.rfind(is_end) {
        Some(end) => near[end..].chars().next().map(|c| &near[end + c.len_utf8()..]),
        None => (least == 0).then_some(near),
    }
}

/// What Markdown, quotes and comments put before the first word of a line.
fn is_leader(c: char) -> bool {
    c.is_whitespace()
        || is_invisible(c)
        || c.is_numeric()
        || matches!(
            c,
            '>' | '＞' | '*' | '_' | '#' | '-' | '+' | '~' | '|' | '/' | ';' | '!' | '%' | '.' | '(' | '[' | '•' | '·'
        )
}

/// The line behind its leaders, the letter of a list (`a.`) and tags (`<b>`).
fn behind_leaders(line: &str) -> &str {
    let line = line.trim_start_matches(is_leader);
    let tag = || line.strip_prefix('<')?.split_once('>');
    let is_letter = |(letter, rest): &(&str, &str)| letter.len() == 1 && rest.starts_with(char::is_whitespace);
    let letter = || line.split_once(['.', ')']).filter(is_letter);
    match tag().or_else(letter) {
        Some((_, rest)) => behind_leaders(rest),
        None => line,
    }
}

fn is_prose_label(line: &str) -> bool {
    let words = behind_leaders(line);
    let words = match words.rsplit_once('<') {
        Some((words, tag)) if tag.trim_end().ends_with('>') => words,
        _ => words,
    };
    let words = words.trim_end_matches(|c: char| is_leader(c) || matches!(c, ')' | ']'));
    let words = folded(words);
    // `System (urgent):`, `Assistant [final]:`
    let named = words.split(['(', '[']).next().unwrap_or_default();
    let mut words = named.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    words.next().is_some_and(|first| ROLES.contains(&first)) && words.all(|word| KINDS.contains(&word))
}

/// In code `user:` is a key. A speaker is written like a name, at the start of a line or of a comment; `Human` and
/// `Assistant` are no keys, so they may be indented.
fn is_code_label(line: &str, after: &str) -> bool {
    let word = line.trim_start_matches(is_leader);
    let name = folded(word);
    let is_speaker = SPEAKERS.contains(&&*name) && word.chars().next().is_some_and(char::is_uppercase);
    let lead = &line[..line.len() - word.len()];
    let is_comment = lead.contains(['/', '#', '*', ';', '%', '>']) || lead.contains("--");
    let is_turn = lead.is_empty() || is_comment || matches!(&*name, "human" | "assistant");
    is_speaker && is_turn && !after.starts_with(':')
}
