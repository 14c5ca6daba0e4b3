//! The members that a conversion does not read.
//!
//! Each reader of requests lists the members that it understands. All others that carry information are counted as
//! dropped, so that a member that a vendor adds later is named, too.

use std::fmt::Display;

use serde_json::value::RawValue;

use super::request::Dropped;
use crate::Members;

/// Members that no model sees: the labels of an object, and Codex's metadata of an item.
const LABELS: &[&str] = &["type", "id", "status", "internal_chat_message_metadata_passthrough"];

/// Counts every member whose key is not in `read` as dropped, under `path`. Empty values and defaults do not count.
pub(crate) fn drop_unread(members: &Members<'_>, read: &[&str], path: impl Display, dropped: &mut Dropped) {
    for (key, value) in members.iter() {
        let is_known = read.contains(&key) || LABELS.contains(&key);
        if !is_known && !is_empty(value) && !is_default(key, value) {
            dropped.add(format!("{path}{key}"));
        }
    }
}

/// Whether a value is equivalent to a missing member.
pub(crate) fn is_empty(value: &RawValue) -> bool {
    matches!(value.get(), "null" | "[]" | "{}" | "\"\"")
}

/// Whether an object has its default value: a call that the model itself made, or no citations.
fn is_default(key: &str, value: &RawValue) -> bool {
    let object = || Members::of(value.get()).unwrap_or_default();
    match key {
        "caller" => object().string("type").as_deref() == Some("direct"),
        "citations" => object().parse("enabled") == Some(false),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::golden::FORMATS;
    use super::super::request;
    use crate::WireFormat::{self, Chat, Messages, Responses};

    /// The names of what a conversion of this conversation leaves out, which are the same for each other format.
    fn named(from: WireFormat, conversation: &str) -> String {
        let body = format!(r#"{{"model":"m","{}":[{conversation}]}}"#, from.conversation());
        let mut named = FORMATS.iter().filter(|(to, _)| *to != from).map(|(to, _)| {
            let converted = request(from, *to, &body).unwrap();
            converted.dropped.iter().map(|(name, count)| format!("{name} x{count}")).collect::<Vec<_>>().join(", ")
        });
        let first = named.next().unwrap();
        assert!(named.all(|other| other == first), "{from:?}: {conversation}");
        first
    }

    #[test]
    fn unread_members_of_messages_items_and_parts_are_named() {
        let user = |parts: &str| format!(r#"{{"role":"user","content":[{{"type":"text","text":"a"}},{parts}]}}"#);
        let model =
            |parts: &str| format!(r#"{{"role":"user","content":"a"}},{{"role":"assistant","content":[{parts}]}}"#);
        let call = r#"{"type":"tool_use","id":"c","name":"f","input":{}}"#;
        let result = |result: &str| format!(r#"{},{{"role":"user","content":[{result}]}}"#, model(call));
        let called =
            r#"{"role":"user","content":"a"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#;
        for (format, conversation, names) in [
            (Chat, r#"{"role":"user","content":"a","audio":{"id":"a"}}"#.to_owned(), "messages.audio x1"),
            (Chat, user(r#"{"type":"text","text":"b","later":1}"#), "messages.content.later x1"),
            (Messages, r#"{"role":"user","content":"a","clear_at":"never"}"#.to_owned(), "messages.clear_at x1"),
            (
                Messages,
                model(r#"{"type":"text","text":"b","citations":[{"type":"page_location"}]},{"type":"text","text":"c","citations":[{}]}"#),
                "messages.text.citations x2",
            ),
            (Messages, user(r#"{"type":"image","source":{"type":"url","url":"https://x/a"},"later":1}"#), "messages.image.later x1"),
            (
                Messages,
                user(r#"{"type":"document","source":{"type":"text","data":"b"},"later":{"a":1}}"#),
                "messages.document.later x1",
            ),
            (
                Messages,
                user(r#"{"type":"search_result","title":"t","source":"s","content":[],"citations":{"enabled": true}}"#),
                "messages.search_result.citations x1",
            ),
            (
                Messages,
                result(r#"{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"b","later":1}],"later":1}"#),
                "messages.text.later x1, messages.tool_result.later x1",
            ),
            (
                Messages,
                result(r#"{"type":"tool_result","tool_use_id":"c","content":"b"}"#)
                    .replace(r#""input":{}"#, r#""input":{},"caller":{"type":"code_execution_20250825","tool_id":"s"}"#),
                "messages.tool_use.caller x1",
            ),
            (Messages, user(r#"{"type":"compaction","content":"b","tool_changes":[1]}"#), "messages.compaction.tool_changes x1"),
            (Responses, r#"{"type":"message","role":"user","content":"a","later":1}"#.to_owned(), "input.message.later x1"),
            (
                Responses,
                r#"{"role":"assistant","content":[{"type":"output_text","text":"a","annotations":[{"type":"url_citation"}],"logprobs":[{}]}]}"#.to_owned(),
                "input.output_text.annotations x1, input.output_text.logprobs x1",
            ),
            (Responses, user(r#"{"type":"input_image","image_url":"https://x/a","later":1}"#), "input.input_image.later x1"),
            (
                Responses,
                format!(r#"{called},{{"type":"function_call_output","call_id":"c","output":"b","later":1}}"#)
                    .replace(r#""name":"f""#, r#""name":"f","encrypted_function_args":"g""#),
                "input.function_call.encrypted_function_args x1, input.function_call_output.later x1",
            ),
            (
                Responses,
                r#"{"role":"user","content":"a"},{"type":"configuration_update","text":{"verbosity":"low"}}"#.to_owned(),
                "input.configuration_update.text x1",
            ),
        ] {
            assert_eq!(named(format, &conversation), names, "{format:?}: {conversation}");
        }
    }

    #[test]
    fn members_of_every_conversation_are_not_named() {
        for (format, conversation) in [
            (
                Messages,
                r#"{"role":"user","content":[{"type":"text","text":"a","citations":null}]},
                {"role":"assistant","id":"m","type":"message","content":[{"type":"text","text":"b","citations":[]},
                {"type":"tool_use","id":"c","name":"f","input":{},"caller":{"type": "direct"},"cache_control":{"type":"ephemeral"}}]},
                {"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"r","is_error":false,"cache_control":{"type":"ephemeral"}},
                {"type":"document","source":{"type":"text","data":"d"},"citations":{"enabled": false}}]}"#,
            ),
            (
                Responses,
                r#"{"type":"message","id":"msg_1","role":"user","content":[{"type":"input_text","text":"a"}],
                "internal_chat_message_metadata_passthrough":{"turn_id":"t"}},
                {"type":"reasoning","id":"rs_1","summary":[],"content":null,"encrypted_content":null},
                {"type":"message","id":"msg_2","role":"assistant","status":"completed","phase":"commentary",
                "content":[{"type":"output_text","text":"b","annotations":[],"logprobs":[]}]},
                {"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{}","status":"completed"},
                {"type":"function_call_output","id":"fco_1","call_id":"c","output":"r","status":null}"#,
            ),
        ] {
            assert_eq!(named(format, conversation), "", "{format:?}");
        }
    }
}
