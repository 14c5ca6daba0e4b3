//! Reads JSON in place: members and strings are slices of the body.

use std::borrow::Cow;
#[cfg(debug_assertions)]
use std::cell::Cell;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::ParseError;
use super::json::{Key, Scanner, raw};
use super::surrogates::{Piece, decode_string};

/// An object's members in their order. Each value is a slice of the parsed text. Repeated keys are kept.
///
/// Each read of a nested value scans it again. `Body` and [`Element`] split nested values that are always read in the
/// same pass.
#[derive(Debug, Default)]
pub struct Members<'a> {
    list: Vec<(Cow<'a, str>, &'a str)>,
    /// The members whose values were split in the same pass, by their places.
    split: Vec<(usize, Vec<Element<'a>>)>,
}

/// The values below a body, or an element of its conversation, that are split in the same pass.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    Nothing,
    /// Of a body: its tools with their functions, and its system blocks.
    Body,
    /// Of a message: its blocks, and its calls with their functions.
    Message,
    /// Of a block, a call or a tool.
    Part,
}

impl Depth {
    fn splits(self, key: &str) -> bool {
        match self {
            Depth::Nothing => false,
            Depth::Body => key == "tools" || key == "system",
            Depth::Message => key == "content" || key == "tool_calls",
            Depth::Part => key == "function",
        }
    }

    fn below(self) -> Depth {
        match self {
            Depth::Body | Depth::Message => Depth::Part,
            Depth::Nothing | Depth::Part => Depth::Nothing,
        }
    }
}

impl<'a> Members<'a> {
    /// Reads one object; `None` if `json` is something else.
    pub fn of(json: &'a str) -> Option<Members<'a>> {
        if json.starts_with('{') { whole(json, |scanner| Members::next(scanner, Depth::Nothing)) } else { None }
    }

    /// The next value, if it is an object.
    fn next(scanner: &mut Scanner<'a>, depth: Depth) -> Option<Members<'a>> {
        let mut members = Members { list: Vec::with_capacity(8), split: Vec::new() };
        scanner.members(|scanner, key| members.push_next(scanner, decoded(key), depth))?;
        Some(members)
    }

    /// Adds the next value as the one of `name`.
    fn push_next(&mut self, scanner: &mut Scanner<'a>, name: Cow<'a, str>, depth: Depth) -> Option<()> {
        let first = scanner.peek()?;
        let value = if depth.splits(&name) && matches!(first, b'[' | b'{') {
            let (split, value) = scanner.split(|scanner| match first {
                b'[' => Element::list(scanner, depth.below()),
                _ => Some(vec![Element::Object(Members::next(scanner, depth.below())?)]),
            })?;
            self.split.push((self.list.len(), split));
            value
        } else {
            scanner.value()?
        };
        self.list.push((name, value));
        Some(())
    }

    /// The elements of the array `key`; `None` if it is not an array. Those that were split in the same pass are taken.
    pub(super) fn take_elements(&mut self, key: &str) -> Option<Vec<Element<'a>>> {
        self.take(key, '[').or_else(|| self.get(key).and_then(elements))
    }

    /// The members of the object `key`; empty if it is not an object. Those that were split in the same pass are taken.
    pub(super) fn take_object(&mut self, key: &str) -> Members<'a> {
        let taken = self.take(key, '{').and_then(|mut split| split.pop()?.object());
        taken.unwrap_or_else(|| self.object(key))
    }

