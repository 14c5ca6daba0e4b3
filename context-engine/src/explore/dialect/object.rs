//! Calls in JSON values.

use serde_json::{Map, Value};

use super::error::{ArgumentsFault, CallError};
use super::json;
use super::tools::{Tools, shown};
use super::{Dialect, Found};

const NAMES: [&str; 6] = ["name", "tool", "function", "tool_name", "function_name", "action"];
const ARGUMENTS: [&str; 8] = [
    "arguments",
    "parameters",
    "args",
    "input",
    "params",
    "action_input",
    "tool_input",
    "kwargs",
];
/// What holds a call, or a list of them.
const HOLDERS: [&str; 7] = [
    "tool_calls",
    "calls",
    "function_calls",
    "function",
    "function_call",
    "tool_call",
    "tool_use",
];
/// What stands beside a name and is no argument.
const BESIDE: [&str; 4] = ["id", "type", "call_id", "index"];
/// Text in text in text; nobody means more.
const MAX_UNWRAPPED: usize = 3;

/// What the place of a value says about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Inside of something that is for calls alone. Whatever is wrong with it is told.
    Call,
    /// It is all there is: an unknown name is a mistake if it has arguments, and anything else is an answer.
    Alone,
    /// Among words: a call only if its name and its arguments say so.
    Passing,
}

/// Adds the calls that a value is, or holds.
pub(super) fn calls(value: Value, place: Place, tools: Tools<'_>, dialect: Dialect, found: &mut Found) {
    match value {
        Value::Array(items) => {
            for item in items {
                // Reading bounded the depth.
                if item.is_object() || item.is_array() {
                    calls(item, place, tools, dialect, found);
                } else if place == Place::Call {
                    found.add(None, Err(no_call(&item)), dialect);
                }
            }
        }
        Value::Object(object) => one(object, place, tools, dialect, found),
        Value::String(text) if place == Place::Call => match json::whole(&text) {
            Ok(inner @ (Value::Object(_) | Value::Array(_))) => calls(inner, place, tools, dialect, found),
            _ => found.add(None, Err(no_call(&Value::String(text))), dialect),
        },
        other if place == Place::Call => found.add(None, Err(no_call(&other)), dialect),
        _ => {}
    }
}

/// Whether an object that begins with these two keys is a call.
pub(super) fn names(first: &str, second: &str) -> bool {
    NAMES.contains(&first) && ARGUMENTS.contains(&second)
}

fn no_call(value: &Value) -> CallError {
    let shown = shown(&value.to_string());
    CallError::NoCall { shown }
}

fn one(mut object: Map<String, Value>, place: Place, tools: Tools<'_>, dialect: Dialect, found: &mut Found) {
    let held = HOLDERS.iter().find(|key| object.get(**key).is_some_and(is_holder));
    if let Some(inner) = held.and_then(|key| object.remove(*key)) {
        let id = id_of(&object);
        let (before, place) = (
            found.calls.len(),
            if place == Place::Passing { place } else { Place::Call },
        );
        calls(inner, place, tools, dialect, found);
        if let [call] = &mut found.calls[before..] {
            call.id = call.id.take().or(id);
        }
        return;
    }
    let Some(key) = NAMES.iter().find(|key| object.get(**key).is_some_and(Value::is_string)) else {
        return unnamed(object, place, tools, dialect, found);
    };
    let Some(Value::String(name)) = object.remove(*key) else {
        return;
    };
    let given = ARGUMENTS.iter().find_map(|key| object.remove(*key));
    let id = id_of(&object);
    let Some(tool) = tools.named(&name) else {
        let meant = place == Place::Call || place == Place::Alone && given.as_ref().is_some_and(Value::is_object);
        if let (true, Err(error)) = (meant, tools.meant(&name)) {
            found.add(id, Err(error), dialect);
        }
        return;
    };
    let made = match given {
        Some(given) => {
            if place == Place::Passing && !(given.is_object() || given.is_string()) {
                return;
            }
            arguments(given, 0)
        }
        None => {
            BESIDE.iter().for_each(|key| drop(object.remove(*key)));
            if place != Place::Call && !tool.fits(&object) && !(place == Place::Alone && object.is_empty()) {
                return;
            }
            Ok(object)
        }
    };
    match made {
        Ok(schema) if is_schema(&schema) => {
            if place == Place::Call {
                found.add(id, Err(tool.refusal(ArgumentsFault::Schema)), dialect);
            }
        }
        Ok(arguments) => found.add(id, Ok((tool.name.to_owned(), arguments)), dialect),
        Err(fault) => found.add(id, Err(tool.refusal(fault)), dialect),
    }
}

/// `{"grep": {"pattern": "x"}}`, or something else.
fn unnamed(object: Map<String, Value>, place: Place, tools: Tools<'_>, dialect: Dialect, found: &mut Found) {
    let mut entries = object.iter();
    if let (Some((key, Value::Object(inner))), None) = (entries.next(), entries.next())
        && let Some(tool) = tools.named(key)
        && (place != Place::Passing || tool.fits(inner))
        && !is_schema(inner)
    {
        found.add(None, Ok((tool.name.to_owned(), inner.clone())), dialect);
    } else if place == Place::Call {
        found.add(None, Err(no_call(&Value::Object(object))), dialect);
    }
}

fn is_holder(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(Value::is_object),
        other => other.is_object(),
    }
}

/// Models that repeat what they were told repeat a tool's schema.
fn is_schema(arguments: &Map<String, Value>) -> bool {
    arguments.get("properties").is_some_and(Value::is_object) && arguments.contains_key("type")
}

fn id_of(object: &Map<String, Value>) -> Option<String> {
    let id = object.get("id").or_else(|| object.get("call_id"))?;
    id.as_str().map(str::to_owned)
}

/// Arguments that stand alone, as text.
pub(super) fn arguments_text(text: &str) -> Result<Map<String, Value>, ArgumentsFault> {
    arguments(Value::String(text.to_owned()), 0)
}

fn arguments(value: Value, unwrapped: usize) -> Result<Map<String, Value>, ArgumentsFault> {
    match value {
        Value::Null => Ok(Map::new()),
        Value::Object(object) => Ok(object),
        Value::String(text) if text.trim().is_empty() => Ok(Map::new()),
        Value::String(text) if unwrapped < MAX_UNWRAPPED => arguments(json::whole(&text)?, unwrapped + 1),
        Value::Array(mut items) if items.len() <= 1 => match items.pop() {
            None => Ok(Map::new()),
            Some(Value::Object(object)) => Ok(object),
            Some(_) => Err(ArgumentsFault::List),
        },
        Value::Array(_) => Err(ArgumentsFault::List),
        Value::String(_) | Value::Number(_) | Value::Bool(_) => Err(ArgumentsFault::NoNames),
    }
}
