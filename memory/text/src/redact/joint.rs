//! What can be between the pieces of a divided secret.

use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};

use super::text::line_before;

/// The most blanks, and bytes of a concatenation, between two pieces.
const LONGEST_GAP: usize = 160;
/// The elements that format a part of a line.
const TAGS: &str = "br|wbr|b|i|u|em|strong|code|span|mark|font";

/// What is between two pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Joint {
    /// A line end, a comma, a colour or a tag, and nothing that says that the piece goes on.
    Weak,
    /// A concatenation, a continuation of the line, or invisible characters.
    Strong,
    /// An escaped character.
    Escape(u8),
}

/// Places that may have a joint. Most texts have few: one of the pieces is half a secret or longer.
pub(super) static PLACES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    const PIECE: &str = r"[!\#$%&*+./0-9:=?@A-Z^_a-z~-]";
    let line_end = r"(?:=|\\)?(?:\r?\n|(?:\\r)?\\n)";
    let places = [
        format!(r"{PIECE}{{10}}{line_end}[\ \t>|]*{PIECE}"),
        format!(r"{PIECE}{line_end}[\ \t>|/\#*+-]*{PIECE}{{10}}"),
        format!(r#"{PIECE}\\?["'](?:[\ \t+.,&~\\\r\n]|<>|\\[nrt])*[rbfuL@$]?\\?["']{PIECE}"#),
        r"%[0-9A-Fa-f]{2}|\\u00[0-9A-Fa-f]{2}|\\x[0-9A-Fa-f]{2}|&\#".to_owned(),
        r"\xc2\xad|\xe2\x80[\x8b-\x8f]|\xe2\x81\xa0|\xef\xbb\xbf|&shy;|&ZeroWidth".to_owned(),
        format!(r"{PIECE}(?:\x1b|\\(?:x1[bB]|u001[bB]|033|e))\[[0-9;]*m{PIECE}"),
        format!(r"{PIECE}</?(?:{TAGS})\b[^<>\n]{{0,80}}>"),
    ];
    RegexBuilder::new(&places.join("|")).unicode(false).build().ok()
});

/// Whether a byte can be part of a secret.
pub(super) fn is_of_piece(byte: u8) -> bool {
    byte.is_ascii_graphic()
        && !matches!(
            byte,
            b'"' | b'\'' | b'`' | b'\\' | b'<' | b'>' | b'(' | b')' | b'{' | b'}' | b'[' | b']' | b',' | b';' | b'|'
        )
}

/// The bytes at which a joint can begin.
pub(super) static BEGINS_JOINT: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = matches!(
            byte as u8,
            b'\n' | b'\r' | b'\\' | b'"' | b'\'' | b'%' | b'&' | b'=' | b'<' | 0x1b | 0xc2 | 0xe2 | 0xef
        );
        byte += 1;
    }
    table
};

