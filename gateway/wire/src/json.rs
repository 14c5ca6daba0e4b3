//! Finds the values of JSON in place. It accepts what `serde_json` accepts, several times faster in long strings.

use serde::Deserialize;
use serde::de::value::{BorrowedStrDeserializer, MapDeserializer};
use serde::de::{Deserializer, Error, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::value::RawValue;

/// A key with its quotes.
pub(super) struct Key<'a> {
    pub(super) literal: &'a str,
    pub(super) has_escape: bool,
}

/// A position in JSON text. Every method fails where the text is not JSON.
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// Whether the text has control characters. They may stand between values, and not in strings.
    has_controls: bool,
    /// The quotes and backslashes of the block that begins here.
    block: usize,
    specials: u64,
}

/// A block has as many bytes as there are bits for its quotes and backslashes.
const BLOCK: usize = u64::BITS as usize;

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Scanner<'a> {
        let has_controls = has_controls(text.as_bytes());
        Scanner { text, at: 0, has_controls, block: 0, specials: specials(text.as_bytes()) }
    }

    fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    /// The next byte that is no white space.
    pub(super) fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = *self.bytes().get(self.at)?;
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Some(byte);
            }
            self.at += 1;
        }
    }

    /// Takes `byte`, the next one that is no white space.
    pub(super) fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    /// Whether only white space is left.
    pub(super) fn is_at_end(&mut self) -> bool {
        self.peek().is_none()
    }

    /// The members of an object: `read` is called behind the colon of each key and takes its value.
    pub(super) fn members(&mut self, mut read: impl FnMut(&mut Self, Key<'a>) -> Option<()>) -> Option<()> {
        self.take(b'{')?;
        if self.peek()? == b'}' {
            return self.take(b'}');
        }
        loop {
            let key = self.key()?;
            read(self, key)?;
            match self.peek()? {
                b',' => self.at += 1,
                _ => return self.take(b'}'),
            }
        }
    }

    /// The elements of an array: `read` takes each.
    pub(super) fn elements(&mut self, mut read: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.take(b'[')?;
        if self.peek()? == b']' {
            return self.take(b']');
        }
        loop {
            read(self)?;
            match self.peek()? {
                b',' => self.at += 1,
                _ => return self.take(b']'),
            }
        }
    }

    /// The next value.
    pub(super) fn value(&mut self) -> Option<&'a str> {
        Some(self.split(Self::skip)?.1)
    }

    /// The next value, which `read` reads, and what it made of it.
    pub(super) fn split<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<(T, &'a str)> {
        self.peek()?;
        let start = self.at;
        let read = read(self)?;
        Some((read, &self.text[start..self.at]))
    }

    /// A key, and the colon behind it.
    fn key(&mut self) -> Option<Key<'a>> {
        self.peek()?;
        let start = self.at;
        let has_escape = self.string()?;
        let literal = &self.text[start..self.at];
        self.take(b':')?;
        Some(Key { literal, has_escape })
    }

    /// Skips a value of any depth.
    fn skip(&mut self) -> Option<()> {
        let mut open: Vec<u8> = Vec::new();
        loop {
            match self.peek()? {
                b'"' => drop(self.string()?),
                bracket @ (b'{' | b'[') => {
                    self.at += 1;
                    if self.peek()? == bracket + 2 {
                        self.at += 1;
                    } else {
                        open.push(bracket);
                        if bracket == b'{' {
                            self.key()?;
                        }
                        continue;
                    }
                }
                b't' => self.word("true")?,
                b'f' => self.word("false")?,
                b'n' => self.word("null")?,
                _ => self.number()?,
            }
            // Behind a value: the next one, or the ends of what is open.
            loop {
                let Some(bracket) = open.last() else { return Some(()) };
                match self.peek()? {
                    b',' => {
                        self.at += 1;
                        if *bracket == b'{' {
                            self.key()?;
                        }
                        break;
                    }
                    byte if byte == bracket + 2 => {
                        self.at += 1;
                        open.pop();
                    }
                    _ => return None,
                }
            }
        }
    }

    fn word(&mut self, word: &str) -> Option<()> {
        self.text[self.at..].starts_with(word).then(|| self.at += word.len())
    }

    /// A string. Returns whether it has an escape.
    fn string(&mut self) -> Option<bool> {
        let bytes = self.bytes();
        if bytes[self.at] != b'"' {
            return None;
        }
        let mut at = self.at + 1;
        let mut has_escape = false;
        loop {
            at = self.next_special(at)?;
            if bytes[at] == b'"' {
                break;
            }
            has_escape = true;
            at += match bytes.get(at + 1)? {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => 2,
                b'u' if bytes.get(at + 2..at + 6)?.iter().all(u8::is_ascii_hexdigit) => 6,
                _ => return None,
            };
        }
        if self.has_controls && has_controls(&bytes[self.at..at]) {
            return None;
        }
        self.at = at + 1;
        Some(has_escape)
    }

    /// The place of the next quote or backslash.
    fn next_special(&mut self, mut at: usize) -> Option<usize> {
        loop {
            // A place before the block, or behind it, is far from its start.
            let offset = at.wrapping_sub(self.block);
            if offset < BLOCK {
                let rest = self.specials >> offset;
                if rest != 0 {
                    return Some(at + rest.trailing_zeros() as usize);
                }
                at = self.block + BLOCK;
            }
            let rest = self.bytes().get(at..).filter(|rest| !rest.is_empty())?;
            (self.block, self.specials) = (at, specials(rest));
        }
    }

    fn number(&mut self) -> Option<()> {
        let bytes = self.bytes();
        self.at += usize::from(bytes[self.at] == b'-');
        match bytes.get(self.at)? {
            b'0' => self.at += 1,
            _ => self.digits()?,
        }
        if bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = bytes.get(self.at) {
            self.at += 1;
            self.at += usize::from(matches!(bytes.get(self.at), Some(b'+' | b'-')));
            self.digits()?;
        }
        Some(())
    }

    fn digits(&mut self) -> Option<()> {
        let digits = self.bytes()[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += digits;
        (digits > 0).then_some(())
    }
}

