//! The tools that may be meant, and their arguments.

use serde_json::{Map, Value};

use super::error::{ArgumentsFault, CallError};
use super::{Made, json};

/// What of a model's words is repeated to it in an error, in characters.
const MAX_SHOWN: usize = 60;
/// Text in text in text; nobody means more.
const MAX_UNWRAPPED: usize = 3;

/// A tool that a model was offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KnownTool<'a> {
    pub(crate) name: &'a str,
    pub(crate) first_parameter: Option<&'a str>,
}

impl KnownTool<'_> {
    /// A call with these arguments: an object, or JSON in a string.
    pub(super) fn call(&self, arguments: Value) -> Made {
        let arguments = self::arguments(arguments, 0).map_err(|fault| self.refusal(fault))?;
        Ok((self.name.to_owned(), arguments))
    }

    /// An error for a model whose arguments could not be read.
    pub(super) fn refusal(&self, fault: ArgumentsFault) -> CallError {
        let example = match self.first_parameter {
            None => "{}".to_owned(),
            Some(first) => format!("{{\"{first}\": ...}}"),
        };
        CallError::Arguments { tool: self.name.to_owned(), fault, example }
    }
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

/// All tools that a model was offered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tools<'a>(pub(super) &'a [KnownTool<'a>]);

impl<'a> Tools<'a> {
    /// The tool of this name, in any case and behind a namespace (`functions.grep`, `default_api:grep`,
    /// `mcp__x__grep`), or what to tell the model.
    pub(super) fn meant(self, said: &str) -> Result<&'a KnownTool<'a>, CallError> {
        let name = said.trim();
        let last = name.rsplit(['.', ':', '/']).next().unwrap_or(name);
        let last = last.rsplit("__").next().unwrap_or(last);
        let is = |tool: &&KnownTool<'_>| [name, last].iter().any(|said| tool.name.eq_ignore_ascii_case(said));
        self.0.iter().find(is).ok_or_else(|| {
            let names: Vec<&str> = self.0.iter().map(|tool| tool.name).collect();
            CallError::UnknownTool { said: shown(said), known: names.join(", ") }
        })
    }
}

/// The beginning of what a model wrote.
pub(super) fn shown(said: &str) -> String {
    said.trim().chars().take(MAX_SHOWN).collect()
}
