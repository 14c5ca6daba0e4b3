//! The result of a call: bounded, redacted, without markers of clients and models, and with a way to get the rest.

use std::borrow::Cow;

use muninn_context_engine::render::{Ground, neutralize};
use muninn_context_engine::tools::{Output, page};
use muninn_text::redact;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::ClientTool;
use super::limits::MOST;

/// The key of the note in a shortened list.
const CUT: &str = "cut";
/// The bytes of a text above which a part of it can be left out.
const LONG: usize = 100;

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolResult {
    /// Prose or code.
    Text(String),
    /// An object.
    Structured(Value),
    /// Why the call failed, and what to do.
    Failed(String),
}

impl ToolResult {
    /// The page of an output that the arguments of the call request.
    pub(super) fn of(tool: &ClientTool, output: &Output, arguments: &Map<String, Value>) -> ToolResult {
        let ground = tool.ground();
        if output.failed {
            return ToolResult::Failed(output.neutral_page(1, MOST, ground));
        }
        let structured = output.structured.as_ref().filter(|_| !tool.description.is_prose);
        let structured = structured.and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
        match structured {
            Some(value) => ToolResult::Structured(bounded(value, ground)),
            None => ToolResult::Text(output.neutral_page(page(arguments), MOST, ground)),
        }
    }
}

/// An object with clean texts and without empty members, whose longest list, or text where there is none, is shortened until it
/// fits.
fn bounded(mut value: Value, ground: Ground) -> Value {
    clean(&mut value, ground);
    // Some revisions of the protocol allow objects only.
    if !value.is_object() {
        value = json!({"result": value});
    }
    let mut left_out = 0;
    while value.to_string().len() > MOST {
        let excess = value.to_string().len() - MOST;
        let Some(list) = longest_list(&mut value).filter(|list| !list.is_empty()) else {
            match longest_text(&mut value).filter(|text| text.len() > LONG) {
                Some(text) => shorten(text, excess),
                None => return json!({CUT: "the result is too long; ask for less"}),
            }
            continue;
        };
        let all: usize = list.iter().map(|one| one.to_string().len() + 1).sum();
        // At least one entry goes, so that the loop ends.
        let keep = list.len() * all.saturating_sub(excess + 200) / all.max(1);
        let keep = keep.min(list.len() - 1);
        left_out += list.len() - keep;
        list.truncate(keep);
    }
    if left_out > 0
        && let Some(object) = value.as_object_mut()
    {
        let note = format!("{left_out} more were left out; narrow the call by a path, a name or a smaller number");
        object.insert(CUT.to_owned(), Value::from(note));
    }
    value
}

/// Redacts and neutralises texts, and removes members without a value, which cost tokens and say nothing.
pub(super) fn clean(value: &mut Value, ground: Ground) {
    match value {
        Value::String(text) => {
            let redacted = redact(text);
            let neutral = neutralize(&redacted, ground);
            if matches!((&redacted, &neutral), (Cow::Owned(_), _) | (_, Cow::Owned(_))) {
                *text = neutral.into_owned();
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| clean(value, ground)),
        Value::Object(members) => {
            let ground = file_ground(members, ground);
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(|value| clean(value, ground));
            // Keys of front matter are text of the page.
            if members.keys().any(|key| matches!(neutralize(key, ground), Cow::Owned(_))) {
                let named = std::mem::take(members).into_iter();
                *members = named.map(|(key, value)| (neutralize(&key, ground).into_owned(), value)).collect();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The kind of the texts beside the path of a file, in an answer about code.
fn file_ground(members: &Map<String, Value>, ground: Ground) -> Ground {
    let path = members.get("path").and_then(Value::as_str);
    match (ground, path) {
        (Ground::Code | Ground::Markup, Some(path)) => Ground::of_file(path),
        _ => ground,
    }
}

/// Leaves out the end of a text, about `excess` bytes of what it takes as JSON.
fn shorten(text: &mut String, excess: usize) {
    let written = Value::from(text.as_str()).to_string().len();
    let kept = text.len() * written.saturating_sub(excess + LONG) / written;
    let kept = text.floor_char_boundary(kept);
    let left_out = text.len() - kept;
    text.truncate(kept);
    text.push_str(&format!(" [{left_out} bytes left out]"));
}

/// The longest text, at any depth.
fn longest_text(value: &mut Value) -> Option<&mut String> {
    match value {
        Value::String(text) => Some(text),
        Value::Array(values) => values.iter_mut().filter_map(longest_text).max_by_key(|text| text.len()),
        Value::Object(members) => members.values_mut().filter_map(longest_text).max_by_key(|text| text.len()),
        _ => None,
    }
}

/// The list with the longest text, at any depth.
fn longest_list(value: &mut Value) -> Option<&mut Vec<Value>> {
    match value {
        Value::Array(values) => Some(values),
        Value::Object(members) => {
            let lists = members.values_mut().filter_map(longest_list);
            lists.max_by_key(|list| list.iter().map(|one| one.to_string().len()).sum::<usize>())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn long_lists_are_shortened_and_say_so() {
        let memories: Vec<Value> = (0..400).map(|n| json!({"id": n, "text": "x".repeat(300)})).collect();
        let value = bounded(json!({"memories": memories}), Ground::Prose);
        assert!(value.to_string().len() < 40_000);
        let kept = value["memories"].as_array().unwrap().len();
        assert!(kept > 80, "{kept}");
        assert!(value["cut"].as_str().unwrap().starts_with(&format!("{} more", 400 - kept)), "{}", value["cut"]);
        assert_eq!(bounded(json!([1]), Ground::Prose), json!({"result": [1]}));
    }

    #[test]
    fn a_long_text_is_cut_and_what_is_beside_it_is_kept() {
        for text in ["y".repeat(50_000), "é".repeat(30_000), "\n".repeat(60_000)] {
            let value = bounded(json!({"id": 7, "of": {"text": text}, "list": []}), Ground::Prose);
            let told = value["of"]["text"].as_str().unwrap();
            assert!(value["id"] == 7 && told.ends_with(" bytes left out]"), "{told}");
            let all = value.to_string().len();
            assert!(all <= MOST && all > MOST / 3, "{all}");
        }
        let keys: Map<String, Value> = (0..9_000).map(|n| (n.to_string(), json!("x"))).collect();
        assert!(bounded(Value::Object(keys), Ground::Prose)["cut"].as_str().unwrap().contains("too long"));
    }

    #[test]
    fn texts_of_structured_results_are_redacted() {
        let key = format!("sk-ant-api03-{}", "Ab3dEf9hIj".repeat(9));
        let value = bounded(json!({"deep": [{"text": format!("key {key}")}]}), Ground::Prose);
        assert!(!value.to_string().contains(&key), "{value}");
    }

    proptest! {
        #[test]
        fn bounded_results_are_objects_within_the_limit(
            lists in proptest::collection::vec(proptest::collection::vec(0usize..3_000, 0..60), 0..6),
        ) {
            let value: Vec<Value> = lists
                .iter()
                .map(|list| json!({"list": list.iter().map(|length| "é".repeat(*length)).collect::<Vec<_>>()}))
                .collect();
            let bounded = bounded(json!({"all": value}), Ground::Prose);
            prop_assert!(bounded.is_object());
            prop_assert!(bounded.to_string().len() < MOST + 500);
        }
    }
}
