//! Incremental extraction of a custom tool's free text from the arguments of the function that replaces the tool.

use crate::surrogates::{decode_string, well_formed};

/// The longest text before the string of the `input` member, in bytes. Other arguments are read when they are complete.
const LONGEST_START: usize = 64;

/// An incremental reader of `{"input": "..."}`.
#[derive(Default)]
pub(super) struct FreeText {
    /// The arguments so far.
    arguments: String,
    /// The position up to which the string is read. `None` before its start.
    read: Option<usize>,
    /// Whether the string has ended or cannot be read incrementally.
    over: bool,
    returned: String,
}

impl FreeText {
    /// Takes a delta of the arguments and returns the new text, if any.
    pub(super) fn push(&mut self, delta: &str) -> Option<String> {
        self.arguments.push_str(delta);
        if self.over {
            return None;
        }
        let Some(from) = self.read.or_else(|| start(&self.arguments)) else {
            self.over = self.arguments.len() > LONGEST_START;
            return None;
        };
        let (length, over) = readable(&self.arguments[from..]);
        self.read = Some(from + length);
        self.over = over;
        match decode(&self.arguments[from..from + length]) {
            Some(text) => {
                self.returned.push_str(&text);
                (!text.is_empty()).then_some(text)
            }
            None => {
                // `finish` reads the whole arguments.
                self.over = true;
                None
            }
        }
    }

    /// Returns the whole text, and the part of it that was not returned before.
    pub(super) fn finish(self) -> (String, String) {
        let whole = if self.returned.is_empty() {
            of_arguments(&self.arguments)
        } else {
            decoded(&self.arguments).unwrap_or_else(|| self.returned.clone())
        };
        let rest = whole.strip_prefix(&self.returned).unwrap_or_default().to_owned();
        (whole, rest)
    }
}

/// Returns the free text in complete arguments. Arguments that do not follow the schema are the free text themselves.
pub(super) fn of_arguments(arguments: &str) -> String {
    decoded(arguments).unwrap_or_else(|| arguments.to_owned())
}

fn decoded(arguments: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    #[serde(untagged)]
    enum Arguments {
        Object { input: String },
        Bare(String),
    }
    match serde_json::from_str(&well_formed(arguments)).ok()? {
        Arguments::Object { input } | Arguments::Bare(input) => Some(input),
    }
}

/// Returns the start of the string in `{"input": "..."}`, after its quote.
fn start(arguments: &str) -> Option<usize> {
    let mut rest = arguments;
    for token in ["{", "\"input\"", ":", "\""] {
        rest = rest.trim_start().strip_prefix(token)?;
    }
    Some(arguments.len() - rest.len())
}

/// Returns the length of the decodable beginning of a string's inside, and whether the string ends there.
fn readable(inside: &str) -> (usize, bool) {
    let bytes = inside.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let length = match byte {
            b'"' => return (at, true),
            b'\\' => match escape(&bytes[at..]) {
                Some(length) => length,
                None => return (at, false),
            },
            _ => 1,
        };
        at += length;
    }
    (at, false)
}

/// Returns the length of an escape, `None` if it is incomplete. A surrogate pair is one escape.
fn escape(bytes: &[u8]) -> Option<usize> {
    if *bytes.get(1)? != b'u' {
        return Some(2);
    }
    let digits = bytes.get(2..6)?;
    let high = digits[0].eq_ignore_ascii_case(&b'd') && matches!(digits[1], b'8' | b'9' | b'a' | b'b' | b'A' | b'B');
    match (high, bytes.get(6)) {
        (false, _) => Some(6),
        (true, None) => None,
        (true, Some(b'\\')) => match bytes.get(7)? {
            b'u' => bytes.get(11).map(|_| if is_low(&bytes[8..12]) { 12 } else { 6 }),
            _ => Some(6),
        },
        (true, Some(_)) => Some(6),
    }
}

fn is_low(digits: &[u8]) -> bool {
    digits[0].eq_ignore_ascii_case(&b'd') && matches!(digits[1], b'c'..=b'f' | b'C'..=b'F')
}

fn decode(inside: &str) -> Option<String> {
    if memchr::memchr(b'\\', inside.as_bytes()).is_none() {
        return Some(inside.to_owned());
    }
    decode_string(&format!("\"{inside}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn streamed(arguments: &str, size: usize) -> (String, String) {
        let mut text = FreeText::default();
        let mut returned = String::new();
        let mut piece = String::new();
        for character in arguments.chars() {
            piece.push(character);
            if piece.len() >= size {
                returned.extend(text.push(&std::mem::take(&mut piece)));
            }
        }
        returned.extend(text.push(&piece));
        let (whole, rest) = text.finish();
        (returned + &rest, whole)
    }

    #[test]
    fn any_split_of_the_arguments_gives_the_same_text() {
        let cases = [
            (r#"{"input":"*** Begin Patch\n+a \"b\"\n"}"#, "*** Begin Patch\n+a \"b\"\n"),
            (r#" { "input" : "\ud83d\ude00 \u00e9\\" , "more": 1 }"#, "\u{1f600} \u{e9}\\"),
            (r#"{"input":"\ud83d\n\ud83d\ud83d\ude00\ude00\t"}"#, "\u{fffd}\n\u{fffd}\u{1f600}\u{fffd}\t"),
            (r#"{"input":""}"#, ""),
            (r#"{"other":1,"input":"late"}"#, "late"),
            (r#""bare""#, "bare"),
            ("not json", "not json"),
            ("", ""),
        ];
        for (arguments, expected) in cases {
            for size in [1, 2, 5, 100] {
                let (returned, whole) = streamed(arguments, size);
                assert_eq!((&*returned, &*whole), (expected, expected), "{arguments} by {size}");
            }
        }
    }

    #[test]
    fn text_is_returned_incrementally() {
        let mut text = FreeText::default();
        assert_eq!(text.push(r#"{"input":"ls"#).as_deref(), Some("ls"));
        assert_eq!(text.push(r" \"), Some(" ".to_owned()));
        assert_eq!(text.push(r#"n"}"#).as_deref(), Some("\n"));
        assert_eq!(text.finish(), ("ls \n".to_owned(), String::new()));
    }

    #[test]
    fn truncated_arguments_keep_the_returned_text() {
        let mut text = FreeText::default();
        assert_eq!(text.push(r#"{"input":"half"#).as_deref(), Some("half"));
        assert_eq!(text.finish(), ("half".to_owned(), String::new()));
    }
}
