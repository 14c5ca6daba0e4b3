//! Tokens in square brackets: `[INST]`, `[/SYSTEM]`, `]~b]`, `［ＩＮＳＴ］`.

use super::fold::folded;
use super::{Change, Ground, names};

/// Tokens of models, without the opening bracket, in this case only. Mistral's `[ARGS]`, `[PREFIX]` and similar tokens are
/// missing, because they open and end nothing and occur in help texts.
const TOKENS: [&str; 15] = [
    "INST", "SYSTEM_PROMPT", "AVAILABLE_TOOLS", "TOOL_CALLS", "TOOL_RESULTS", "TOOL_CONTENT", "CALL_ID", "THINK",
    "MODEL_SETTINGS", "gMASK", "sMASK", "BOS", "EOS", "EOT", "SYS",
];
/// Beginnings of the notices of clients, in any case.
const NOTICES: [&str; 3] = ["system notification", "suggestion mode", "request interrupted"];
/// The longest name, in bytes.
const LONGEST: usize = 48;

/// Breaks the token whose bracket is at `at`.
pub(super) fn change(text: &str, at: usize, ground: Ground) -> Option<Change> {
    let rest = &text[at..];
    if rest.starts_with(']') {
        return is_of_minimax(rest).then(|| Change::of(']', "&#93;"));
    }
    let inside = &rest[1..];
    let is_token = inside.starts_with("e~[") || is_token(text, at, inside, ground);
    is_token.then(|| Change::of('[', "&#91;"))
}

/// Breaks a token in brackets of East Asian writing.
pub(super) fn change_wide(text: &str, at: usize, bracket: char) -> Option<Change> {
    let inside = &text[at + bracket.len_utf8()..];
    let name = folded(name(inside, |c| matches!(c, '］' | '】' | '〕' | '〗' | '⟧' | ']'))?);
    let name = name.trim_start_matches(['/', ' ']);
    (names::is_of_brackets(name) || TOKENS.iter().any(|token| token.eq_ignore_ascii_case(name)))
        .then(|| Change::reference(bracket))
}

/// MiniMax: `]~!b[`, `]~b]`, `]!p~[`, `]<]start of image[>[`.
fn is_of_minimax(rest: &str) -> bool {
    let bytes = rest.as_bytes();
    if let Some(image) = rest.strip_prefix("]<]") {
        let name = image.bytes().take_while(|byte| byte.is_ascii_lowercase() || *byte == b' ').count();
        return (1..=40).contains(&name) && image[name..].starts_with("[>[");
    }
    let marks = bytes[1..].iter().take(2).take_while(|byte| matches!(byte, b'~' | b'!')).count();
    let after = &bytes[1 + marks..];
    marks > 0
        && match after {
            [letter, b'~', b'[' | b']', ..] | [letter, b'[' | b']', ..] => letter.is_ascii_lowercase(),
            _ => false,
        }
}

fn is_token(text: &str, at: usize, inside: &str, ground: Ground) -> bool {
    if starts_notice(inside) {
        return true;
    }
    let Some(written) = name(inside, |c| c == ']') else {
        return false;
    };
    let (closing, written) = match written.strip_prefix('/') {
        Some(rest) => (true, rest),
        None => (false, written),
    };
    if let Some(role) = written.strip_prefix('|').and_then(|role| role.strip_suffix('|')) {
        return role.bytes().all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'/'));
    }
    let is_numbered = |start: &str| {
        let digits = written.strip_prefix(start);
        digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
    };
    if TOKENS.contains(&written) || is_numbered("UNUSED_TOKEN_") || is_numbered("control_") {
        return true;
    }
    let is_loud = |name: &str| {
        name.bytes().any(|byte| byte.is_ascii_uppercase())
            && name
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b' ' | b'-'))
    };
    if closing {
        return is_loud(written) || (ground == Ground::Prose && names::is_of_brackets(&folded(written)));
    }
    let is_index = text[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | ')' | ']'));
    let after = inside[written.len() + 1..].chars().next();
    // A link or a field.
    let is_named = matches!(after, Some('(' | '[' | '.' | '='));
    let is_marker = match ground {
        Ground::Prose => names::is_of_brackets(&folded(written)),
        Ground::Code | Ground::Markup => false,
    };
    is_marker && !is_index && !is_named
}

fn starts_notice(inside: &str) -> bool {
    let inside = inside.trim_start();
    NOTICES.iter().any(|notice| inside.get(..notice.len()).is_some_and(|start| start.eq_ignore_ascii_case(notice)))
}

/// The text up to a closing bracket on the same line, if it is short.
fn name(inside: &str, is_end: impl Fn(char) -> bool) -> Option<&str> {
    let near = &inside[..inside.floor_char_boundary(LONGEST.min(inside.len()))];
    let end = near.find(|c: char| is_end(c) || c == '\n')?;
    let name = &near[..end];
    (!near[end..].starts_with('\n') && !name.is_empty()).then_some(name)
}
