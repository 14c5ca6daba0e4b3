//! The result of a call in the protocol's form: bounded, redacted, and with a way to get the rest.

use muninn_context_engine::tools::{Output, page};
use muninn_memory::redact;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use serde_json::{Value, json};

use crate::app::ClientTool;

/// The most characters of a result. Clients cut longer ones, or refuse them.
pub(super) const MOST: usize = 39_000;
/// The key of the note in a shortened list.
const CUT: &str = "cut";

/// The page that a call requests, counted from 1.
pub(super) fn page_of(arguments: &JsonObject) -> usize {
    page(arguments)
}

/// The result of a call. Prose and code are text only; of the other tools the text is the same JSON.
pub(super) fn of(tool: &ClientTool, output: &Output, page: usize) -> CallToolResult {
    if output.failed {
        return CallToolResult::error(vec![ContentBlock::text(output.page(1, MOST))]);
    }
    let structured = output.structured.as_ref().filter(|_| !tool.is_prose);
    let structured = structured.and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
    match structured {
        Some(value) => CallToolResult::structured(bounded(value)),
        None => CallToolResult::success(vec![ContentBlock::text(output.page(page, MOST))]),
    }
}

/// An object with redacted texts and without empty members, whose longest list is shortened until the text fits.
pub(super) fn bounded(mut value: Value) -> Value {
    clean(&mut value);
    // Some revisions of the protocol allow objects only.
    if !value.is_object() {
        value = json!({"result": value});
    }
    let mut left_out = 0;
    while value.to_string().len() > MOST {
        let excess = value.to_string().len() - MOST;
        let Some(list) = longest_list(&mut value).filter(|list| !list.is_empty()) else {
            return json!({CUT: "the result is too long; ask for less"});
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

/// Redacts texts, and removes members without a value, which cost tokens and say nothing.
fn clean(value: &mut Value) {
    match value {
        Value::String(text) => *text = redact(text).into_owned(),
        Value::Array(values) => values.iter_mut().for_each(clean),
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(clean);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
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
