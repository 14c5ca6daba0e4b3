//! Surrogate pairs and lone surrogates in JSON escapes.
//!
//! JSON escapes a character outside the basic plane as two UTF-16 code units (`\ud83d\ude00`). Clients and backends cut
//! strings between the two, which leaves lone surrogates. A Rust string cannot hold a lone surrogate, and most parsers
//! refuse the whole text because of one. A lone surrogate becomes U+FFFD. Surrogates at the end of one piece of a text
//! and the start of the next are joined.

use std::borrow::Cow;

use memchr::{memchr, memmem};

/// The length in bytes of the escape of one code unit, `\uXXXX`.
const ESCAPE: usize = 6;
/// The escape of U+FFFD. It is as long as the escape that it replaces.
const REPLACEMENT: &str = r"\ufffd";

/// Replaces each escape of a lone surrogate by that of U+FFFD. `json` is a JSON text or a part of one.
pub(crate) fn well_formed(json: &str) -> Cow<'_, str> {
    let lone = lone_surrogates(json);
    if lone.is_empty() {
        return Cow::Borrowed(json);
    }
    let mut replaced = json.to_owned();
    for (at, _) in lone {
        replaced.replace_range(at..at + ESCAPE, REPLACEMENT);
    }
    Cow::Owned(replaced)
}

/// Decodes a JSON text that is one string; `None` if it is something else. Lone surrogates become U+FFFD.
pub(crate) fn decode_string(json: &str) -> Option<String> {
    let decoded = serde_json::from_str(json).or_else(|_| serde_json::from_str(&well_formed(json)));
    decoded.ok()
}

/// Whether a text may contain escapes of surrogates, lone or in pairs.
pub(crate) fn may_hold_surrogates(json: &str) -> bool {
    [r"\ud", r"\uD"].iter().any(|prefix| memmem::find(json.as_bytes(), prefix.as_bytes()).is_some())
}

/// The escapes of lone surrogates: byte offset and code unit.
fn lone_surrogates(json: &str) -> Vec<(usize, u16)> {
    let mut lone = Vec::new();
    if !may_hold_surrogates(json) {
        return lone;
    }
    let bytes = json.as_bytes();
    let mut high: Option<(usize, u16)> = None;
    let mut from = 0;
    while let Some(step) = bytes.get(from..).and_then(|rest| memchr(b'\\', rest)) {
        let at = from + step;
        let unit = unit(&bytes[at..]);
        from = at + if unit.is_some() { ESCAPE } else { 2 };
        match (unit, high.take()) {
            (Some(0xdc00..=0xdfff), Some((before, _))) if before + ESCAPE == at => {}
            (Some(low @ 0xdc00..=0xdfff), before) => {
                lone.extend(before);
                lone.push((at, low));
            }
            (Some(first @ 0xd800..=0xdbff), before) => {
                lone.extend(before);
                high = Some((at, first));
            }
            (_, before) => lone.extend(before),
        }
    }
    lone.extend(high);
    lone
}

/// The code unit of the escape at the start of `bytes`; `None` without a complete escape.
fn unit(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.strip_prefix(br"\u")?.get(..4)?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// One piece of a text that arrives in pieces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece<'a> {
    /// A lone low surrogate at the start.
    low: Option<u16>,
    text: Cow<'a, str>,
    /// A lone high surrogate at the end.
    high: Option<u16>,
}

impl<'a> Piece<'a> {
    /// Reads the literal of a JSON string, with its quotes.
    pub(super) fn of_literal(literal: &'a str) -> Piece<'a> {
        let inner = &literal[1..literal.len() - 1];
        let lone = lone_surrogates(inner);
        let low = lone.first().filter(|(at, unit)| *at == 0 && *unit >= 0xdc00);
        let high = lone.last().filter(|(at, unit)| at + ESCAPE == inner.len() && *unit < 0xdc00);
        let start = low.map_or(0, |_| ESCAPE);
        let end = inner.len() - high.map_or(0, |_| ESCAPE);
        let text = match &inner[start..end] {
            plain if memchr(b'\\', plain.as_bytes()).is_none() => Cow::Borrowed(plain),
            escaped => Cow::Owned(decode_string(&format!("\"{escaped}\"")).unwrap_or_else(|| escaped.to_owned())),
        };
        Piece { low: low.map(|(_, unit)| *unit), text, high: high.map(|(_, unit)| *unit) }
    }

    /// Whether the piece has no text and no surrogates.
    pub fn is_empty(&self) -> bool {
        self.low.is_none() && self.text.is_empty() && self.high.is_none()
    }
}

/// A piece without surrogates at its ends.
impl<'a> From<&'a str> for Piece<'a> {
    fn from(text: &'a str) -> Self {
        Piece::from(Cow::Borrowed(text))
    }
}

