//! The serialized events of a stream, and the message that they build.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use super::super::sse::write_event;
use super::usage::WireUsage;

/// Writes one server-sent event. Its name is the `type` of its data.
pub(super) fn emit(out: &mut String, event: &StreamEvent<'_>) {
    write_event(event.name(), event, out);
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum StreamEvent<'w> {
    MessageStart { message: Message<'w> },
    ContentBlockStart { index: usize, content_block: Content<'w> },
    ContentBlockDelta { index: usize, delta: Delta<'w> },
    ContentBlockStop { index: usize },
    MessageDelta { delta: StopDelta<'w>, usage: WireUsage },
    MessageStop,
    Error { error: ErrorObject<'w> },
}

impl StreamEvent<'_> {
    fn name(&self) -> &'static str {
        match self {
            StreamEvent::MessageStart { .. } => "message_start",
            StreamEvent::ContentBlockStart { .. } => "content_block_start",
            StreamEvent::ContentBlockDelta { .. } => "content_block_delta",
            StreamEvent::ContentBlockStop { .. } => "content_block_stop",
            StreamEvent::MessageDelta { .. } => "message_delta",
            StreamEvent::MessageStop => "message_stop",
            StreamEvent::Error { .. } => "error",
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
    Text { text: &'w str },
    Thinking { thinking: &'w str, signature: &'w str },
    RedactedThinking { data: &'w str },
    ToolUse { id: Cow<'w, str>, name: &'w str, input: Cow<'w, RawValue> },
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
pub(super) struct StopDelta<'w> {
    pub stop_reason: &'static str,
    pub stop_sequence: Option<&'w str>,
}

#[derive(Serialize)]
pub(super) struct ErrorObject<'w> {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub message: &'w str,
}
