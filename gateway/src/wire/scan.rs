//! Looking into JSON without taking it apart: members and strings as slices of the body they stand in.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// An object's members in their order, each value a slice of the text that was parsed. Repeated keys are kept.
#[derive(Debug, Default)]
pub struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Members<'a> {
    /// Reads one object, `None` where `json` is something else.
    #[must_use]
    pub fn of(json: &'a str) -> Option<Members<'a>> {
        if json.starts_with('{') {
            serde_json::from_str(json).ok()
        } else {
            None
        }
    }

    /// The raw value of `key`. With a repeated key the last one counts, as in every parser that backends use.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&'a str> {
        self.raw(key).map(RawValue::get)
    }

    /// The same, in the type that is written out again as it is.
    #[must_use]
    pub fn raw(&self, key: &str) -> Option<&'a RawValue> {
        self.0
            .iter()
            .rev()
            .find(|(name, _)| name == key)
            .map(|(_, value)| *value)
    }

    /// Every member in its order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(name, value)| (&**name, *value))
    }

    /// The value of `key` where it is a string.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<Text<'a>> {
        self.get(key).and_then(Text::of)
    }

    /// The value of `key`, parsed.
    #[must_use]
    pub fn parse<T: Deserialize<'a>>(&self, key: &str) -> Option<T> {
        self.get(key).and_then(|json| serde_json::from_str(json).ok())
    }

    /// The elements of `key` where it is an array, empty otherwise.
    #[must_use]
    pub fn elements(&self, key: &str) -> Vec<&'a str> {
        self.get(key).and_then(elements).unwrap_or_default()
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::with_capacity(map.size_hint().unwrap_or(8));
                while let Some((Key(key), value)) = map.next_entry::<Key<'de>, &'de RawValue>()? {
                    members.push((key, value));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

/// An object key, borrowed where it holds no escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

/// The elements of an array as slices, `None` where `json` is something else.
#[must_use]
pub(super) fn elements(json: &str) -> Option<Vec<&str>> {
    struct Elements<'a>(Vec<&'a str>);
    impl<'de> Deserialize<'de> for Elements<'de> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Collect;
            impl<'de> Visitor<'de> for Collect {
                type Value = Elements<'de>;
                fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                    formatter.write_str("an array")
                }
                fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Self::Value, A::Error> {
                    let mut elements = Vec::new();
                    while let Some(element) = array.next_element::<&'de RawValue>()? {
                        elements.push(element.get());
                    }
                    Ok(Elements(elements))
                }
            }
            deserializer.deserialize_seq(Collect)
        }
    }
    if !json.starts_with('[') {
        return None;
    }
    serde_json::from_str::<Elements<'_>>(json)
        .ok()
        .map(|elements| elements.0)
}

/// A JSON string as it stands in the body, quotes included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text<'a>(&'a str);

impl<'a> Text<'a> {
    /// Takes a raw value, `None` where it is no string.
    #[must_use]
    pub fn of(json: &'a str) -> Option<Text<'a>> {
        (json.len() >= 2 && json.starts_with('"')).then_some(Text(json))
    }

    /// Where the literal stands in `body`, of which it must be a slice; in bytes.
    #[must_use]
    pub fn span_in(self, body: &str) -> std::ops::Range<usize> {
        span(body, self.0)
    }

    /// The literal, quotes included.
    #[must_use]
    pub fn literal(self) -> &'a str {
        self.0
    }

    /// What the literal says. A literal that no Rust string can hold (a lone surrogate) is given as it is written.
    #[must_use]
    pub fn decode(self) -> Cow<'a, str> {
        let inner = &self.0[1..self.0.len() - 1];
        if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
            return Cow::Borrowed(inner);
        }
        serde_json::from_str::<String>(self.0).map_or(Cow::Borrowed(inner), Cow::Owned)
    }
}

/// Where `part` lies in `whole`, as byte offsets. `part` must be a slice of `whole`.
#[must_use]
pub(super) fn span(whole: &str, part: &str) -> std::ops::Range<usize> {
    let start = (part.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize);
    debug_assert!(start + part.len() <= whole.len(), "a slice of another text");
    start..start + part.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_slices_of_the_body_whatever_numbers_they_hold() {
        let body =
            r#" {"a": 1.0, "b":1e400, "c" : 12345678901234567890123, "\u0064":"x\ud83d\ude00", "e":[1, {"f":null}]} "#;
        let members: Members<'_> = serde_json::from_str(body).unwrap();
        assert_eq!(members.get("b"), Some("1e400"));
        assert_eq!(members.get("c"), Some("12345678901234567890123"));
        assert_eq!(members.text("d").unwrap().decode(), "x\u{1f600}");
        assert_eq!(members.elements("e"), vec!["1", r#"{"f":null}"#]);
        let value = members.get("e").unwrap();
        assert_eq!(&body[span(body, value)], value);
    }

    #[test]
    fn a_lone_surrogate_is_given_as_written() {
        assert_eq!(Text::of(r#""a\ud800b""#).unwrap().decode(), r"a\ud800b");
    }

    #[test]
    fn the_last_of_repeated_keys_counts() {
        let members: Members<'_> = serde_json::from_str(r#"{"a":1,"a":2}"#).unwrap();
        assert_eq!(members.get("a"), Some("2"));
    }
}