/// The quotes and backslashes of the first block, a bit for each. Escapes are dense in source code, where a search for the next one
/// would begin anew every few bytes.
fn specials(bytes: &[u8]) -> u64 {
    let mut block = [0; BLOCK];
    match bytes.first_chunk() {
        Some(whole) => block = *whole,
        None => block[..bytes.len()].copy_from_slice(bytes),
    }
    let is_special = block.map(|byte| u8::from(byte == b'"') | u8::from(byte == b'\\'));
    // The product has the lowest bits of eight bytes in its highest byte.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let (eights, _) = is_special.as_chunks();
    let gathered = eights.iter().map(|eight| u64::from_le_bytes(*eight).wrapping_mul(GATHER) >> 56);
    gathered.rev().fold(0, |bits, eight| bits << 8 | eight)
}

/// In one pass without branches, which the compiler turns into vector instructions.
fn has_controls(bytes: &[u8]) -> bool {
    bytes.iter().fold(u8::MAX, |least, byte| least.min(*byte)) < b' '
}

/// Text that is known to be one value of JSON, without reading it again.
pub(super) fn raw(json: &str) -> Option<&RawValue> {
    <&RawValue>::deserialize(Known(json)).ok()
}

/// Hands a known value over in the way in which `serde_json` does: a `RawValue` asks for a newtype of a name of its own, and
/// takes a map of that name to the text.
struct Known<'a>(&'a str);

