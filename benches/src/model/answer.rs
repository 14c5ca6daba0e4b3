//! A scripted model's answers, and their form on the wire.

use serde_json::{Value, json};

use super::conversation::Conversation;

/// An answer, or a fault in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Turn {
        text: String,
        calls: Vec<Call>,
    },
    /// An error of this status.
    Status(u16),
    /// Nothing, until the client goes.
    Silence,
    /// An answer, one byte a second.
    Drip,
    /// Half an answer.
    Break,
}

/// A call as it is written: the arguments may be anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) tool: String,
    pub(crate) arguments: String,
}

pub(crate) fn call(tool: &str, arguments: Value) -> Call {
    Call { tool: tool.to_owned(), arguments: arguments.to_string() }
}

impl Answer {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Turn { text: text.into(), calls: Vec::new() }
    }

    pub(crate) fn calls(calls: impl IntoIterator<Item = Call>) -> Self {
        Self::Turn { text: String::new(), calls: calls.into_iter().collect() }
    }

    /// The end of an exploration, with citations.
    pub(crate) fn cites<T: ToString>(places: impl IntoIterator<Item = T>) -> Self {
        let places: Vec<String> = places.into_iter().map(|place| place.to_string()).collect();
        Self::calls([call("final", json!({"citations": places}))])
    }
}

/// The body of a chat completion. A token counts as four bytes.
pub(super) fn body(text: &str, calls: &[Call], conversation: &Conversation) -> String {
    let mut made = Vec::new();
    let mut output = text.len();
    for (at, Call { tool, arguments }) in calls.iter().enumerate() {
        let id = format!("t{:03}c{at:04}", conversation.turns);
        made.push(json!({"id": id, "type": "function", "function": {"name": tool, "arguments": arguments}}));
        output += tool.len() + arguments.len();
    }
    let mut message = json!({"role": "assistant", "content": text});
    if !made.is_empty() {
        message["tool_calls"] = Value::Array(made);
    }
    let (input, output) = (conversation.bytes / 4, output / 4 + 1);
    let finish = if calls.is_empty() { "stop" } else { "tool_calls" };
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output},
    })
    .to_string()
}
