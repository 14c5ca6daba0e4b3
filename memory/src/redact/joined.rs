//! Finds secrets that a line end, a concatenation of strings or an escape divides.
//!
//! ```text
//! ghp_0123456789abcdef\        "sk-ant-api03-" +        muninn%2D0123...
//! 0123456789abcdef0123         "0123456789abcdef"
//! ```
//!
//! The pieces around such a *joint* are joined into a short text with the beginning of their line, and the rules read that.
//! Only secrets over a joint count; the others are found without it. Lines that merely follow each other are joined, too,
//! so a bare line end is not enough where the first piece is a secret by itself, or where only a name makes it one.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};

use super::text::line_before;
use super::value::is_random;
use super::{Scanner, Secret};

/// The shortest text of pieces that can be a secret, and the longest that is joined, in bytes.
const SHORTEST: usize = 20;
const LONGEST: usize = 4 << 10;
/// The longest first piece, in bytes.
const LONGEST_PIECE: usize = 300;
/// The shortest piece that continues a secret which is one without it.
const LEAST_CONTINUATION: usize = 6;
/// The most blanks, and bytes of a concatenation, between two pieces.
const LONGEST_GAP: usize = 160;

/// What is between two pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Joint {
    /// A line end, and nothing that says that the line goes on.
    LineEnd,
    /// A concatenation, a continuation of the line, or invisible characters.
    Explicit,
    /// An escaped character.
    Escape(u8),
}

/// The joined pieces.
#[derive(Default)]
struct Joined {
    text: String,
    /// The place of each byte in the original text.
    origin: Vec<Range<usize>>,
    /// The joints, by the place in `text` of the byte behind them; escapes by their own.
    joints: Vec<(usize, Joint)>,
}

impl Joined {
    fn push(&mut self, text: &str, piece: Range<usize>) {
        self.text.push_str(&text[piece.clone()]);
        self.origin.extend(piece.map(|at| at..at + 1));
    }
}

/// Places that may have a joint. Most texts have few: one of the pieces is half a secret or longer.
static PLACES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    const PIECE: &str = r"[!\#$%&*+./0-9:=?@A-Z^_a-z~-]";
    let line_end = r"(?:=|\\)?(?:\r?\n|(?:\\r)?\\n)";
    let places = [
        format!(r"{PIECE}{{10}}{line_end}[\ \t>|]*{PIECE}"),
        format!(r"{PIECE}{line_end}[\ \t>|/\#*+-]*{PIECE}{{10}}"),
        format!(r#"{PIECE}\\?["'](?:[\ \t+.&~\\\r\n]|<>|\\[nrt])*[rbfuL@$]?\\?["']{PIECE}"#),
        r"%[0-9A-Fa-f]{2}|\\u00[0-9A-Fa-f]{2}|\\x[0-9A-Fa-f]{2}|&\#".to_owned(),
        r"\xc2\xad|\xe2\x80[\x8b-\x8f]|\xe2\x81\xa0|\xef\xbb\xbf".to_owned(),
    ];
    RegexBuilder::new(&places.join("|")).unicode(false).build().ok()
});

/// The secrets over joints, each with the rank of its rule.
pub(super) fn scan(scanner: &Scanner, text: &str) -> Vec<(usize, Secret)> {
    let Some(places) = PLACES.as_ref() else {
        return Vec::new();
    };
    let (mut found, mut done) = (Vec::new(), 0);
    let mut from = 0;
    while let Some(place) = places.find_at(text.as_bytes(), from) {
        let mut at = place.start().max(done);
        while at < place.end() {
            let Some((joint, end)) = BEGINS_JOINT[usize::from(text.as_bytes()[at])]
                .then(|| joint(text, at))
                .flatten()
            else {
                at += 1;
                continue;
            };
            let before = text.as_bytes()[done..at].iter().rev().take(LONGEST_PIECE);
            let start = at - before.take_while(|byte| is_of_piece(**byte)).count();
            if start == at && !matches!(joint, Joint::Escape(_)) {
                at = end;
                continue;
            }
            let (joined, after) = join(text, start, (at, joint, end));
            let content = &joined.text[joined.text.len().min(line_before(text, start).len())..];
            if content.len() >= SHORTEST && is_mixed(content) {
                found.extend(over_joints(scanner, &joined));
            }
            (at, done) = (after, after);
        }
        // The last byte can begin the next place.
        from = done.max(place.end() - 1);
    }
    found
}

/// Whether a text has digits or many capitals, as tokens have and joined words have not.
fn is_mixed(text: &str) -> bool {
    let capitals = text.bytes().filter(u8::is_ascii_uppercase);
    text.bytes().any(|byte| byte.is_ascii_digit()) || capitals.count() > 5
}

