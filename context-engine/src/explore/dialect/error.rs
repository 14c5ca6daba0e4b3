//! Errors of a tool call. Their messages are sent to the model.

use super::json;

/// How a call is written.
const FORM: &str = "{\"name\": \"...\", \"arguments\": {...}}";

/// Why a value that looks like a call cannot be executed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CallError {
    /// No tool has this name. `known` lists the names of all tools.
    #[error("There is no tool {said:?}. The tools are: {known}.")]
    UnknownTool { said: String, known: String },
    /// The arguments of a tool cannot be parsed. `example` shows valid arguments.
    #[error("The arguments of {tool} could not be read: {fault}. Give one JSON object, such as {example}.")]
    Arguments { tool: String, fault: ArgumentsFault, example: String },
    /// A value in the place of a call is not a call.
    #[error("{shown} is no call. Write {FORM}.")]
    NoCall { shown: String },
    /// The call is not JSON.
    #[error("The call could not be read: {0}. Write {FORM}.")]
    Json(json::Fault),
}

/// An error in the arguments of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ArgumentsFault {
    /// The arguments are not JSON.
    #[error(transparent)]
    Json(#[from] json::Fault),
    #[error("they are a list")]
    List,
    #[error("they have no names")]
    NoNames,
    /// The model repeats a tool's schema.
    #[error("that is the description of the tool")]
    Schema,
}
