//! Calls as Python writes them: `grep("x")`, `read(path="src/a.rs", first=10)`.

use serde_json::{Map, Value};

use super::error::{ArgumentsFault, CallError};
use super::json::Reader;
use super::tools::{KnownTool, Tools};
use super::{Dialect, Found};

/// A call of a known tool.
pub(super) type Made = Result<(String, Map<String, Value>), CallError>;

/// Adds the calls that a text consists of; whether it consists of calls of known tools. Between them may stand brackets
/// of a list, commas, comments, assignments and `print(...)`.
pub(super) fn calls(text: &str, tools: Tools<'_>, dialect: Dialect, found: &mut Found) -> bool {
    let mut made = Vec::new();
    let mut reader = Reader::python(text);
    while let Some(next) = reader.peek() {
        match next {
            b'[' | b']' | b',' | b';' | b')' => {
                reader.takes(next);
            }
            b'#' => {
                let line = reader.rest().find('\n').unwrap_or(reader.rest().len());
                reader.skip(line);
            }
            _ => match call(&mut reader, tools) {
                Some(call) => made.push(call),
                None => return false,
            },
        }
    }
    let some = !made.is_empty();
    for made in made {
        found.add(None, made, dialect);
    }
    some
}

fn call(reader: &mut Reader<'_>, tools: Tools<'_>) -> Option<Made> {
    let mut name = reader.name()?;
    if reader.takes(b'=') {
        name = reader.name()?;
    }
    if !reader.takes(b'(') {
        return None;
    }
    if name == "print" {
        name = reader.name()?;
        reader.takes(b'(').then_some(())?;
    }
    // Llama writes `grep.call(...)`.
    let tool = tools.named(name.strip_suffix(".call").unwrap_or(name))?;
    let mut arguments = Map::new();
    for position in 0.. {
        if reader.takes(b')') {
            break;
        }
        let mut named = reader.clone();
        let (key, value) = match named.name() {
            Some(key) if named.takes(b'=') => {
                *reader = named;
                (Some(key), reader.value().ok()?)
            }
            _ => (tool.parameters.get(position).copied(), reader.value().ok()?),
        };
        let Some(key) = key else {
            return Some(Err(tool.refusal(ArgumentsFault::SomeUnnamed)));
        };
        arguments.insert(key.to_owned(), value);
        if !reader.takes(b',') && reader.peek() != Some(b')') {
            return None;
        }
    }
    Some(Ok((tool.name.to_owned(), lifted(arguments, tool))))
}

/// `grep({"pattern": "x"})` gives all arguments as one.
fn lifted(mut arguments: Map<String, Value>, tool: &KnownTool<'_>) -> Map<String, Value> {
    let first = tool.parameters.first().copied().unwrap_or_default();
    match arguments.get(first) {
        Some(Value::Object(inner)) if arguments.len() == 1 && tool.fits(inner) => match arguments.remove(first) {
            Some(Value::Object(inner)) => inner,
            _ => arguments,
        },
        _ => arguments,
    }
}
