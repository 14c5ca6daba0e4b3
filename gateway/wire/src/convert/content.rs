use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use super::super::ParseError;
use super::super::scan::{Element, Members, elements};
use super::super::surrogates::well_formed;
use super::json_str::JsonStr;

/// The result of a call that the client sends no result for. Backends require one for every call.
pub(crate) const NO_RESULT: &str = "[no result: the call was interrupted]";

/// Returns the schema of a tool without arguments. Formats allow a missing schema, but not every server does.
pub(crate) fn empty_schema<'s>() -> &'s RawValue {
    serde_json::from_str(r#"{"type":"object","properties":{}}"#).unwrap_or(RawValue::NULL)
}

/// Checks that a message's content is a string, an array or a single part. If `optional`, the content may be missing or
/// null.
pub(crate) fn check_content(
    members: &Members<'_>,
    optional: bool,
    list: &'static str,
    index: usize,
) -> Result<(), ParseError> {
    let fits = match members.get("content") {
        None | Some("null") => optional,
        Some(content) => content.starts_with(['"', '[', '{']),
    };
    if fits { Ok(()) } else { Err(ParseError::Content { list, index }) }
}

/// Returns content as a list of parts. A single part is a list of one.
pub(crate) fn parts(raw: &RawValue) -> Vec<Element<'_>> {
    elements(raw.get()).unwrap_or_else(|| vec![Element::of(raw)])
}

/// Returns the JSON text of a tool result that is not a string, a part or a list. The model gets this text unchanged.
pub(crate) fn raw_result(content: Option<&RawValue>) -> Option<&str> {
    let content = content?.get();
    let is_part = || Members::of(content).is_some_and(|members| members.text("type").is_some());
    let is_read = content == "null" || content.starts_with(['"', '[']) || is_part();
    (!is_read).then_some(content)
}

/// Returns a failed result's text with `Error:` before it, for formats without a field for errors. `None` if the text
/// starts with that word. `trim` removes what may stand before the word.
pub(crate) fn marked_as_error(text: &JsonStr<'_>, trim: impl Fn(&str) -> &str) -> Option<JsonStr<'static>> {
    let text = text.decode();
    let start = trim(&text).as_bytes().get(..5);
    let is_marked = start.is_some_and(|start| start.eq_ignore_ascii_case(b"error"));
    (!is_marked).then(|| format!("Error: {text}").into())
}

/// Serializes a request body. `bytes` is the length of the client's body. The buffer is larger, because a buffer that
/// grows copies its content several times.
pub(crate) fn to_json(body: &impl Serialize, bytes: usize) -> String {
    let mut out = Vec::with_capacity(bytes + bytes / 8 + 1024);
    // Neither call can fail: all keys are strings, raw values were parsed as JSON, and JSON is UTF-8.
    serde_json::to_writer(&mut out, body).ok();
    let body = String::from_utf8(out).unwrap_or_default();
    // Raw values of the client (schemas, arguments) may hold half of a surrogate pair.
    match well_formed(&body) {
        Cow::Owned(repaired) => repaired,
        Cow::Borrowed(_) => body,
    }
}