impl<'de> Deserializer<'de> for Known<'de> {
    type Error = serde_json::Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(Self::Error::custom("only a raw value is read from it"))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        let text: BorrowedStrDeserializer<'de, Self::Error> = BorrowedStrDeserializer::new(self.0);
        visitor.visit_map(MapDeserializer::new(std::iter::once((name, Text(text)))))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct seq tuple
        tuple_struct map struct enum identifier ignored_any
    }
}

/// The text of a known value, as the value of the map.
struct Text<'a>(BorrowedStrDeserializer<'a, serde_json::Error>);

impl<'de> IntoDeserializer<'de, serde_json::Error> for Text<'de> {
    type Deserializer = BorrowedStrDeserializer<'de, serde_json::Error>;

    fn into_deserializer(self) -> Self::Deserializer {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The text of the one value, if the text is JSON.
    fn scanned(json: &str) -> Option<&str> {
        let mut scanner = Scanner::new(json);
        let value = scanner.value()?;
        scanner.is_at_end().then_some(value)
    }

    fn read(json: &str) -> Option<&str> {
        serde_json::from_str::<&RawValue>(json).ok().map(RawValue::get)
    }

    #[test]
    fn values_are_those_that_serde_json_finds() {
        for json in [
            "",
            " ",
            "1",
            " -0.5e+10 ",
            "01",
            "-",
            "1.",
            "1.e1",
            "1e",
            ".5",
            "+1",
            "-a",
            "1 2",
            "true",
            "tru",
            "nul",
            "falsee",
            "\"",
            "\"\\\"",
            "\"\\\"\"",
            "\"\\u12\"",
            "\"\\u12g4\"",
            "\"\\ud800\"",
            "\"\\x\"",
            "\"\n\"",
            "\"\t\"",
            "\"\u{7f}\"",
            "\"é\u{2028}\"",
            "[]",
            "[ ]",
            "[1,]",
            "[,1]",
            "[1 2]",
            "[1,[2,{\"a\":[]}]]",
            "{}",
            "{ }",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{\"a\":1,\"a\":2}",
            "{a:1}",
            "{1:1}",
            "{\"a\" : 1 , \"b\":\n[\r\n]\t}",
            "[}",
            "{]",
            "[1}",
            "{\"a\":1]",
            "]",
            "[1]]",
            "\u{feff}1",
            "NaN",
            "'a'",
            "[\"a\",\"b\\\\\"]",
            "\u{c}1",
        ] {
            assert_eq!(scanned(json), read(json), "{json:?}");
        }
    }

    #[test]
    fn values_of_any_depth_are_skipped() {
        let deep = format!("{}{}", "[".repeat(500_000), "]".repeat(500_000));
        assert_eq!(scanned(&deep), Some(&*deep));
        assert_eq!(scanned(&deep[1..]), None);
    }

    proptest! {
        #[test]
        fn text_like_json_is_read_alike(parts in prop::collection::vec(
            prop::sample::select(vec![
                "{", "}", "[", "]", ",", ":", "\"", "\"a\"", "\"b\\n\"", "\\", "\\u00e9", "\\u", "0", "1", "-", ".", "e", "true", "null",
                " ", "\n", "\t", "é", "\u{1}", "x", "\"k\":1", "[1,2]", "{\"k\":[]}",
            ]),
            0..60,
        )) {
            let json = parts.concat();
            prop_assert_eq!(scanned(&json), read(&json));
        }

        #[test]
        fn changed_json_is_read_alike(at in 0usize..80, byte in any::<char>(), cut in any::<bool>()) {
            let json = "{\"messages\": [{\"role\": \"user\", \"content\": \"a\\u00e9\\n\"}, 1.5e3, null], \"x\": {\"y\": [true]}}";
            let at = json.floor_char_boundary(at);
            let rest = if cut { json[at..].chars().next().map_or(at, |c| at + c.len_utf8()) } else { at };
            let json = format!("{}{byte}{}", &json[..at], &json[rest..]);
            prop_assert_eq!(scanned(&json), read(&json));
        }
    }
}