    /// The split value of `key`, if it begins with this bracket.
    fn take(&mut self, key: &str, bracket: char) -> Option<Vec<Element<'a>>> {
        let at = self.list.iter().rposition(|(name, _)| name == key)?;
        let split = self.split.iter().position(|(place, _)| *place == at)?;
        self.list[at].1.starts_with(bracket).then(|| self.split.swap_remove(split).1)
    }

    /// The raw value of `key`. The last one of a repeated key counts, as in the parsers of all backends.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        self.list.iter().rev().find(|(name, _)| name == key).map(|(_, value)| *value)
    }

    /// The value of `key` in the type that serializes unchanged.
    pub fn raw(&self, key: &str) -> Option<&'a RawValue> {
        self.get(key).and_then(raw)
    }

    /// Every member in its order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.list.iter().filter_map(|(name, value)| Some((&**name, raw(value)?)))
    }

    /// The value of `key` if it is a string.
    pub fn text(&self, key: &str) -> Option<Text<'a>> {
        self.get(key).and_then(Text::of)
    }

    /// The value of `key`, parsed; `None` if it has another type.
    pub fn parse<T: Deserialize<'a>>(&self, key: &str) -> Option<T> {
        self.get(key).and_then(|json| serde_json::from_str(json).ok())
    }

    /// The decoded value of `key` if it is a string.
    pub fn string(&self, key: &str) -> Option<Cow<'a, str>> {
        self.text(key).map(Text::decode)
    }

    /// The value of `key` as a piece of a streamed text, if it is a string.
    pub fn piece(&self, key: &str) -> Option<Piece<'a>> {
        self.text(key).map(Text::piece)
    }

    /// The decoded value of `key` if it is a non-empty string.
    pub fn non_empty(&self, key: &str) -> Option<Cow<'a, str>> {
        self.string(key).filter(|text| !text.is_empty())
    }

    /// The value of `key` unless it is null.
    pub fn present(&self, key: &str) -> Option<&'a RawValue> {
        self.raw(key).filter(|value| value.get() != "null")
    }

    /// The members of the object `key`; empty if it is not an object.
    pub fn object(&self, key: &str) -> Members<'a> {
        self.get(key).and_then(Members::of).unwrap_or_default()
    }

    /// The object's last value.
    pub(super) fn last(&self) -> Option<&'a str> {
        self.list.last().map(|(_, value)| *value)
    }

    /// The elements of the array `key`; empty if it is not an array.
    pub fn elements(&self, key: &str) -> Vec<Element<'a>> {
        self.get(key).and_then(elements).unwrap_or_default()
    }
}

/// An element of an array. Most are objects. Their members are read in the pass that splits the array.
#[derive(Debug)]
pub enum Element<'a> {
    Object(Members<'a>),
    /// Anything else.
    Other(&'a RawValue),
}

impl<'a> Element<'a> {
    pub(super) fn of(raw: &'a RawValue) -> Element<'a> {
        Members::of(raw.get()).map_or(Element::Other(raw), Element::Object)
    }

    /// The elements of the next value, if it is an array.
    fn list(scanner: &mut Scanner<'a>, depth: Depth) -> Option<Vec<Element<'a>>> {
        let mut list = Vec::new();
        scanner.elements(|scanner| {
            list.push(match scanner.peek()? {
                b'{' => Element::Object(Members::next(scanner, depth)?),
                _ => Element::Other(raw(scanner.value()?)?),
            });
            Some(())
        })?;
        Some(list)
    }

    /// The members, if it is an object.
    pub fn object(self) -> Option<Members<'a>> {
        match self {
            Element::Object(members) => Some(members),
            Element::Other(_) => None,
        }
    }

    /// The string, if it is one.
    pub fn text(&self) -> Option<Text<'a>> {
        match self {
            Element::Object(_) => None,
            Element::Other(raw) => Text::of(raw.get()),
        }
    }
}

/// The elements of an array; `None` if `json` is something else.
pub(super) fn elements(json: &str) -> Option<Vec<Element<'_>>> {
    whole(json, |scanner| Element::list(scanner, Depth::Nothing))
}

/// The whole text as `read` takes it; `None` if anything is left.
fn whole<'a, T>(json: &'a str, read: impl FnOnce(&mut Scanner<'a>) -> Option<T>) -> Option<T> {
    let mut scanner = Scanner::new(json);
    let read = read(&mut scanner)?;
    scanner.is_at_end().then_some(read)
}

/// A request's body. The conversation, its largest member, is split in the same pass.
#[derive(Debug)]
pub(super) struct Body<'a> {
    /// The other members.
    pub(super) members: Members<'a>,
    /// The value of the member that holds the conversation; `None` if the member is missing.
    pub(super) conversation: Option<Conversation<'a>>,
}

/// The value of the member that holds the conversation.
#[derive(Debug)]
pub(super) enum Conversation<'a> {
    /// An array.
    List(Vec<Element<'a>>),
    /// Anything else.
    Other(&'a RawValue),
}

impl<'a> Conversation<'a> {
    /// The conversation as a list. `key` names its member in errors.
    pub(super) fn list(
        conversation: Option<Conversation<'a>>,
        key: &'static str,
    ) -> Result<Vec<Element<'a>>, ParseError> {
        match conversation.ok_or(ParseError::Missing(key))? {
            Conversation::List(list) => Ok(list),
            Conversation::Other(_) => Err(ParseError::WrongType(key, "an array")),
        }
    }
}

