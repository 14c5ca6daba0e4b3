//! Text on its way from one request to another, decoded only where somebody has to look into it.

use std::borrow::Cow;
use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::wire::Text;
use crate::wire::surrogates::may_hold_halves;

/// What somebody said.
///
/// Most of a request is code in results of tools, full of escapes. A conversion has no use for what it says; written as
/// it was read it costs a copy, where decoding and encoding it would cost more than all the rest.
#[derive(Clone)]
pub enum JsonStr<'a> {
    /// A JSON string as it stands in the client's body, one that every reader of JSON can decode.
    Literal(&'a RawValue),
    /// Decoded already, or ours.
    Decoded(Cow<'a, str>),
}

impl<'a> JsonStr<'a> {
    /// Takes a value of the client's body, `None` where it is no string. Half a surrogate pair, which most backends refuse
    /// together with the whole request, is decoded; a whole pair looks like it and is too.
    #[must_use]
    pub fn of(raw: &'a RawValue) -> Option<JsonStr<'a>> {
        let text = Text::of(raw.get())?;
        Some(if may_hold_halves(raw.get()) {
            JsonStr::Decoded(text.decode())
        } else {
            JsonStr::Literal(raw)
        })
    }

    /// What they say.
    #[must_use]
    pub fn decode(&self) -> Cow<'_, str> {
        match self {
            JsonStr::Literal(raw) => Text::of(raw.get()).map(Text::decode).unwrap_or_default(),
            JsonStr::Decoded(text) => Cow::Borrowed(text),
        }
    }

    /// The same words without a copy of them.
    #[must_use]
    pub fn borrowed(&self) -> JsonStr<'_> {
        match self {
            JsonStr::Literal(raw) => JsonStr::Literal(raw),
            JsonStr::Decoded(text) => JsonStr::Decoded(Cow::Borrowed(text)),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            JsonStr::Literal(raw) => raw.get() == "\"\"",
            JsonStr::Decoded(text) => text.is_empty(),
        }
    }

    /// Whether there is nothing but white space.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        let says_something = |byte: &u8| byte.is_ascii_graphic() && *byte != b'\\';
        match self {
            JsonStr::Literal(raw) if raw.get().as_bytes().get(1).is_some_and(says_something) && !self.is_empty() => {
                false
            }
            words => words.decode().trim().is_empty(),
        }
    }

    /// Whether they begin with `start`.
    #[must_use]
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

    /// The words without white space at their end.
    #[must_use]
    pub fn trim_end(&self) -> JsonStr<'_> {
        let raw = match self {
            JsonStr::Literal(raw) => raw,
            JsonStr::Decoded(text) => return text.trim_end().into(),
        };
        let inner = &raw.get().as_bytes()[1..raw.get().len() - 1];
        // No escape is longer than this, so a last character behind it is one that stands for itself.
        let end = &inner[inner.len().saturating_sub("\\u0020".len())..];
        if end.last().is_some_and(u8::is_ascii_graphic) && !end.contains(&b'\\') {
            return JsonStr::Literal(raw);
        }
        self.decode().trim_end().to_owned().into()
    }

    /// Several as one, with a blank line between them.
    #[must_use]
    pub fn joined(mut words: Vec<JsonStr<'a>>) -> JsonStr<'a> {
        match words.pop() {
            Some(only) if words.is_empty() => only,
            Some(last) => {
                words.push(last);
                let texts: Vec<_> = words.iter().map(JsonStr::decode).collect();
                texts.join("\n\n").into()
            }
            None => JsonStr::Decoded(Cow::Borrowed("")),
        }
    }
}

/// As the text that they are, however they are held.
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
    fn a_literal_says_of_itself_what_its_text_does() {
        for literal in [
            r#""""#,
            r#"" ""#,
            r#""a""#,
            r#""a ""#,
            r#""a\n""#,
            r#""\n""#,
            r#""\\n""#,
            r#""a\\n""#,
            r#""\u0020a\u0020""#,
            r#""a\u00200020""#,
            r#""\u00a0""#,
            "\"\u{3000}\"",
            "\"a\u{3000}\"",
            r#""\t\r\n x""#,
            r#""é""#,
            r#""\ud83d\ude00 ""#,
            r#""\ud800""#,
            r#""say \"x\"""#,
        ] {
            let raw: &RawValue = serde_json::from_str(literal).unwrap();
            let words = JsonStr::of(raw).unwrap();
            let text = Text::of(literal).unwrap().decode();
            assert_eq!(words.decode(), text, "{literal}");
            assert_eq!(words.is_empty(), text.is_empty(), "{literal}");
            assert_eq!(words.is_blank(), text.trim().is_empty(), "{literal}");
            assert_eq!(words.trim_end().decode(), text.trim_end(), "{literal}");
            for start in ["", "a", " a", "say \"", "a\n", "\u{a0}", "longer than all"] {
                assert_eq!(words.starts_with(start), text.starts_with(start), "{literal} {start}");
            }
            let written = serde_json::to_string(&words).unwrap();
            assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text, "{literal}");
            let joined = JsonStr::joined(vec![words.clone(), words.borrowed()]);
            assert_eq!(joined.decode(), format!("{text}\n\n{text}"), "{literal}");
        }
        assert!(JsonStr::of(RawValue::NULL).is_none());
        assert!(JsonStr::joined(Vec::new()).is_empty());
    }
}
