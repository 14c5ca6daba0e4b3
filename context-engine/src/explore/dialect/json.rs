//! JSON as models write it.
//!
//! What is JSON is read as any parser would. Beyond that only what can mean one thing: a comma before a closing bracket,
//! brackets that are missing at the very end, strings in single quotes or with raw line ends, an escape that JSON does not
//! have (`"\d+"`, which keeps its backslash), Python's words for constants. A string or number that the end cuts off
//! could have gone on, and is a fault.

use serde_json::{Map, Number, Value};

/// Maximum nesting depth. Calls need a few levels.
const MAX_DEPTH: usize = 48;

/// Why something is no JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected} at byte {at}")]
pub(crate) struct Fault {
    /// The position of the fault, in bytes from the start.
    pub(super) at: usize,
    /// The token that was expected at this position.
    pub(super) expected: &'static str,
}

/// Reads values off the front of a text.
#[derive(Debug, Clone)]
pub(super) struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

/// A value that fills a text but for white space and closing brackets too many.
pub(super) fn whole(text: &str) -> Result<Value, Fault> {
    let mut reader = Reader::new(text);
    let value = reader.value()?;
    let rest = reader.rest().trim_start_matches([' ', '\t', '\r', '\n', '}', ']']);
    if rest.is_empty() { Ok(value) } else { Err(Fault { at: text.len() - rest.len(), expected: "nothing more" }) }
}

