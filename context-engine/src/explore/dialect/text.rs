//! Looks through a text for calls, once, from its start to its end.
//!
//! Wherever an object begins it is read, and where it is no call, so are the objects in it. All that is read is counted:
//! at a small multiple of the text's length the search is over.

use serde_json::{Map, Value};

use super::error::{ArgumentsFault, CallError};
use super::json::Reader;
use super::tools::{Tools, shown};
use super::{Found, Made, Said};

/// Factor on the text's length that limits how much is read in total.
const READINGS: usize = 16;
/// Of short texts this much is read in any case, in bytes.
const MIN_READ: usize = 1 << 16;
/// The mark that the prompt asks models to write before a call.
const MARK: &str = "<tool_call>";
const NAME: &str = "name";
const ARGUMENTS: [&str; 2] = ["arguments", "parameters"];

/// Reads a text.
pub(super) fn parse(text: &str, tools: Tools<'_>) -> Said {
    let text = without_thinking(text).trim();
    let mut found = Found::default();
    let (mut at, mut left) = (0, text.len() * READINGS + MIN_READ);
    while let Some(next) = text[at..].find('{') {
        at += next;
        let mut reader = Reader::new(&text[at..]);
        let value = reader.value();
        left = left.saturating_sub(reader.at());
        if left == 0 {
            break;
        }
        let is_meant = is_meant(&text[..at], reader.rest());
        let made = match value {
            Ok(Value::Object(object)) => call(object, is_meant, tools),
            Err(fault) if is_meant || begins_call(&text[at..], tools) => Some(Err(CallError::Json(fault))),
            _ => None,
        };
        at += made.as_ref().map_or(1, |_| reader.at());
        if let Some(made) = made {
            found.add(None, made);
        }
    }
    if let (true, Some((_, marked))) = (found.is_empty(), text.split_once(MARK)) {
        let shown = format!("{:?}", shown(marked));
        found.add(None, Err(CallError::NoCall { shown }));
    }
    found.said(text)
}

/// What comes after a model's thinking, where a server left that in the text.
fn without_thinking(text: &str) -> &str {
    const END: &str = "</think>";
    let Some(at) = text.find(END) else {
        return text;
    };
    let after = &text[at + END.len()..];
    // Templates may open it themselves, so that only its end is in the answer, on a line of its own.
    let alone = after.is_empty() || after.starts_with(['\n', '\r']);
    if alone || text.trim_start().starts_with("<think>") { after } else { text }
}

/// Whether an object between these texts is meant to be a call, if it looks like one: it is marked, or there is nothing
/// else.
fn is_meant(before: &str, after: &str) -> bool {
    let before = before.trim_end_matches(|c: char| c == '[' || c.is_whitespace());
    let is_alone = || {
        matches!(before, "" | "```" | "```json")
            && after.trim_matches(|c: char| "`]".contains(c) || c.is_whitespace()).is_empty()
    };
    before.ends_with(MARK) || is_alone()
}

/// The call that an object is; `None` if it is none. One that stands in passing has to name a known tool and arguments.
fn call(mut object: Map<String, Value>, is_meant: bool, tools: Tools<'_>) -> Option<Made> {
    let Some(Value::String(name)) = object.remove(NAME) else {
        return None;
    };
    let given = ARGUMENTS.iter().find_map(|key| object.remove(*key));
    let tool = match tools.meant(&name) {
        Ok(tool) => tool,
        Err(unknown) => {
            return given.filter(|given| is_meant && given.is_object()).map(|_| Err(unknown));
        }
    };
    match given {
        // Models that repeat what they were told repeat a tool's schema.
        Some(Value::Object(schema)) if schema.get("properties").is_some_and(Value::is_object) => {
            is_meant.then(|| Err(tool.refusal(ArgumentsFault::Schema)))
        }
        Some(given) if is_meant || given.is_object() || given.is_string() => Some(tool.call(given)),
        None if is_meant && object.is_empty() => Some(tool.call(Value::Null)),
        _ => None,
    }
}

/// Whether an object that cannot be read begins as a call of a known tool.
fn begins_call(text: &str, tools: Tools<'_>) -> bool {
    let mut reader = Reader::new(text);
    let mut string_behind = |byte: u8| match reader.takes(byte).then(|| reader.value()) {
        Some(Ok(Value::String(string))) => Some(string),
        _ => None,
    };
    string_behind(b'{').is_some_and(|key| key == NAME)
        && string_behind(b':').is_some_and(|name| tools.meant(&name).is_ok())
        && string_behind(b',').is_some_and(|key| ARGUMENTS.contains(&key.as_str()))
}
