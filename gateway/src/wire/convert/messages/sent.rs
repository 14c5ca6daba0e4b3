//! What a client is sent: events of a stream, and the message that they add up to.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use super::usage::WireUsage;

/// Writes one event. Its name is what its data says as `type`.
pub(super) fn emit(out: &mut String, sent: &Sent<'_>) {
    // It holds nothing that cannot be written.
    let Ok(json) = serde_json::to_string(sent) else { return };
    out.push_str("event: ");
    out.push_str(sent.name());
    out.push_str("\ndata: ");
    out.push_str(&json);
    out.push_str("\n\n");
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Sent<'w> {
    MessageStart { message: Message<'w> },
    ContentBlockStart { index: usize, content_block: Content<'w> },
    ContentBlockDelta { index: usize, delta: Delta<'w> },
    ContentBlockStop { index: usize },
    MessageDelta { delta: Ending<'w>, usage: WireUsage },
    MessageStop,
    Error { error: Failed<'w> },
}

impl Sent<'_> {
    fn name(&self) -> &'static str {
        match self {
            Sent::MessageStart { .. } => "message_start",
            Sent::ContentBlockStart { .. } => "content_block_start",
            Sent::ContentBlockDelta { .. } => "content_block_delta",
            Sent::ContentBlockStop { .. } => "content_block_stop",
            Sent::MessageDelta { .. } => "message_delta",
            Sent::MessageStop => "message_stop",
            Sent::Error { .. } => "error",
        }
    }
}

#[derive(Serialize)]
pub(super) struct Message<'w> {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub role: &'static str,
    pub model: &'w str,
    pub content: Vec<Content<'w>>,
    pub stop_reason: Option<&'static str>,
    pub stop_sequence: Option<&'w str>,
    pub usage: WireUsage,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Content<'w> {
    Text {
        text: &'w str,
    },
    Thinking {
        thinking: &'w str,
        signature: &'w str,
    },
    RedactedThinking {
        data: &'w str,
    },
    ToolUse {
        id: Cow<'w, str>,
        name: &'w str,
        input: Cow<'w, RawValue>,
    },
}

#[derive(Serialize)]
#[serde(tag = "type")]
pub(super) enum Delta<'w> {
    #[serde(rename = "text_delta")]
    Text { text: &'w str },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: &'w str },
    #[serde(rename = "signature_delta")]
    Signature { signature: &'w str },
    #[serde(rename = "input_json_delta")]
    InputJson { partial_json: &'w str },
}

#[derive(Serialize)]
pub(super) struct Ending<'w> {
    pub stop_reason: &'static str,
    pub stop_sequence: Option<&'w str>,
}

#[derive(Serialize)]
pub(super) struct Failed<'w> {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub message: &'w str,
}
