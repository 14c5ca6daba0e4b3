//! Messages: reading and writing, both ways.

mod blocks;
mod capabilities;
mod markers;
mod read_answer;
mod read_content;
mod read_request;
mod sampling;
mod sent;
mod turns;
mod usage;
mod write_answer;
mod write_request;
mod write_tools;

use std::borrow::Cow;

use serde_json::value::RawValue;

pub(super) use read_answer::Reader;
pub(super) use read_request::read_request;
pub(super) use write_answer::Writer;
pub(super) use write_request::write_request;

use super::NameRule;
use crate::wire::Members;
use crate::wire::surrogates::decode_string;

/// Stands before the seal (`signature`) of thinking that a messages backend gave, so that it can be told from seals of
/// other vendors when it comes back: a backend refuses a whole request over one seal that is not its own.
const SEAL: &str = "messages:";

/// The same before the `data` of `redacted_thinking`, which must come back as that and not as thinking.
const REDACTED: &str = "messages-redacted:";

/// What tells that text in the user's side is not the user's.
fn reminder(text: &str) -> Cow<'_, str> {
    if text.starts_with("<system-reminder>") {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(format!("<system-reminder>\n{text}\n</system-reminder>"))
    }
}

/// Arguments as the object that the format wants. Text that is none is kept in one, so that the model sees what it
/// wrote and what the tool said of it.
fn object(arguments: &str) -> Cow<'_, RawValue> {
    let arguments = arguments.trim();
    let whole = if arguments.is_empty() { "{}" } else { arguments };
    if Members::of(whole).is_some()
        && let Ok(raw) = serde_json::from_str::<&RawValue>(whole)
    {
        return Cow::Borrowed(raw);
    }
    // Some backends write the object as a string.
    let inner = decode_string(whole).unwrap_or_else(|| whole.to_owned());
    let kept = if Members::of(&inner).is_some() {
        inner
    } else {
        format!(r#"{{"arguments":{}}}"#, serde_json::Value::from(inner))
    };
    RawValue::from_string(kept).map_or_else(|_| Cow::Borrowed(RawValue::NULL), Cow::Owned)
}

/// The names of tools that the API takes. Models of other vendors have called tools by names that never were any.
const NAMES: NameRule = NameRule {
    longest: 128,
    plain: true,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_always_an_object() {
        for (arguments, input) in [
            (r#"{"a": 1.0}"#, r#"{"a": 1.0}"#),
            ("", "{}"),
            (" \n", "{}"),
            (r#""{\"a\":1}""#, r#"{"a":1}"#),
            (r#"{"a":"#, r#"{"arguments":"{\"a\":"}"#),
            ("[1]", r#"{"arguments":"[1]"}"#),
            ("null", r#"{"arguments":"null"}"#),
        ] {
            assert_eq!(object(arguments).get(), input, "{arguments}");
        }
    }
}
