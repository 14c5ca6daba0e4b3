//! Decoding of escapes to the end: a server behind the next one may decode once more.

use std::borrow::Cow;

/// Decodes percent escapes until none is left, in one pass. Escapes do not overlap, so their order does not matter.
pub fn decode(bytes: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(b'%', bytes).is_none() {
        return Cow::Borrowed(bytes);
    }
    let mut decoded = Vec::with_capacity(bytes.len());
    for byte in bytes {
        decoded.push(*byte);
        // A decoded byte can be the last digit of an escape that began before.
        while let [before @ .., b'%', high, low] = &*decoded
            && let Some(byte) = hex(*high).zip(hex(*low)).map(|(high, low)| high << 4 | low)
        {
            let length = before.len();
            decoded.truncate(length);
            decoded.push(byte);
        }
    }
    Cow::Owned(decoded)
}

/// Decodes percent escapes and those of other notations (`%u006d`, `\\u006d`, `\\x6d`, `&#109;`, `&#x6d;`) until none is left.
/// Only characters of ASCII are decoded from the latter.
pub(crate) fn unescape(bytes: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr3(b'%', b'\\', b'&', bytes).is_none() {
        return Cow::Borrowed(bytes);
    }
    let mut decoded = Vec::with_capacity(bytes.len());
    for byte in bytes {
        decoded.push(*byte);
        // A decoded byte can be the last character of an escape that began before.
        while let Some((length, byte)) = escape_at_end(&decoded) {
            decoded.truncate(decoded.len() - length);
            decoded.push(byte);
        }
    }
    Cow::Owned(decoded)
}

/// The most digits of a character reference; XML allows zeros before the number.
const MOST_DIGITS: usize = 8;

/// The length and the value of an escape at the end of a text.
fn escape_at_end(bytes: &[u8]) -> Option<(usize, u8)> {
    let number = |digits: &[u8], radix: u32| {
        let is_plain = digits.iter().all(u8::is_ascii_alphanumeric);
        let digits = std::str::from_utf8(digits).ok().filter(|_| is_plain)?;
        u8::from_str_radix(digits, radix).ok()
    };
    let ascii = |digits: &[u8], radix: u32| number(digits, radix).filter(u8::is_ascii);
    match bytes {
        [.., b'%', high, low] => Some((3, number(&[*high, *low], 16)?)),
        [.., b'\\', b'x' | b'X', high, low] => Some((4, ascii(&[*high, *low], 16)?)),
        [.., b'%' | b'\\', b'u' | b'U', a, b, c, d] => Some((6, ascii(&[*a, *b, *c, *d], 16)?)),
        [before @ .., b';'] => {
            let from = before.len().saturating_sub(MOST_DIGITS + 3);
            let at = from + memchr::memmem::rfind(&before[from..], b"&#")?;
            let value = match &before[at + 2..] {
                [b'x' | b'X', digits @ ..] => ascii(digits, 16)?,
                digits => ascii(digits, 10)?,
            };
            Some((bytes.len() - at, value))
        }
        _ => None,
    }
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_other_notations_are_decoded_too() {
        for (text, decoded) in [
            ("plain", "plain"),
            ("%6d", "m"),
            ("%256d", "m"),
            ("%u006d", "m"),
            ("%U006D", "m"),
            ("%25u006d", "m"),
            ("\\u006d", "m"),
            ("%5Cu006d", "m"),
            ("%5c%75006d", "m"),
            ("\\u005cu006d", "m"),
            ("\\x6d", "m"),
            ("&#109;", "m"),
            ("&#0109;", "m"),
            ("&#x6d;", "m"),
            ("&#X00006D;", "m"),
            ("%26%23109%3b", "m"),
            ("&#38;#109;", "m"),
            ("&amp;#109;", "&amp;#109;"),
            ("a&#109;b\\u006d%6d", "ambmm"),
            ("\\u00e9 &#233; &#x20ac; \\x", "\\u00e9 &#233; &#x20ac; \\x"),
            ("a=1&b=2;c", "a=1&b=2;c"),
            ("%+1 \\u+06d", "%+1 \\u+06d"),
        ] {
            let decoded_as = String::from_utf8_lossy(&unescape(text.as_bytes())).into_owned();
            assert_eq!(decoded_as, decoded, "{text}");
        }
        let deep = format!("%{}41", "25".repeat(500_000));
        assert_eq!(unescape(deep.as_bytes()), &b"A"[..], "takes one pass");
    }

    #[test]
    fn escapes_are_decoded_at_every_level() {
        for (text, decoded) in [
            ("plain", "plain"),
            ("%41", "A"),
            ("%2541", "A"),
            ("%25252541", "A"),
            ("%%3441", "D1"),
            ("%4%31", "A"),
            ("%%34%31", "A"),
            ("%25%34%31", "A"),
            ("100%", "100%"),
            ("%zz%4", "%zz%4"),
            ("%6D%6d", "mm"),
        ] {
            assert_eq!(decode(text.as_bytes()), decoded.as_bytes(), "{text}");
        }
        let deep = format!("%{}41", "25".repeat(500_000));
        assert_eq!(decode(deep.as_bytes()), &b"A"[..], "takes one pass");
    }
}
