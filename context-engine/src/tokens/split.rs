//! Cutting a text into the pieces within which the encoding merges bytes.
//!
//! This is the pattern of `cl100k_base`, alternative by alternative:
//!
//! ```text
//! '(?i:[sdmt]|ll|ve|re) | [^\r\n\p{L}\p{N}]?\p{L}+ | \p{N}{1,3} | ?[^\s\p{L}\p{N}]+[\r\n]* | \s+$ | \s*[\r\n] |
//! \s+(?!\S) | \s
//! ```
//!
//! written by hand, because it needs look-ahead, which the `regex` crate has not, and a backtracking engine costs ten
//! times the time. Letters are taken from Unicode's `Alphabetic`, so some vowel signs of Indic scripts count as letters.

/// The pieces of a text, in order; together they are the text.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let len = first_piece(rest)?;
        let (piece, after) = rest.split_at(len);
        rest = after;
        Some(piece)
    })
}

/// The length in bytes of the first piece; `None` at the end.
fn first_piece(text: &str) -> Option<usize> {
    let mut chars = text.chars();
    let first = chars.next()?;
    let after = chars.as_str();
    let second = chars.next();
    if first == '\''
        && let Some(len) = contraction(after)
    {
        return Some(1 + len);
    }
    if is_letter(first) {
        return Some(span(text, is_letter));
    }
    if !first.is_numeric() && !is_newline(first) && second.is_some_and(is_letter) {
        return Some(first.len_utf8() + span(after, is_letter));
    }
    if first.is_numeric() {
        return Some(
            text.chars()
                .take_while(|c| c.is_numeric())
                .take(3)
                .map(char::len_utf8)
                .sum(),
        );
    }
    if is_sign(first) || (first == ' ' && second.is_some_and(is_sign)) {
        let signs = first.len_utf8() + span(after, is_sign);
        return Some(signs + span(&text[signs..], is_newline));
    }
    Some(blank(text))
}

/// The length of the contraction after an apostrophe.
fn contraction(after: &str) -> Option<usize> {
    let bytes = after.as_bytes();
    match bytes.first()?.to_ascii_lowercase() {
        b's' | b'd' | b'm' | b't' => Some(1),
        first => {
            let pair = [first, bytes.get(1)?.to_ascii_lowercase()];
            [*b"ll", *b"ve", *b"re"].contains(&pair).then_some(2)
        }
    }
}

/// The length of the first piece of a text that begins with white space and with nothing that takes a space along.
fn blank(text: &str) -> usize {
    let all = span(text, char::is_whitespace);
    if all == text.len() {
        return all;
    }
    let blank = &text[..all];
    if let Some(newline) = blank.rfind(is_newline) {
        return newline + 1;
    }
    // The last blank before a word goes with the word, or stands alone.
    match blank.char_indices().next_back() {
        Some((last, _)) if last > 0 => last,
        _ => all,
    }
}

fn span(text: &str, class: impl Fn(char) -> bool) -> usize {
    text.find(|c| !class(c)).unwrap_or(text.len())
}

fn is_letter(c: char) -> bool {
    c.is_ascii_alphabetic() || (!c.is_ascii() && c.is_alphabetic() && !c.is_numeric())
}

fn is_newline(c: char) -> bool {
    matches!(c, '\r' | '\n')
}

fn is_sign(c: char) -> bool {
    !c.is_whitespace() && !is_letter(c) && !c.is_numeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_those_of_the_pattern() {
        let split = |text| pieces(text).collect::<Vec<_>>();
        assert_eq!(
            split("let x = 12345;\n\n  y"),
            ["let", " x", " =", " ", "123", "45", ";\n\n", " ", " y"]
        );
        assert_eq!(split("we'll it'S o'clock"), ["we", "'ll", " it", "'S", " o", "'clock"]);
        assert_eq!(split("a  \n  b  "), ["a", "  \n", " ", " b", "  "]);
    }
}
