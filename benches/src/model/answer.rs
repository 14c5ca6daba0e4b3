//! A scripted model's answers, and their form on the wire.

use serde_json::{Value, json};

use super::heard::Heard;

/// The behaviour of a scripted model.
pub(crate) trait Policy: Send + Sync {
    /// The answer to a conversation.
    fn answer(&self, heard: &Heard) -> Said;
}

impl<F: Fn(&Heard) -> Said + Send + Sync> Policy for F {
    fn answer(&self, heard: &Heard) -> Said {
        self(heard)
    }
}

/// An answer, or a fault in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    /// Words, and calls in the format's own form.
    Answer { text: String, calls: Vec<Spoken> },
    /// An error of this status.
    Status(u16),
    /// Nothing, until the client goes.
    Silence,
    /// An answer, one byte a second.
    Drip,
    /// Half an answer.
    Break,
}

/// A call as it is spoken: the arguments may be anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spoken {
    pub(crate) tool: String,
    pub(crate) arguments: String,
}

impl Spoken {
    pub(crate) fn new(tool: &str, arguments: &Value) -> Self {
        Self { tool: tool.to_owned(), arguments: arguments.to_string() }
    }
}

impl Said {
    pub(crate) fn words(text: impl Into<String>) -> Self {
        Self::Answer { text: text.into(), calls: Vec::new() }
    }

    pub(crate) fn calls(calls: Vec<Spoken>) -> Self {
        Self::Answer { text: String::new(), calls }
    }

    /// The end, with citations.
    pub(crate) fn cites<T: ToString>(places: impl IntoIterator<Item = T>) -> Self {
        let places: Vec<String> = places.into_iter().map(|place| place.to_string()).collect();
        Self::calls(vec![Spoken::new("final", &json!({"citations": places}))])
    }
}

/// The body of a chat completion. A token is taken for four bytes.
pub(crate) fn body(text: &str, calls: &[Spoken], heard: &Heard) -> String {
    let made = calls.iter().enumerate();
    let made: Vec<Value> = made
        .map(|(at, call)| {
            let id = format!("t{:03}c{at:04}", heard.turns);
            json!({"id": id, "type": "function", "function": {"name": call.tool, "arguments": call.arguments}})
        })
        .collect();
    let said = text.len() + calls.iter().map(|call| call.tool.len() + call.arguments.len()).sum::<usize>();
    let (input, output) = (heard.bytes / 4, said / 4 + 1);
    let mut message = json!({"role": "assistant", "content": text});
    if !made.is_empty() {
        message["tool_calls"] = Value::Array(made);
    }
    let finish = if calls.is_empty() { "stop" } else { "tool_calls" };
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output},
    })
    .to_string()
}
