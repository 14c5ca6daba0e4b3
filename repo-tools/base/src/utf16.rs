//! Texts in UTF-16, which some editors and tools of Windows write.

/// The text of bytes that begin with a byte order mark of UTF-16, without the mark; `None` for other bytes. Units that are no
/// text become U+FFFD.
pub fn utf16(bytes: &[u8]) -> Option<String> {
    let (is_little, units) = match bytes {
        // The mark of UTF-32.
        [0xff, 0xfe, 0, 0, ..] => return None,
        [0xff, 0xfe, rest @ ..] => (true, rest),
        [0xfe, 0xff, rest @ ..] => (false, rest),
        _ => return None,
    };
    let (pairs, odd) = units.as_chunks::<2>();
    let unit = |pair: &[u8; 2]| if is_little { u16::from_le_bytes(*pair) } else { u16::from_be_bytes(*pair) };
    let text = char::decode_utf16(pairs.iter().map(unit));
    let text = text.map(|read| read.unwrap_or(char::REPLACEMENT_CHARACTER));
    Some(text.chain((!odd.is_empty()).then_some(char::REPLACEMENT_CHARACTER)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_orders_are_read_and_nothing_else_is() {
        let text = "fn größe() {} // \u{1F600}\r\n";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(utf16(&[b"\xff\xfe", &little[..]].concat()).as_deref(), Some(text));
        assert_eq!(utf16(&[b"\xfe\xff", &big[..]].concat()).as_deref(), Some(text));
        assert_eq!(utf16(b"\xff\xfe\x00\xd8a\0b").as_deref(), Some("\u{fffd}a\u{fffd}"));
        assert_eq!(utf16(b"\xff\xfe").as_deref(), Some(""));
        for other in [&b""[..], b"\xff", b"abc", b"\xef\xbb\xbfabc", b"\xff\xfe\0\0a\0\0\0", b"a\0b\0"] {
            assert_eq!(utf16(other), None, "{other:?}");
        }
    }
}
