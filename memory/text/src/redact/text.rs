//! Token boundaries in a text that can be quoted, escaped or coloured.

/// Bytes of a line before a secret that are examined.
const CONTEXT: usize = 200;

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Returns whether a token can start at `at`.
///
/// Texts come as JSON, as URLs and from terminals: the `n` of `\n`, the `3D` of `%3D`, the `0041` of `\u0041` and the
/// `m` that ends a colour do not belong to the token after them.
pub(super) fn starts_fresh(text: &str, at: usize) -> bool {
    let before = &text.as_bytes()[..at];
    match before {
        [] => true,
        [.., last] if !is_word(*last) => true,
        [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f' | b'0'] => true,
        [.., b'%', a, b] if is_hex(&[*a, *b]) => true,
        [.., b'\\', b'x', a, b] if is_hex(&[*a, *b]) => true,
        [.., b'\\', b'u', a, b, c, d] if is_hex(&[*a, *b, *c, *d]) => true,
        [colour @ .., b'm'] => {
            let digits = colour.iter().rev().take(12).take_while(|byte| byte.is_ascii_digit() || **byte == b';');
            colour.len().checked_sub(digits.count() + 1).is_some_and(|at| colour[at] == b'[')
        }
        _ => false,
    }
}

fn is_hex(bytes: &[u8]) -> bool {
    bytes.iter().all(u8::is_ascii_hexdigit)
}

/// The start of the run of token characters that ends at `at`, at most `most` bytes before it.
pub(super) fn run_before(text: &str, at: usize, most: usize) -> usize {
    let bytes = text.as_bytes();
    let least = at.saturating_sub(most);
    let mut start = at;
    while start > least && (is_word(bytes[start - 1]) || matches!(bytes[start - 1], b'.' | b'~' | b'-')) {
        start -= 1;
    }
    // An escaped character looks like the start of the run.
    while start < at && start > least && !starts_fresh(text, start) {
        start += 1;
    }
    let escape = start > 0 && bytes[start - 1] == b'\\' && start < at && matches!(bytes[start], b'n' | b'r' | b't');
    start + usize::from(escape)
}

/// The end of a token that was matched up to `at`.
pub(super) fn token_end(text: &str, at: usize) -> usize {
    let rest = &text.as_bytes()[at..];
    at + rest.iter().take_while(|byte| is_word(**byte) || **byte == b'-').count()
}

/// The text before `at` on its line, up to a limit.
pub(super) fn line_before(text: &str, at: usize) -> &str {
    let mut from = at.saturating_sub(CONTEXT);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let before = &text[from..at];
    before.rfind('\n').map_or(before, |newline| &before[newline + 1..])
}

/// Number of distinct bytes.
pub(super) fn distinct(text: &str) -> usize {
    let mut seen = [false; 256];
    text.bytes().for_each(|byte| seen[usize::from(byte)] = true);
    seen.iter().filter(|seen| **seen).count()
}

/// Returns whether `text` contains `needle`, which is lower case, ignoring case.
pub(super) fn holds(text: &str, needle: &str) -> bool {
    text.as_bytes().windows(needle.len()).any(|window| window.eq_ignore_ascii_case(needle.as_bytes()))
}
