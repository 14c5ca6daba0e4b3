//! Ids of tool calls in the shape that each format's clients expect, made so that the backend's own id can be read back.
//!
//! Nothing is remembered: an id that a client sends back says itself what the backend called it.

use std::borrow::Cow;
use std::fmt::Write;

/// Stands after the prefix of an id that we made out of another one.
const MARK: &str = "m_";

/// `id` as an id with this prefix: itself where it has it already, else made out of it.
pub(super) fn wrap<'i>(prefix: &str, id: &'i str) -> Cow<'i, str> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let marked = id.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(MARK));
    if id.starts_with(prefix) && !marked && id.bytes().all(plain) {
        return Cow::Borrowed(id);
    }
    let mut wrapped = format!("{prefix}{MARK}");
    for byte in id.bytes() {
        // `_` begins an escape, so that every id can be read back.
        if plain(byte) && byte != b'_' {
            wrapped.push(char::from(byte));
        } else if byte == b'_' {
            wrapped.push_str("__");
        } else {
            let _infallible = write!(wrapped, "_{byte:02x}");
        }
    }
    Cow::Owned(wrapped)
}

/// What [`wrap`] was given; an id that it did not make stays as it is.
pub(super) fn unwrap<'i>(prefix: &str, id: &'i str) -> Cow<'i, str> {
    let Some(wrapped) = id.strip_prefix(prefix).and_then(|rest| rest.strip_prefix(MARK)) else {
        return Cow::Borrowed(id);
    };
    unescape(wrapped).map_or(Cow::Borrowed(id), Cow::Owned)
}

/// An id for a call whose backend gave it none of its own: the same whenever the same answer (`answer`, by its own id) is
/// read, and not that of a call in another one.
pub(super) fn made(answer: &str, block: usize) -> String {
    let mut id = String::from("call_");
    if !answer.is_empty() {
        id.push_str(&blake3::hash(answer.as_bytes()).to_hex()[..12]);
        id.push('_');
    }
    let _infallible = write!(id, "{block}");
    id
}

fn unescape(wrapped: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(wrapped.len());
    let mut rest = wrapped.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first != b'_' {
            bytes.push(*first);
            rest = after;
        } else if after.first() == Some(&b'_') {
            bytes.push(b'_');
            rest = &after[1..];
        } else {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_can_be_read_back() {
        for id in [
            "call_abc",
            "functions.bash:0",
            "toolu_01",
            "toolu_m_x",
            "",
            "_",
            "é 1",
            "chatcmpl-tool-9f_",
        ] {
            for prefix in ["toolu_", "call_"] {
                let wrapped = wrap(prefix, id);
                assert!(wrapped.starts_with(prefix), "{wrapped}");
                assert!(
                    wrapped
                        .bytes()
                        .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)),
                    "{wrapped}"
                );
                assert_eq!(unwrap(prefix, &wrapped), id);
            }
        }
        assert_eq!(wrap("toolu_", "toolu_01"), "toolu_01");
        assert_eq!(unwrap("toolu_", "toolu_01"), "toolu_01");
        assert_eq!(unwrap("toolu_", "toolu_m__zz"), "toolu_m__zz");
    }
}
