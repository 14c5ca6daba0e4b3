//! JSON strings that are copied from one request to another without decoding.

use std::borrow::Cow;
use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::Text;
use crate::surrogates::may_hold_surrogates;

/// A JSON string, either as its literal or decoded.
///
/// Most of a request is code in results of tools, full of escapes. A conversion does not need the decoded text: copying
/// a literal is cheap, where decoding and encoding it would cost more than the rest of the conversion.
#[derive(Clone)]
pub enum JsonStr<'a> {
    /// A string literal of the client's body that every JSON parser can decode.
    Literal(&'a RawValue),
    /// Decoded text of the client's body, or Muninn's own text.
    Decoded(Cow<'a, str>),
}

impl<'a> JsonStr<'a> {
    /// Reads a value of the client's body. Returns `None` if it is not a string.
    ///
    /// A literal that may hold half of a surrogate pair is decoded, because most backends refuse a request with one.
    /// The check cannot tell halves from whole pairs, so literals with whole pairs are decoded too.
    pub fn of(raw: &'a RawValue) -> Option<JsonStr<'a>> {
        let text = Text::of(raw.get())?;
        Some(if may_hold_surrogates(raw.get()) { JsonStr::Decoded(text.decode()) } else { JsonStr::Literal(raw) })
    }

    /// Returns the decoded text.
    pub fn decode(&self) -> Cow<'_, str> {
        match self {
            JsonStr::Literal(raw) => Text::of(raw.get()).map(Text::decode).unwrap_or_default(),
            JsonStr::Decoded(text) => Cow::Borrowed(text),
        }
    }

    /// Returns the same string, borrowed.
    pub fn borrowed(&self) -> JsonStr<'_> {
        match self {
            JsonStr::Literal(raw) => JsonStr::Literal(raw),
            JsonStr::Decoded(text) => JsonStr::Decoded(Cow::Borrowed(text)),
        }
    }

    /// Whether the text is empty.
    pub fn is_empty(&self) -> bool {
        match self {
            JsonStr::Literal(raw) => raw.get() == "\"\"",
            JsonStr::Decoded(text) => text.is_empty(),
        }
    }

    /// Whether the text is only white space.
    pub fn is_blank(&self) -> bool {
        let is_visible = |byte: &u8| byte.is_ascii_graphic() && *byte != b'\\';
        match self {
            JsonStr::Literal(raw) if raw.get().as_bytes().get(1).is_some_and(is_visible) && !self.is_empty() => false,
            text => text.decode().trim().is_empty(),
        }
    }

    /// Whether the text starts with `start`.
    pub fn starts_with(&self, start: &str) -> bool {
        match self {
            JsonStr::Literal(raw) => {
                let begins = &raw.get().as_bytes()[1..];
                let begins = &begins[..begins.len().min(start.len())];
                begins == start.as_bytes() || begins.contains(&b'\\') && self.decode().starts_with(start)
            }
            JsonStr::Decoded(text) => text.starts_with(start),
        }
    }

    /// Returns the text without white space at its end.
    pub fn trim_end(&self) -> JsonStr<'_> {
        let raw = match self {
            JsonStr::Literal(raw) => raw,
            JsonStr::Decoded(text) => return text.trim_end().into(),
        };
        let inner = &raw.get().as_bytes()[1..raw.get().len() - 1];
        // No escape is longer than this. Without a backslash in it, the last character is not part of an escape.
        let end = &inner[inner.len().saturating_sub("\\u0020".len())..];
        if end.last().is_some_and(u8::is_ascii_graphic) && !end.contains(&b'\\') {
            return JsonStr::Literal(raw);
        }
        self.decode().trim_end().to_owned().into()
    }

    /// Joins several texts with a blank line between them.
    pub fn joined(mut texts: Vec<JsonStr<'a>>) -> JsonStr<'a> {
        match texts.pop() {
            Some(only) if texts.is_empty() => only,
            Some(last) => {
                texts.push(last);
                let decoded: Vec<_> = texts.iter().map(JsonStr::decode).collect();
                decoded.join("\n\n").into()
            }
            None => JsonStr::Decoded(Cow::Borrowed("")),
        }
    }
}

/// Formats the decoded text, for both variants.
impl fmt::Debug for JsonStr<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.decode().fmt(formatter)
    }
}

impl Serialize for JsonStr<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            JsonStr::Literal(raw) => raw.serialize(serializer),
            JsonStr::Decoded(text) => serializer.serialize_str(text),
        }
    }
}

impl<'a> From<&'a str> for JsonStr<'a> {
    fn from(text: &'a str) -> Self {
        JsonStr::Decoded(Cow::Borrowed(text))
    }
}

impl From<String> for JsonStr<'_> {
    fn from(text: String) -> Self {
        JsonStr::Decoded(Cow::Owned(text))
    }
}

impl<'a> From<Cow<'a, str>> for JsonStr<'a> {
    fn from(text: Cow<'a, str>) -> Self {
        JsonStr::Decoded(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literal_behaves_like_its_decoded_text() {
        for literal in [
            r#""""#, r#"" ""#, r#""a""#, r#""a ""#, r#""a\n""#, r#""\n""#, r#""\\n""#, r#""a\\n""#,
            r#""\u0020a\u0020""#, r#""a\u00200020""#, r#""\u00a0""#, "\"\u{3000}\"", "\"a\u{3000}\"", r#""\t\r\n x""#,
            r#""é""#, r#""\ud83d\ude00 ""#, r#""\ud800""#, r#""say \"x\"""#,
        ] {
            let raw: &RawValue = serde_json::from_str(literal).unwrap();
            let string = JsonStr::of(raw).unwrap();
            let text = Text::of(literal).unwrap().decode();
            assert_eq!(string.decode(), text, "{literal}");
            assert_eq!(string.is_empty(), text.is_empty(), "{literal}");
            assert_eq!(string.is_blank(), text.trim().is_empty(), "{literal}");
            assert_eq!(string.trim_end().decode(), text.trim_end(), "{literal}");
            for start in ["", "a", " a", "say \"", "a\n", "\u{a0}", "longer than all"] {
                assert_eq!(string.starts_with(start), text.starts_with(start), "{literal} {start}");
            }
            let written = serde_json::to_string(&string).unwrap();
            assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text, "{literal}");
            let joined = JsonStr::joined(vec![string.clone(), string.borrowed()]);
            assert_eq!(joined.decode(), format!("{text}\n\n{text}"), "{literal}");
        }
        assert!(JsonStr::of(RawValue::NULL).is_none());
        assert!(JsonStr::joined(Vec::new()).is_empty());
    }
}
