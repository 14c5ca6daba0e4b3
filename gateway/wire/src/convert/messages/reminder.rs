use std::borrow::Cow;

use serde_json::value::RawValue;

use super::super::NameRule;
use crate::Members;
use crate::surrogates::decode_string;

/// The tag of a messages backend's seal (`signature`). It distinguishes the seal from those of other vendors when a
/// client sends it back. A backend refuses a whole request with one foreign seal.
pub(crate) const SEAL: &str = "messages:";

/// The tag of the `data` of `redacted_thinking`, which must be sent back as `redacted_thinking`.
pub(crate) const REDACTED: &str = "messages-redacted:";

/// The prefix of call ids that this format's clients expect.
pub(crate) const CALL: &str = "toolu_";

/// Marks system text in the user's turn.
pub(crate) fn reminder(text: &str) -> Cow<'_, str> {
    if text.starts_with("<system-reminder>") {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(format!("<system-reminder>\n{text}\n</system-reminder>"))
    }
}

/// Returns arguments as the object that the format requires. Other text is wrapped in an object, so that the model sees
/// its text with the tool's result.
pub(crate) fn object(arguments: &str) -> Cow<'_, RawValue> {
    let arguments = arguments.trim();
    let whole = if arguments.is_empty() { "{}" } else { arguments };
    if Members::of(whole).is_some()
        && let Ok(raw) = serde_json::from_str::<&RawValue>(whole)
    {
        return Cow::Borrowed(raw);
    }
    // Some backends write the object as a string.
    let inner = decode_string(whole).unwrap_or_else(|| whole.to_owned());
    let object = if Members::of(&inner).is_some() {
        inner
    } else {
        format!(r#"{{"arguments":{}}}"#, serde_json::Value::from(inner))
    };
    RawValue::from_string(object).map_or_else(|_| Cow::Borrowed(RawValue::NULL), Cow::Owned)
}

/// The rule for the names of tools. It is applied to calls too, because models of other vendors have called tools that
/// do not exist.
pub(crate) const NAME_RULE: NameRule = NameRule { longest: 128 };

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