impl<'a> From<Cow<'a, str>> for Piece<'a> {
    fn from(text: Cow<'a, str>) -> Self {
        Piece { low: None, text, high: None }
    }
}

/// Joins the pieces of one text. A high surrogate at the end of a piece is held until the next piece.
#[derive(Debug, Default)]
pub struct Joiner {
    high: Option<u16>,
}

impl Joiner {
    /// Takes the next piece and returns the text that is complete with it.
    pub fn join<'p>(&mut self, piece: Piece<'p>) -> Cow<'p, str> {
        if piece.is_empty() {
            return piece.text;
        }
        let first = match (self.high.take(), piece.low) {
            (None, None) => None,
            (high, low) => Some(String::from_utf16_lossy(&[high, low].into_iter().flatten().collect::<Vec<_>>())),
        };
        self.high = piece.high;
        match first {
            Some(first) => Cow::Owned(first + &piece.text),
            None => piece.text,
        }
    }

    /// Ends the text. Returns U+FFFD for a held surrogate; `None` if none is held.
    pub fn end(&mut self) -> Option<&'static str> {
        self.high.take().map(|_| "\u{fffd}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_lone_surrogates_are_replaced() {
        for (json, expected) in [
            (r#""a\ud83db""#, r#""a\ufffdb""#),
            (r#""\uD83D""#, r#""\ufffd""#),
            (r#""\ude00\ud83d""#, r#""\ufffd\ufffd""#),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\ud83d \ude00""#, r#""\ufffd \ufffd""#),
            (r#""\ud83d\n\"""#, r#""\ufffd\n\"""#),
            (r#""\\ud83d""#, r#""\\ud83d""#),
            (r#""\\\ud83d""#, r#""\\\ufffd""#),
            (r#"{"\ud83d":"\ud83d\ude00","x":"\u00e9"}"#, r#"{"\ufffd":"\ud83d\ude00","x":"\u00e9"}"#),
            (r"\ud83d\", r"\ufffd\"),
            (r"\ud83", r"\ud83"),
        ] {
            assert_eq!(well_formed(json), expected, "{json}");
        }
    }

    /// Writes each code unit as a character if possible, otherwise as an escape.
    fn literal(units: &[u16]) -> String {
        let mut literal = String::from("\"");
        for unit in units {
            match char::from_u32(u32::from(*unit)) {
                Some(c) if !c.is_control() && c != '"' && c != '\\' => literal.push(c),
                _ => literal.push_str(&format!("\\u{unit:04x}")),
            }
        }
        literal.push('"');
        literal
    }

    proptest! {
        #[test]
        fn strings_decode_like_lossy_utf16(units in proptest::collection::vec(prop_oneof![0xd7fe_u16..0xe002, 0_u16..0x80], 0..12)) {
            prop_assert_eq!(decode_string(&literal(&units)).unwrap(), String::from_utf16_lossy(&units));
        }

        #[test]
        fn joined_pieces_equal_the_uncut_text(units in proptest::collection::vec(prop_oneof![0xd7fe_u16..0xe002, 0_u16..0x80], 0..24), sizes in proptest::collection::vec(0_usize..5, 0..12)) {
            let (mut joiner, mut joined, mut rest) = (Joiner::default(), String::new(), &units[..]);
            for size in sizes.into_iter().chain([units.len()]) {
                let (piece, later) = rest.split_at(size.min(rest.len()));
                rest = later;
                joined.push_str(&joiner.join(Piece::of_literal(&literal(piece))));
            }
            joined.push_str(joiner.end().unwrap_or_default());
            prop_assert_eq!(joined, String::from_utf16_lossy(&units));
        }
    }
}
