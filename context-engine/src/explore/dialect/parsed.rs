use serde_json::{Map, Value};

use super::error::CallError;

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
pub(crate) type Made = Result<(String, Map<String, Value>), CallError>;

/// The calls and the malformed calls that the parser has found so far.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) calls: Vec<ParsedCall>,
    pub(crate) malformed: Vec<Malformed>,
}