impl<'t> Reader<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0, depth: 0 }
    }

    /// How far it has read, in bytes.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// The next byte that is no white space, still unread.
    pub(super) fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    /// Reads this byte, which is ASCII, if it comes next.
    pub(super) fn takes(&mut self, byte: u8) -> bool {
        let comes = self.peek() == Some(byte);
        self.at += usize::from(comes);
        comes
    }

    pub(super) fn value(&mut self) -> Result<Value, Fault> {
        match self.peek() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(quote @ (b'"' | b'\'')) => self.string(quote).map(Value::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b'a'..=b'z' | b'A'..=b'Z') => self.word(),
            _ => Err(self.fault("a value")),
        }
    }

    fn fault(&self, expected: &'static str) -> Fault {
        Fault { at: self.at, expected }
    }

    fn run(&mut self, part: impl Fn(&u8) -> bool) -> &'t str {
        let start = self.at;
        while self.text.as_bytes().get(self.at).is_some_and(&part) {
            self.at += 1;
        }
        &self.text[start..self.at]
    }

    fn nested(&mut self, read: impl FnOnce(&mut Self) -> Result<Value, Fault>) -> Result<Value, Fault> {
        if self.depth == MAX_DEPTH {
            return Err(self.fault("less nesting"));
        }
        self.depth += 1;
        self.at += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn object(&mut self) -> Result<Value, Fault> {
        let mut object = Map::new();
        loop {
            match self.peek() {
                Some(b'}') => {
                    self.at += 1;
                    break;
                }
                None if !object.is_empty() => break,
                Some(quote @ (b'"' | b'\'')) => {
                    let key = self.string(quote)?;
                    if !self.takes(b':') {
                        return Err(self.fault("':'"));
                    }
                    object.insert(key, self.value()?);
                }
                _ => return Err(self.fault("a key in quotes")),
            }
            if !self.takes(b',') && !matches!(self.peek(), Some(b'}') | None) {
                return Err(self.fault("',' or '}'"));
            }
        }
        Ok(Value::Object(object))
    }

    fn array(&mut self) -> Result<Value, Fault> {
        let mut array = Vec::new();
        loop {
            match self.peek() {
                Some(b']') => {
                    self.at += 1;
                    break;
                }
                None if !array.is_empty() => break,
                _ => array.push(self.value()?),
            }
            if !self.takes(b',') && !matches!(self.peek(), Some(b']') | None) {
                return Err(self.fault("',' or ']'"));
            }
        }
        Ok(Value::Array(array))
    }

    fn number(&mut self) -> Result<Value, Fault> {
        let start = self.at;
        let digits = self.run(|byte| byte.is_ascii_digit() || b"+-.eE".contains(byte));
        let whole = digits.parse().map(|number: i64| Number::from(number)).ok();
        let large = || digits.parse().map(|number: u64| Number::from(number)).ok();
        let float = || digits.parse().ok().and_then(Number::from_f64);
        match whole.or_else(large).or_else(float) {
            Some(number) if self.ends_here() => Ok(Value::Number(number)),
            _ => Err(Fault { at: start, expected: "a whole number" }),
        }
    }

    fn word(&mut self) -> Result<Value, Fault> {
        let start = self.at;
        let word = self.run(u8::is_ascii_alphanumeric);
        let value = match word {
            "true" | "True" => Value::Bool(true),
            "false" | "False" => Value::Bool(false),
            "null" | "None" => Value::Null,
            _ => {
                self.at = start;
                return Err(self.fault("a value in quotes"));
            }
        };
        if self.ends_here() {
            return Ok(value);
        }
        Err(self.fault("a whole value"))
    }

    /// Whether the last value cannot go on: the end, inside of something, may have cut it.
    fn ends_here(&self) -> bool {
        match self.text.as_bytes().get(self.at) {
            None => self.depth == 0,
            Some(next) => !next.is_ascii_alphanumeric() && !b"\"'_".contains(next),
        }
    }

    fn string(&mut self, quote: u8) -> Result<String, Fault> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        self.at += 1;
        let mut string = String::new();
        let mut plain = self.at;
        loop {
            match bytes.get(self.at) {
                None => {
                    return Err(Fault { at: start, expected: "the end of the string that begins" });
                }
                Some(byte) if *byte == quote => {
                    string.push_str(&self.text[plain..self.at]);
                    self.at += 1;
                    return Ok(string);
                }
                Some(b'\\') => {
                    string.push_str(&self.text[plain..self.at]);
                    self.escape(&mut string);
                    plain = self.at;
                }
                Some(_) => self.at += 1,
            }
        }
    }

    /// The length of the character that is so many bytes ahead, in bytes.
    fn next_char(&self, ahead: usize) -> usize {
        let rest = self.text.get(self.at + ahead..).unwrap_or_default();
        rest.chars().next().map_or(0, char::len_utf8)
    }

    /// Reads an escape; one that JSON does not have stays as it stands.
    fn escape(&mut self, string: &mut String) {
        let plain = match self.text.as_bytes().get(self.at + 1) {
            Some(byte @ (b'"' | b'\'' | b'\\' | b'/')) => char::from(*byte),
            Some(b'n') => '\n',
            Some(b't') => '\t',
            Some(b'r') => '\r',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'u') if self.unit(self.at).is_some() => return self.unicode(string),
            _ => {
                let end = self.at + 1 + self.next_char(1);
                string.push_str(&self.text[self.at..end]);
                self.at = end;
                return;
            }
        };
        string.push(plain);
        self.at += 2;
    }

    /// The UTF-16 unit of the `\uXXXX` that begins there.
    fn unit(&self, at: usize) -> Option<u16> {
        let digits = self.text.get(at..at + 6)?.strip_prefix("\\u")?;
        let all = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        all.then(|| u16::from_str_radix(digits, 16).ok()).flatten()
    }

    fn unicode(&mut self, string: &mut String) {
        let units: Vec<u16> = [self.unit(self.at), self.unit(self.at + 6)].into_iter().map_while(|unit| unit).collect();
        let first = char::decode_utf16(units).next();
        let read = first.and_then(Result::ok);
        string.push(read.unwrap_or(char::REPLACEMENT_CHARACTER));
        // Beyond 16 bits it took two.
        self.at += if read.is_some_and(|c| c.len_utf16() == 2) { 12 } else { 6 };
    }
}
