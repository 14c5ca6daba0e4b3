//! What a model said, read as calls of tools, whichever way it writes them.
//!
//! Servers that know a model's own way of calling hand over calls; the others hand over text. So what is no call by the
//! server's account is looked through for calls as models are trained to write them: JSON, XML, special tokens, fenced
//! blocks. What is none of these is the final answer.
//!
//! Two mistakes are possible, and both are cheap only in one direction. A call that is missed ends an exploration too
//! early; an answer that is taken for a call costs one turn. Still, code in an answer looks much like calls, so what
//! stands in passing counts only with a known tool's name and arguments that fit it; what a model clearly meant to be a
//! call (in a tag, in a block for calls) but got wrong is answered with an error in words.
//!
//! All of it is linear in the text's length, whatever the text: nesting is bounded, and so is the work that is done twice
//! ([`text`]).

pub(crate) mod citations;
mod error;
mod fence;
mod json;
mod marked;
mod object;
mod python;
#[cfg(test)]
mod tests;
mod text;
mod tools;
mod xml;

use muninn_memory::model::Reply;
use serde::Serialize;
use serde_json::{Map, Value};

use error::CallError;
pub(crate) use tools::KnownTool;

/// More calls of one answer are not read: a turn makes a few.
const MAX_CALLS: usize = 4_096;
/// So many errors are told to a model; more would teach it nothing.
const MAX_MALFORMED: usize = 16;

/// What a model said.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Said {
    /// It calls tools, or tried to. One of the lists may be empty, not both.
    Calls {
        /// What it calls, in order.
        calls: Vec<ParsedCall>,
        /// What it got wrong.
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
    /// The arguments. Out of XML all are strings, a list of them where a name came several times: which of them are
    /// numbers only the tool knows.
    pub(crate) arguments: Map<String, Value>,
    /// How it was written.
    pub(crate) dialect: Dialect,
}

/// A call that could not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Malformed {
    /// The id by which an answer is awaited, if any.
    pub(crate) id: Option<String>,
    /// What is wrong, said to the model.
    pub(crate) error: CallError,
}

/// How a call was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Dialect {
    /// As the backend's format has it.
    Native,
    /// JSON in the text.
    Json,
    /// Tags.
    Xml,
    /// A fenced block.
    Fenced,
    /// Special tokens that the server left in the text.
    Marked,
}

impl Dialect {
    /// As a receipt shows it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Json => "json",
            Self::Xml => "xml",
            Self::Fenced => "fenced",
            Self::Marked => "marked",
        }
    }
}

/// Reads an answer. Where it has native calls, its text is what the model says beside them and is not looked through.
pub(crate) fn parse(reply: &Reply, tools: &[KnownTool<'_>]) -> Said {
    let tools = tools::Tools(tools);
    if reply.calls.is_empty() {
        return text::parse(&reply.text, tools);
    }
    let mut found = Found::default();
    for call in &reply.calls {
        let id = Some(call.id.clone()).filter(|id| !id.is_empty());
        let made = tools.meant(&call.name).and_then(|tool| {
            let arguments = object::arguments_text(&call.arguments).map_err(|fault| tool.refusal(fault))?;
            Ok((tool.name.to_owned(), arguments))
        });
        found.add(id, made, Dialect::Native);
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
    fn add(&mut self, id: Option<String>, made: Result<(String, Map<String, Value>), CallError>, dialect: Dialect) {
        match made {
            Ok((name, arguments)) if self.calls.len() < MAX_CALLS => self.calls.push(ParsedCall {
                id,
                name,
                arguments,
                dialect,
            }),
            // One that is awaited by its id is always answered.
            Err(error) if id.is_some() || self.malformed.len() < MAX_MALFORMED => {
                self.malformed.push(Malformed { id, error });
            }
            Ok(_) | Err(_) => {}
        }
    }

    fn len(&self) -> usize {
        self.calls.len() + self.malformed.len()
    }

    fn said(self, text: &str) -> Said {
        if self.len() == 0 {
            return Said::Final(text.trim().to_owned());
        }
        Said::Calls {
            calls: self.calls,
            malformed: self.malformed,
        }
    }
}