/// Joins the pieces from `start` on, whose first joint is given. Returns them, and the place behind the last one.
fn join(text: &str, start: usize, first: (usize, Joint, usize)) -> (Joined, usize) {
    let bytes = text.as_bytes();
    let mut joined = Joined::default();
    let before = line_before(text, start).len();
    joined.push(text, start - before..start);
    let (mut from, mut next) = (start, Some(first));
    while let Some((at, joint, end)) = next {
        joined.push(text, from..at);
        joined.joints.push((joined.text.len(), joint));
        if let Joint::Escape(byte) = joint {
            joined.text.push(char::from(byte));
            joined.origin.push(at..end);
        }
        from = end;
        let at = piece_end(text, end);
        next = (joined.text.len() + (at - end) < LONGEST)
            .then(|| self::joint(text, at))
            .flatten()
            .map(|(joint, end)| (at, joint, end));
        if next.is_none() {
            // With the quote that ends a string.
            let quote = bytes[at..]
                .iter()
                .take(2)
                .take_while(|byte| matches!(byte, b'"' | b'\'' | b'\\'))
                .count();
            joined.push(text, from..at + quote);
            from = at;
        }
    }
    (joined, from)
}

/// The end of a piece: the next joint, or a byte that is in no secret.
fn piece_end(text: &str, from: usize) -> usize {
    let bytes = text.as_bytes();
    let is_end = |at: &usize| {
        let byte = bytes[*at];
        !is_of_piece(byte) || (BEGINS_JOINT[usize::from(byte)] && joint(text, *at).is_some())
    };
    (from..bytes.len().min(from + LONGEST))
        .find(is_end)
        .unwrap_or_else(|| bytes.len().min(from + LONGEST))
}

/// The secrets that are divided by a joint, at their places in the original text.
fn over_joints(scanner: &Scanner, joined: &Joined) -> Vec<(usize, Secret)> {
    let by_name = scanner.rules.len();
    let mut found = scanner.scan_whole(&joined.text);
    found.retain_mut(|(rank, secret)| {
        let range = secret.range.clone();
        let inside = |(at, joint): &&(usize, Joint)| match joint {
            Joint::Escape(_) => range.contains(at),
            Joint::LineEnd | Joint::Explicit => range.start < *at && *at < range.end,
        };
        let mut joints = joined.joints.iter().filter(inside).peekable();
        let is_divided = joints.peek().is_some();
        let line_end = joints.find(|(_, joint)| *joint == Joint::LineEnd);
        let is_one = match line_end {
            None => is_divided,
            Some(_) if *rank == by_name => false,
            Some((at, _)) => continues(scanner, joined, &range, *at),
        };
        secret.range = joined.origin[range.start].start..joined.origin[range.end - 1].end;
        is_one
    });
    found
}

/// Whether a secret goes on behind the line end at `at`: it is none without the rest, or the rest looks random.
fn continues(scanner: &Scanner, joined: &Joined, range: &Range<usize>, at: usize) -> bool {
    let mut whole = scanner.scan_whole(&joined.text[..at]).into_iter();
    let is_whole = whole.any(|(_, secret)| secret.range.end > range.start);
    let rest = &joined.text[at..range.end];
    !is_whole || (rest.len() >= LEAST_CONTINUATION && is_random(rest))
}

/// Whether a byte can be part of a secret.
fn is_of_piece(byte: u8) -> bool {
    byte.is_ascii_graphic()
        && !matches!(
            byte,
            b'"' | b'\'' | b'`' | b'\\' | b'<' | b'>' | b'(' | b')' | b'{' | b'}' | b'[' | b']' | b',' | b';' | b'|'
        )
}

/// The bytes at which a joint can begin.
static BEGINS_JOINT: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = matches!(
            byte as u8,
            b'\n' | b'\r' | b'\\' | b'"' | b'\'' | b'%' | b'&' | b'=' | 0xc2 | 0xe2 | 0xef
        );
        byte += 1;
    }
    table
};

/// The joint at `at`, and the place behind it, where the next piece begins.
fn joint(text: &str, at: usize) -> Option<(Joint, usize)> {
    let rest = &text.as_bytes()[at..];
    let found = match rest.first()? {
        b'%' | b'&' => escape(rest).map(|(byte, length)| (Joint::Escape(byte), length)),
        b'"' | b'\'' => concatenation(rest).map(|length| (Joint::Explicit, length)),
        // The soft line break of quoted-printable text.
        b'=' => line_end(&rest[1..]).map(|length| (Joint::Explicit, 1 + length)),
        b'\\' => match escape(rest) {
            Some((byte, length)) => Some((Joint::Escape(byte), length)),
            None => continuation(rest)
                .or_else(|| concatenation(rest))
                .map(|length| (Joint::Explicit, length))
                .or_else(|| Some((Joint::LineEnd, line_end(rest)? + indentation(&rest[line_end(rest)?..])))),
        },
        b'\n' | b'\r' => line_end(rest).map(|length| (Joint::LineEnd, length + decoration(text, at, length))),
        _ => invisible(rest).map(|length| (Joint::Explicit, length)),
    };
    let (joint, length) = found?;
    let end = at + length;
    let goes_on = matches!(joint, Joint::Escape(_)) || text.as_bytes().get(end).is_some_and(|byte| is_of_piece(*byte));
    goes_on.then_some((joint, end))
}

