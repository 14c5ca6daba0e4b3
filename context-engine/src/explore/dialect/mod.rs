//! Tool calls and citations, parsed from a model's answer.
//!
//! Servers parse the tool calls of their models and hand them over. In text one form is read: JSON objects with a name and
//! arguments, alone, in a list, in a fenced block, among words, or behind `<tool_call>` ([`text`]). Text without a call is
//! the final answer.
//!
//! Both possible mistakes are cheap: a missed call ends an exploration early, and an answer that is taken for a call costs
//! one turn. A call that is meant and cannot be read is answered with an error in words.
//!
//! Reading is linear in the text's length, whatever the text: nesting is bounded, and so is repeated work.

pub(crate) mod citations;
mod error;
mod json;
#[cfg(test)]
mod tests;
mod text;
mod tools;

use muninn_text::model::Reply;
use serde_json::{Map, Value};

use error::CallError;
pub(crate) use tools::KnownTool;

/// Maximum number of calls that are read from one answer. A turn makes a few calls.
const MAX_CALLS: usize = 4_096;
/// Maximum number of errors that are reported to the model.
const MAX_MALFORMED: usize = 16;

/// The content of a model's answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Said {
    /// The model calls tools, or tried to. One of the two lists can be empty, but not both.
    Calls {
        /// The calls, in order.
        calls: Vec<ParsedCall>,
        /// The calls that could not be parsed.
        malformed: Vec<Malformed>,
    },
    /// Its final answer, without its thinking.
    Final(String),
}

/// A call that could be read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ParsedCall {
    /// The id by which its result is awaited; none where it was written as text.
    pub(crate) id: Option<String>,
    /// The tool's name, as the tool is known.
    pub(crate) name: String,
    pub(crate) arguments: Map<String, Value>,
}

/// A call that could not be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Malformed {
    /// The id by which an answer is awaited, if any.
    pub(crate) id: Option<String>,
    /// The error message for the model.
    pub(crate) error: CallError,
}

/// A call's tool and arguments, or what is wrong with it.
type Made = Result<(String, Map<String, Value>), CallError>;

/// Reads an answer. Where it has native calls, its text is what the model says beside them and is not looked through.
pub(crate) fn parse(reply: &Reply, tools: &[KnownTool<'_>]) -> Said {
    let tools = tools::Tools(tools);
    if reply.calls.is_empty() {
        return text::parse(&reply.text, tools);
    }
    let mut found = Found::default();
    for call in &reply.calls {
        let id = Some(call.id.clone()).filter(|id| !id.is_empty());
        let made = tools.meant(&call.name).and_then(|tool| tool.call(Value::String(call.arguments.clone())));
        found.add(id, made);
    }
    found.said(&reply.text)
}

/// What was found so far.
#[derive(Debug, Default)]
struct Found {
    calls: Vec<ParsedCall>,
    malformed: Vec<Malformed>,
}

impl Found {
    fn add(&mut self, id: Option<String>, made: Made) {
        match made {
            Ok((name, arguments)) if self.calls.len() < MAX_CALLS => {
                self.calls.push(ParsedCall { id, name, arguments });
            }
            // One that is awaited by its id is always answered.
            Err(error) if id.is_some() || self.malformed.len() < MAX_MALFORMED => {
                self.malformed.push(Malformed { id, error });
            }
            Ok(_) | Err(_) => {}
        }
    }

    fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.malformed.is_empty()
    }

    fn said(self, text: &str) -> Said {
        if self.is_empty() {
            return Said::Final(text.trim().to_owned());
        }
        Said::Calls { calls: self.calls, malformed: self.malformed }
    }
}
