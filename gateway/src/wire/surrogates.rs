//! Surrogate pairs in JSON escapes, and what becomes of half a pair.
//!
//! JSON escapes a character outside the basic plane as two UTF-16 units (`\ud83d\ude00`). Clients and backends cut
//! strings between the two, so either half can stand alone. No Rust string can hold a half, and most parsers refuse the
//! whole text over it. A half alone becomes U+FFFD; halves at the ends of two successive pieces of one text are joined.

use std::borrow::Cow;

use memchr::{memchr, memmem};

/// The length of an escape of one UTF-16 unit, `\uXXXX`.
const ESCAPE: usize = 6;
/// The escape of U+FFFD, as long as the one that it replaces.
const REPLACEMENT: &str = r"\ufffd";

/// Replaces each escape of half a pair by that of U+FFFD. `json` is any JSON text, or part of one.
#[must_use]
pub(crate) fn well_formed(json: &str) -> Cow<'_, str> {
    let lone = lone_halves(json);
    if lone.is_empty() {
        return Cow::Borrowed(json);
    }
    let mut mended = json.to_owned();
    for (at, _) in lone {
        mended.replace_range(at..at + ESCAPE, REPLACEMENT);
    }
    Cow::Owned(mended)
}

/// Decodes a JSON text that is one string, `None` where it is something else. Half a pair becomes U+FFFD.
#[must_use]
pub(crate) fn decode_string(json: &str) -> Option<String> {
    let decoded = serde_json::from_str(json).or_else(|_| serde_json::from_str(&well_formed(json)));
    decoded.ok()
}

/// Whether a text may hold escapes of halves, which whole pairs look like too.
#[must_use]
pub(crate) fn may_hold_halves(json: &str) -> bool {
    [r"\ud", r"\uD"]
        .iter()
        .any(|half| memmem::find(json.as_bytes(), half.as_bytes()).is_some())
}

/// Where each escape of half a pair stands that has no other half, and its unit.
fn lone_halves(json: &str) -> Vec<(usize, u16)> {
    let mut lone = Vec::new();
    if !may_hold_halves(json) {
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

/// The unit that an escape at the beginning of `bytes` stands for, `None` where there is no complete one.
fn unit(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.strip_prefix(br"\u")?.get(..4)?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// One piece of a text that comes in pieces, with the halves of pairs that it may begin and end with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece<'a> {
    low: Option<u16>,
    text: Cow<'a, str>,
    high: Option<u16>,
}

impl<'a> Piece<'a> {
    /// Reads the literal of a JSON string.
    pub(super) fn of_literal(literal: &'a str) -> Piece<'a> {
        let inner = &literal[1..literal.len() - 1];
        let lone = lone_halves(inner);
        let low = lone.first().filter(|(at, unit)| *at == 0 && *unit >= 0xdc00);
        let high = lone
            .last()
            .filter(|(at, unit)| at + ESCAPE == inner.len() && *unit < 0xdc00);
        let start = low.map_or(0, |_| ESCAPE);
        let end = inner.len() - high.map_or(0, |_| ESCAPE);
        let text = match &inner[start..end] {
            plain if memchr(b'\\', plain.as_bytes()).is_none() => Cow::Borrowed(plain),
            escaped => Cow::Owned(decode_string(&format!("\"{escaped}\"")).unwrap_or_else(|| escaped.to_owned())),
        };
        Piece {
            low: low.map(|(_, unit)| *unit),
            text,
            high: high.map(|(_, unit)| *unit),
        }
    }

    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.low.is_none() && self.text.is_empty() && self.high.is_none()
    }
}

/// A piece without halves.
impl<'a> From<&'a str> for Piece<'a> {
    fn from(text: &'a str) -> Self {
        Piece::from(Cow::Borrowed(text))
    }
}

impl<'a> From<Cow<'a, str>> for Piece<'a> {
    fn from(text: Cow<'a, str>) -> Self {
        Piece {
            low: None,
            text,
            high: None,
        }
    }
}

/// Joins the pieces of one text. Half a pair at the end of a piece waits for the next one.
#[derive(Debug, Default)]
pub struct Joiner {
    high: Option<u16>,
}

impl Joiner {
    /// Takes the next piece and returns what can be given out with it.
    pub fn join<'p>(&mut self, piece: Piece<'p>) -> Cow<'p, str> {
        if piece.is_empty() {
            return piece.text;
        }
        let first = match (self.high.take(), piece.low) {
            (None, None) => None,
            (high, low) => Some(String::from_utf16_lossy(
                &[high, low].into_iter().flatten().collect::<Vec<_>>(),
            )),
        };
        self.high = piece.high;
        match first {
            Some(first) => Cow::Owned(first + &piece.text),
            None => piece.text,
        }
    }

    /// What a half that nothing followed becomes; `None` where there is none.
    pub fn end(&mut self) -> Option<&'static str> {
        self.high.take().map(|_| "\u{fffd}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lone_halves_are_replaced_and_nothing_else() {
        for (json, expected) in [
            (r#""a\ud83db""#, r#""a\ufffdb""#),
            (r#""\uD83D""#, r#""\ufffd""#),
            (r#""\ude00\ud83d""#, r#""\ufffd\ufffd""#),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\ud83d \ude00""#, r#""\ufffd \ufffd""#),
            (r#""\ud83d\n\"""#, r#""\ufffd\n\"""#),
            (r#""\\ud83d""#, r#""\\ud83d""#),
            (r#""\\\ud83d""#, r#""\\\ufffd""#),
            (
                r#"{"\ud83d":"\ud83d\ude00","x":"\u00e9"}"#,
                r#"{"\ufffd":"\ud83d\ude00","x":"\u00e9"}"#,
            ),
            (r"\ud83d\", r"\ufffd\"),
            (r"\ud83", r"\ud83"),
        ] {
            assert_eq!(well_formed(json), expected, "{json}");
        }
    }

    /// Writes each unit as an escape, or as itself where it can be.
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
        fn a_string_decodes_as_utf16_does(units in proptest::collection::vec(prop_oneof![0xd7fe_u16..0xe002, 0_u16..0x80], 0..12)) {
            prop_assert_eq!(decode_string(&literal(&units)).unwrap(), String::from_utf16_lossy(&units));
        }

        #[test]
        fn joined_pieces_are_the_uncut_text(units in proptest::collection::vec(prop_oneof![0xd7fe_u16..0xe002, 0_u16..0x80], 0..24), sizes in proptest::collection::vec(0_usize..5, 0..12)) {
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
