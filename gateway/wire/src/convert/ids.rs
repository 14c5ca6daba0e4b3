//! Ids of tool calls with the prefix that each format's clients expect.
//!
//! A wrapped id contains the backend's own id, so no table of ids is kept.

use std::borrow::Cow;
use std::fmt::Write;

/// The mark of a wrapped id, after its prefix.
const MARK: &str = "m_";

/// Wraps an id so that it starts with `prefix`. An id that has the prefix and only plain letters is returned unchanged.
pub(super) fn wrap<'i>(prefix: &str, id: &'i str) -> Cow<'i, str> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let marked = id.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(MARK));
    if id.starts_with(prefix) && !marked && id.bytes().all(plain) {
        return Cow::Borrowed(id);
    }
    let mut wrapped = format!("{prefix}{MARK}");
    for byte in id.bytes() {
        // `_` starts an escape, so that every id can be unwrapped.
        if plain(byte) && byte != b'_' {
            wrapped.push(char::from(byte));
        } else if byte == b'_' {
            wrapped.push_str("__");
        } else {
            write!(wrapped, "_{byte:02x}").ok();
        }
    }
    Cow::Owned(wrapped)
}

/// Reverses [`wrap`]. An id that is not wrapped is returned unchanged.
pub(super) fn unwrap<'i>(prefix: &str, id: impl Into<Cow<'i, str>>) -> Cow<'i, str> {
    let id = id.into();
    let wrapped = id.strip_prefix(prefix).and_then(|rest| rest.strip_prefix(MARK));
    wrapped.and_then(unescape).map_or(id, Cow::Owned)
}

/// Returns an id for a call to which the backend gave no id. It is derived from the id of the `answer`, so the same
/// answer always gets the same ids, and calls of different answers get different ones.
pub(super) fn derived(answer: &str, block: usize) -> String {
    let mut id = String::from("call_");
    if !answer.is_empty() {
        id.push_str(&blake3::hash(answer.as_bytes()).to_hex()[..12]);
        id.push('_');
    }
    write!(id, "{block}").ok();
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
    fn every_wrapped_id_can_be_unwrapped() {
        for id in ["call_abc", "functions.bash:0", "toolu_01", "toolu_m_x", "", "_", "é 1", "chatcmpl-tool-9f_"] {
            for prefix in ["toolu_", "call_"] {
                let wrapped = wrap(prefix, id);
                assert!(wrapped.starts_with(prefix), "{wrapped}");
                assert!(wrapped.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)), "{wrapped}");
                assert_eq!(unwrap(prefix, wrapped), id);
            }
        }
        assert_eq!(wrap("toolu_", "toolu_01"), "toolu_01");
        assert_eq!(unwrap("toolu_", "toolu_01"), "toolu_01");
        assert_eq!(unwrap("toolu_", "toolu_m__zz"), "toolu_m__zz");
    }
}