impl<'a> Body<'a> {
    /// Reads a body whose conversation is the member `key`. The last one of a repeated member counts.
    ///
    /// # Errors
    /// [`ParseError`] if `json` is not a JSON object.
    pub(super) fn of(json: &'a str, key: &str) -> Result<Body<'a>, ParseError> {
        Body::read(json, key, (Depth::Nothing, Depth::Nothing))
    }

    /// The same, with the parts of each message, the tools and the system blocks split in the same pass.
    pub(super) fn with_parts(json: &'a str, key: &str) -> Result<Body<'a>, ParseError> {
        Body::read(json, key, (Depth::Body, Depth::Message))
    }

    fn read(json: &'a str, key: &str, (own, of_message): (Depth, Depth)) -> Result<Body<'a>, ParseError> {
        let read = whole(json, |scanner| {
            let mut members = Members { list: Vec::with_capacity(16), split: Vec::new() };
            let mut conversation = None;
            scanner.members(|scanner, name| {
                let name = decoded(name);
                if name != key {
                    return members.push_next(scanner, name, own);
                }
                conversation = Some(match scanner.peek()? {
                    b'[' => Conversation::List(Element::list(scanner, of_message)?),
                    _ => Conversation::Other(raw(scanner.value()?)?),
                });
                Some(())
            })?;
            Some(Body { members, conversation })
        });
        read.ok_or_else(|| {
            // The parser whose errors name what is wrong and its place.
            let read = serde_json::from_str::<IgnoredAny>(json);
            read.map_or_else(|error| ParseError::Json(error.to_string()), |_| ParseError::NotAnObject)
        })
    }
}

/// A key without quotes and escapes.
fn decoded(key: Key<'_>) -> Cow<'_, str> {
    let text = Text(key.literal);
    if key.has_escape { text.decode() } else { Cow::Borrowed(text.inner()) }
}

/// A JSON string as a slice of the body, with its quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text<'a>(&'a str);

impl<'a> Text<'a> {
    /// Takes a raw value; `None` if it is not a string.
    pub fn of(json: &'a str) -> Option<Text<'a>> {
        (json.len() >= 2 && json.starts_with('"')).then_some(Text(json))
    }

    /// The byte range of the literal in `body`. It must be a slice of `body`.
    pub fn span_in(self, body: &str) -> std::ops::Range<usize> {
        span(body, self.0)
    }

    /// The literal, with its quotes.
    pub fn literal(self) -> &'a str {
        self.0
    }

    /// The literal without its quotes.
    pub(super) fn inner(self) -> &'a str {
        &self.0[1..self.0.len() - 1]
    }

    /// Decodes the literal. Lone surrogates become U+FFFD.
    pub fn decode(self) -> Cow<'a, str> {
        let inner = self.inner();
        if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
            return Cow::Borrowed(inner);
        }
        #[cfg(debug_assertions)]
        DECODED.set(DECODED.get() + 1);
        decode_string(self.0).map_or(Cow::Borrowed(inner), Cow::Owned)
    }

    /// Decodes the literal as a piece of a longer text. Lone surrogates at its ends are kept.
    pub fn piece(self) -> Piece<'a> {
        Piece::of_literal(self.0)
    }
}

#[cfg(debug_assertions)]
thread_local! {
    static DECODED: Cell<usize> = const { Cell::new(0) };
}

/// The number of texts with escapes that this thread has decoded, for tests.
#[cfg(debug_assertions)]
pub fn decoded_texts() -> usize {
    DECODED.get()
}