/// A line end, also an escaped one.
fn line_end(rest: &[u8]) -> Option<usize> {
    match rest {
        [b'\r', b'\n', ..] => Some(2),
        [b'\n', ..] => Some(1),
        [b'\\', b'r', b'\\', b'n', ..] => Some(4),
        [b'\\', b'n', ..] => Some(2),
        _ => None,
    }
}

/// A backslash that continues a line, with the indentation of the next one.
fn continuation(rest: &[u8]) -> Option<usize> {
    let rest = rest.strip_prefix(b"\\")?;
    let rest = rest
        .strip_prefix(b"\\")
        .filter(|after| line_end(after).is_some())
        .unwrap_or(rest);
    match rest {
        [b'\n' | b'\r', ..] | [b'\\', ..] => {
            let end = line_end(rest)?;
            let slashes = 1;
            Some(slashes + end + indentation(&rest[end..]))
        }
        _ => None,
    }
}

fn indentation(rest: &[u8]) -> usize {
    rest.iter()
        .take(LONGEST_GAP)
        .take_while(|byte| matches!(byte, b' ' | b'\t'))
        .count()
}

/// The indentation of a line, or the signs that its predecessor begins with, too: `> `, `// `, `+`.
fn decoration(text: &str, at: usize, line_end: usize) -> usize {
    let before = line_before(text, at);
    let signs = before
        .bytes()
        .take_while(|byte| !byte.is_ascii_alphanumeric() && !matches!(byte, b'"' | b'\''))
        .count();
    let next = &text.as_bytes()[at + line_end..];
    match signs > 0 && next.starts_with(&before.as_bytes()[..signs]) {
        true => signs,
        false => indentation(next),
    }
}

/// The end of a string and the beginning of the next one: `" + "`, `' \` and a line end, `".."`.
fn concatenation(rest: &[u8]) -> Option<usize> {
    let near = &rest[..rest.len().min(LONGEST_GAP)];
    let quote = |at: usize| match near.get(at..)? {
        [b'"' | b'\'', ..] => Some(at + 1),
        [b'\\', b'"' | b'\'', ..] => Some(at + 2),
        _ => None,
    };
    let mut at = quote(0)?;
    loop {
        // A letter can be the prefix of the next string.
        let after = match near.get(at)? {
            b'r' | b'b' | b'f' | b'u' | b'L' | b'@' | b'$' => quote(at + 1),
            _ => quote(at),
        };
        if let Some(end) = after {
            return Some(end);
        }
        at += match &near[at..] {
            [b' ' | b'\t' | b'+' | b'.' | b'&' | b'~' | b'\\' | b'\n' | b'\r', ..] => 1,
            [b'<', b'>', ..] => 2,
            rest => line_end(rest)?,
        };
        // Behind the backslash of an escaped line end or tab.
        if near[at - 1] == b'\\' && matches!(near.get(at), Some(b'n' | b'r' | b't')) {
            at += 1;
        }
    }
}

/// An escaped character of ASCII: `%2D`, `%252D`, `\u002d`, `\x2d`, `&#45;`, `&#x2d;`.
fn escape(rest: &[u8]) -> Option<(u8, usize)> {
    let hex = |digits: &[u8]| {
        let digits = std::str::from_utf8(digits)
            .ok()
            .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        u8::from_str_radix(digits, 16).ok()
    };
    let numbered = |digits: &[u8], radix: u32| {
        let end = digits.iter().take(5).position(|byte| *byte == b';')?;
        let number = std::str::from_utf8(&digits[..end]).ok()?;
        Some((u8::from_str_radix(number, radix).ok()?, end + 1))
    };
    let (byte, length) = match rest {
        [b'%', b'2', b'5', a, b, ..] if hex(&[*a, *b]).is_some() => (hex(&[*a, *b])?, 5),
        [b'%', a, b, ..] => (hex(&[*a, *b])?, 3),
        [b'\\', b'u', b'0', b'0', a, b, ..] => (hex(&[*a, *b])?, 6),
        [b'\\', b'x', a, b, ..] => (hex(&[*a, *b])?, 4),
        [b'&', b'#', b'x' | b'X', digits @ ..] => numbered(digits, 16).map(|(byte, length)| (byte, 3 + length))?,
        [b'&', b'#', digits @ ..] => numbered(digits, 10).map(|(byte, length)| (byte, 2 + length))?,
        _ => return None,
    };
    is_of_piece(byte).then_some((byte, length))
}

/// Characters without a width: soft hyphens, zero-width spaces and joiners, byte order marks.
fn invisible(rest: &[u8]) -> Option<usize> {
    match rest {
        [0xc2, 0xad, ..] => Some(2),
        [0xe2, 0x80, 0x8b..=0x8f, ..] | [0xe2, 0x81, 0xa0, ..] | [0xef, 0xbb, 0xbf, ..] => Some(3),
        _ => None,
    }
}