/// The joint at `at`, and the place behind it, where the next piece begins.
pub(super) fn joint(text: &str, at: usize) -> Option<(Joint, usize)> {
    let rest = &text.as_bytes()[at..];
    let strong = |length| (Joint::Strong, length);
    let weak = |length| (Joint::Weak, length);
    let found = match rest.first()? {
        b'%' => escape(rest),
        b'&' => escape(rest).or_else(|| invisible_reference(rest).map(strong)),
        b'"' | b'\'' => concatenation(rest),
        // The soft line break of quoted-printable text.
        b'=' => line_end(&rest[1..]).map(|length| strong(1 + length)),
        b'\\' => escape(rest)
            .or_else(|| colour(rest).map(weak))
            .or_else(|| continuation(rest).map(strong))
            .or_else(|| concatenation(rest))
            .or_else(|| line_end(rest).map(|end| weak(end + indentation(&rest[end..])))),
        b'\n' | b'\r' => line_end(rest).map(|length| weak(length + decoration(text, at, length))),
        b'<' => tags(rest).map(weak),
        0x1b => colour(rest).map(weak),
        _ => invisible(rest).map(strong),
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
    let rest = rest.strip_prefix(b"\\").filter(|after| line_end(after).is_some()).unwrap_or(rest);
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
    rest.iter().take(LONGEST_GAP).take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// The indentation of a line, or the signs that its predecessor begins with, too: `> `, `// `, `+`, or the number of the line.
fn decoration(text: &str, at: usize, line_end: usize) -> usize {
    let before = line_before(text, at).as_bytes();
    let next = &text.as_bytes()[at + line_end..];
    if let (Some((number, _)), Some((following, length))) = (line_number(before), line_number(next))
        && number.checked_add(1) == Some(following)
    {
        return length;
    }
    let signs = before.iter().take_while(|byte| !byte.is_ascii_alphanumeric() && !matches!(byte, b'"' | b'\'')).count();
    if signs > 0 && next.starts_with(&before[..signs]) {
        return signs;
    }
    // A quote, a comment, an added line or a row of a table that begins here.
    let signs =
        next.iter().take(3).take_while(|byte| matches!(byte, b'>' | b'#' | b'/' | b'|' | b'*' | b'+' | b'-')).count();
    match indentation(&next[signs..]) {
        0 => 0,
        blanks => signs + blanks,
    }
}

/// The number that a line of a listing begins with, and the length up to the text of the line.
fn line_number(line: &[u8]) -> Option<(u32, usize)> {
    let start = indentation(line);
    let digits = line[start..].iter().take(7).take_while(|byte| byte.is_ascii_digit()).count();
    let number = std::str::from_utf8(&line[start..start + digits]).ok()?.parse().ok()?;
    // Also the arrow of a client's listing.
    let after = &line[start + digits..];
    let (sign, after) = match after {
        [b':' | b'|' | b'.' | b')', after @ ..] => (1, after),
        [0xe2, 0x86, 0x92, after @ ..] => (3, after),
        _ => (0, after),
    };
    let blanks = indentation(after);
    let sign_behind = usize::from(sign == 0 && blanks > 0 && after.get(blanks) == Some(&b'|'));
    let gap = sign + blanks + sign_behind;
    let gap = gap + indentation(&after[blanks + sign_behind..]);
    (gap > 0).then_some((number, start + digits + gap))
}

/// The end of a string and the beginning of the next one: `" + "`, `' \` and a line end, `".."`. A comma between them
/// makes a list.
fn concatenation(rest: &[u8]) -> Option<(Joint, usize)> {
    let near = &rest[..rest.len().min(LONGEST_GAP)];
    let quote = |at: usize| match near.get(at..)? {
        [b'"' | b'\'', ..] => Some(at + 1),
        [b'\\', b'"' | b'\'', ..] => Some(at + 2),
        _ => None,
    };
    let mut at = quote(0)?;
    let mut joint = Joint::Strong;
    loop {
        // A letter can be the prefix of the next string.
        let after = match near.get(at)? {
            b'r' | b'b' | b'f' | b'u' | b'L' | b'@' | b'$' => quote(at + 1),
            _ => quote(at),
        };
        if let Some(end) = after {
            return Some((joint, end));
        }
        at += match &near[at..] {
            [b',', ..] if joint == Joint::Strong => {
                joint = Joint::Weak;
                1
            }
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
fn escape(rest: &[u8]) -> Option<(Joint, usize)> {
    let hex = |digits: &[u8]| {
        let digits =
            std::str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
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
    is_of_piece(byte).then_some((Joint::Escape(byte), length))
}

/// Characters without a width: soft hyphens, zero-width spaces and joiners, byte order marks.
fn invisible(rest: &[u8]) -> Option<usize> {
    match rest {
        [0xc2, 0xad, ..] => Some(2),
        [0xe2, 0x80, 0x8b..=0x8f, ..] | [0xe2, 0x81, 0xa0, ..] | [0xef, 0xbb, 0xbf, ..] => Some(3),
        _ => None,
    }
}

/// References to characters without a width.
fn invisible_reference(rest: &[u8]) -> Option<usize> {
    const REFERENCES: [&[u8]; 8] =
        [b"&shy;", b"&#173;", b"&#xad;", b"&zerowidthspace;", b"&#8203;", b"&#x200b;", b"&#8288;", b"&#x2060;"];
    let is =
        |reference: &&&[u8]| rest.get(..reference.len()).is_some_and(|start| start.eq_ignore_ascii_case(reference));
    REFERENCES.iter().find(is).map(|reference| reference.len())
}

/// The codes that colour a terminal, also escaped.
fn colour(rest: &[u8]) -> Option<usize> {
    const ESCAPES: [&[u8]; 7] = [b"\x1b", b"\\x1b", b"\\x1B", b"\\u001b", b"\\u001B", b"\\033", b"\\e"];
    let mut end = 0;
    while let Some(start) = ESCAPES.iter().find(|escape| rest[end..].starts_with(escape)) {
        let code = rest[end + start.len()..].strip_prefix(b"[")?;
        let digits = code.iter().take(16).take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
        if code.get(digits) != Some(&b'm') {
            break;
        }
        end += start.len() + digits + 2;
        if end > LONGEST_GAP {
            break;
        }
    }
    (end > 0).then_some(end)
}

/// Tags that format a part of a line, and a line end behind them.
fn tags(rest: &[u8]) -> Option<usize> {
    let mut end = 0;
    while let Some(tag) = rest[end..].strip_prefix(b"<").filter(|_| end < LONGEST_GAP) {
        let slash = usize::from(tag.starts_with(b"/"));
        let letters = tag[slash..].iter().take(7).take_while(|byte| byte.is_ascii_alphabetic()).count();
        let name = &tag[slash..slash + letters];
        if !TAGS.split('|').any(|known| known.as_bytes().eq_ignore_ascii_case(name)) {
            break;
        }
        let near = &tag[..tag.len().min(LONGEST_GAP)];
        let Some(close) = near.iter().position(|byte| matches!(byte, b'>' | b'<' | b'\n')) else {
            break;
        };
        if near[close] != b'>' {
            break;
        }
        end += close + 2;
    }
    let after = line_end(&rest[end..]).map_or(0, |length| length + indentation(&rest[end + length..]));
    (end > 0).then_some(end + after)
}