/// The byte range of `part` in `whole`. `part` must be a slice of `whole`.
pub(super) fn span(whole: &str, part: &str) -> std::ops::Range<usize> {
    let start = (part.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize);
    debug_assert!(start + part.len() <= whole.len(), "a slice of another text");
    start..start + part.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_unchanged_slices_of_the_body() {
        let body =
            r#" {"a": 1.0, "b":1e400, "c" : 12345678901234567890123, "\u0064":"x\ud83d\ude00", "e":[1, {"f":null}]} "#;
        let members = Members::of(body.trim()).unwrap();
        assert_eq!(members.get("b"), Some("1e400"));
        assert_eq!(members.get("c"), Some("12345678901234567890123"));
        assert_eq!(members.text("d").unwrap().decode(), "x\u{1f600}");
        let elements = members.elements("e");
        assert!(matches!(elements[0], Element::Other(raw) if raw.get() == "1"));
        assert!(matches!(&elements[1], Element::Object(inner) if inner.get("f") == Some("null")));
        let value = members.get("e").unwrap();
        assert_eq!(&body[span(body, value)], value);
    }

    #[test]
    fn bodies_split_with_any_type_of_conversation() {
        let shape = |json: &str| {
            Body::with_parts(json, "m").map(|body| {
                let keys: Vec<_> = body.members.iter().map(|(key, _)| key.to_owned()).collect();
                let conversation = body.conversation.map(|conversation| match conversation {
                    Conversation::List(list) => list
                        .into_iter()
                        .map(|element| match element {
                            Element::Object(members) => format!("object of {}", members.iter().count()),
                            Element::Other(raw) => raw.get().to_owned(),
                        })
                        .collect::<Vec<_>>()
                        .join("|"),
                    Conversation::Other(raw) => format!("other {raw}"),
                });
                format!("{} {}", keys.join(","), conversation.unwrap_or("none".to_owned()))
            })
        };
        for (json, expected) in [
            (r#"{"a":1,"m":[{"x":1},{}],"b":2}"#, "a,b object of 1|object of 0"),
            (r#"{"a":1,"m":["x",{"y":1},2]}"#, r#"a "x"|object of 1|2"#),
            (r#"{"m":"text"}"#, r#" other "text""#),
            (r#"{"m":null,"a":0}"#, "a other null"),
            (r#"{"a":0}"#, "a none"),
            (r#"{"m":[],"m":[{}]}"#, " object of 0"),
            (r#"{"m":[{}],"m":"last"}"#, r#" other "last""#),
        ] {
            assert_eq!(shape(json).unwrap(), expected, "{json}");
        }
        for broken in ["", "[]", "1", r#"{"m":[{]}"#, r#"{"m":[]} x"#, r#"{"m":[{"a":01}]}"#] {
            assert!(shape(broken).is_err(), "{broken}");
        }
    }

    fn keys(members: &Members<'_>) -> String {
        members.iter().map(|(key, raw)| format!("{key}={raw} ")).collect()
    }

    #[test]
    fn parts_split_in_one_pass_are_those_that_are_read_again() {
        for message in [
            r#"{"content":[{"a":1},"b",{"content":[{"c":2}]}]}"#,
            r#"{"content":[{"a":1}],"content":"x"}"#,
            r#"{"content":"x","content":[{"a":1}]}"#,
            r#"{"content":{"a":[1]},"tool_calls":{"b":1}}"#,
            r#"{"tool_calls":[{"function":{"name":"f"}},{"function":[{"name":"g"}]},{"function":"h","function":{"i":1}},7]}"#,
            r#"{"function":{"name":"not split here"}}"#,
            "{}",
        ] {
            let shown = |elements: Option<Vec<Element<'_>>>, inner: fn(&mut Members<'_>) -> String| {
                let element = |element| match element {
                    Element::Object(mut members) => inner(&mut members),
                    Element::Other(raw) => raw.to_string(),
                };
                elements.map(|elements| elements.into_iter().map(element).collect::<Vec<_>>())
            };
            let json = format!(r#"{{"m":[{message}]}}"#);
            let Some(Conversation::List(mut list)) = Body::with_parts(&json, "m").unwrap().conversation else {
                panic!()
            };
            let (mut split, whole) = (list.remove(0).object().unwrap(), Members::of(message).unwrap());
            assert_eq!(keys(&split), keys(&whole), "{message}");
            for key in ["content", "tool_calls", "function"] {
                let again = shown(whole.get(key).and_then(elements), |call| keys(&call.object("function")));
                let taken = shown(split.take_elements(key), |call| keys(&call.take_object("function")));
                assert_eq!(taken, again, "{key} of {message}");
                assert_eq!(keys(&split.take_object(key)), keys(&whole.object(key)), "{key} of {message}");
            }
        }
    }

    #[test]
    fn lone_surrogates_decode_as_replacement_characters() {
        for (literal, text) in [
            (r#""a\ud800b""#, "a\u{fffd}b"),
            (r#""\ta\n\"b\"\ud83d""#, "\ta\n\"b\"\u{fffd}"),
            (r#""\ude00\ud83d\ude00""#, "\u{fffd}\u{1f600}"),
        ] {
            assert_eq!(Text::of(literal).unwrap().decode(), text, "{literal}");
        }
    }

    #[test]
    fn keys_with_lone_surrogates_are_read() {
        let members = Members::of(r#"{"\ud83d":1,"a":2}"#).unwrap();
        assert_eq!((members.get("\u{fffd}"), members.get("a")), (Some("1"), Some("2")));
    }

    #[test]
    fn last_repeated_key_counts() {
        let members = Members::of(r#"{"a":1,"a":2}"#).unwrap();
        assert_eq!(members.get("a"), Some("2"));
    }
}
