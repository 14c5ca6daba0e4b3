//! Percent-decoding to the end: a server behind the next one may decode once more.

use std::borrow::Cow;

/// Decodes percent escapes until none is left, in one pass. Escapes do not overlap, so their order does not matter.
pub(crate) fn decode(bytes: &[u8]) -> Cow<'_, [u8]> {
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

fn hex(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

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
