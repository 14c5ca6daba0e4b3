//! JSON as programs really send it, for doors that read a whole value.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use thiserror::Error;

use super::surrogates::well_formed;

/// The reason why bytes are no JSON, even when they are read leniently.
#[derive(Debug, Error)]
#[error("not JSON: {0}")]
pub struct NotJson(#[from] serde_json::Error);

/// Returns one JSON value as well-formed JSON text. A byte order mark and NULs at the end are left out, UTF-16 with a byte order
/// mark is decoded, bytes that are no UTF-8 and escapes of lone surrogates become U+FFFD, and control characters inside strings are
/// escaped.
///
/// # Errors
/// [`NotJson`] if it is no value, or more than one.
pub fn lenient(bytes: &[u8]) -> Result<Cow<'_, str>, NotJson> {
    let mut text = decoded(bytes);
    if let Cow::Owned(paired) = well_formed(&text) {
        text = Cow::Owned(paired);
    }
    let Err(error) = check(&text) else {
        return Ok(text);
    };
    let repaired = escaped(&text);
    if repaired == text {
        return Err(error);
    }
    check(&repaired)?;
    Ok(Cow::Owned(repaired))
}

fn check(text: &str) -> Result<(), NotJson> {
    serde_json::from_str::<IgnoredAny>(text)?;
    Ok(())
}

fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    let units = |rest: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = rest.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        Cow::Owned(String::from_utf16_lossy(&units).trim_end_matches('\0').to_owned())
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => units(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => units(rest, u16::from_be_bytes),
        bytes => {
            let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
            let is_end = |byte: &u8| *byte == 0 || byte.is_ascii_whitespace();
            let end = bytes.iter().rposition(|byte| !is_end(byte)).map_or(0, |last| last + 1);
            String::from_utf8_lossy(&bytes[..end])
        }
    }
}

/// A text whose strings have no control character.
fn escaped(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    let (mut in_string, mut is_escaped) = (false, false);
    for c in text.chars() {
        if in_string && c.is_ascii_control() && c != '\u{7f}' {
            written.push_str(&format!("{}u{:04x}", if is_escaped { "" } else { "\\" }, u32::from(c)));
            is_escaped = false;
            continue;
        }
        match c {
            '"' if !is_escaped => in_string = !in_string,
            '\\' if in_string && !is_escaped => {
                is_escaped = true;
                written.push(c);
                continue;
            }
            _ => {}
        }
        is_escaped = false;
        written.push(c);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(bytes).collect()
    }

    #[test]
    fn what_programs_send_is_repaired() {
        let text = r#"{"a":"b – ü"}"#;
        for (bytes, expected) in [
            (text.as_bytes().to_vec(), text),
            (format!("\u{feff}{text}").into_bytes(), text),
            (utf16(text, u16::to_le_bytes), text),
            (utf16(text, u16::to_be_bytes), text),
            (format!("{text}\0\0").into_bytes(), text),
            (b"{\"a\":\"b\xff\"}".to_vec(), "{\"a\":\"b\u{fffd}\"}"),
            (br#"{"a":"\ud83d b"}"#.to_vec(), r#"{"a":"\ufffd b"}"#),
            (br#"{"a":"\ude00"}"#.to_vec(), r#"{"a":"\ufffd"}"#),
            (br#"{"\ud83d":1}"#.to_vec(), r#"{"\ufffd":1}"#),
            (br#"{"a":"\ud83d\ude00"}"#.to_vec(), r#"{"a":"\ud83d\ude00"}"#),
            (b"{\"a\":\"one\ntwo\tthree\r\"}".to_vec(), r#"{"a":"one\u000atwo\u0009three\u000d"}"#),
            (b"{\"a\":\"one\\\ntwo \\\" \x01\"}".to_vec(), r#"{"a":"one\u000atwo \" \u0001"}"#),
            (b"\r\n [1,\n\t2] \0\r\n".to_vec(), "\r\n [1,\n\t2]"),
        ] {
            assert_eq!(lenient(&bytes).unwrap(), expected, "{bytes:?}");
        }
    }

    #[test]
    fn what_is_no_value_is_refused_with_the_reason() {
        let deep = "[".repeat(5_000);
        for text in ["", " ", "\0", "{bad", "{\"a\":1,}", "{} {}", "hello", "NaN", "{'a':1}", "\"a", "\u{feff}", &deep]
        {
            let error = lenient(text.as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with("not JSON: "), "{text:?}: {error}");
        }
    }
}
