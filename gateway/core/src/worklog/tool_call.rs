use serde::{Deserialize, Serialize};

/// A call of a client's tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolCall {
    Command(String),
    /// An edit of a file: the text before and after.
    Edit {
        file: String,
        /// The replaced text; empty for a new file.
        before: String,
        /// The new text.
        after: String,
    },
}

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolOutcome {
    Worked,
    /// It failed, with this message.
    Failed(String),
}
