//! The shapes of an answer, in the order in which Anthropic writes their members.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use super::super::answer::{Stop, Usage};

/// An event of a stream. `type` is its name, too.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum StreamEvent<'c> {
    MessageStart { message: Message<'c> },
    ContentBlockStart { index: usize, content_block: Content<'c> },
    ContentBlockDelta { index: usize, delta: Delta<'c> },
    ContentBlockStop { index: usize },
    MessageDelta { delta: Ending<'c>, usage: WireUsage },
    MessageStop,
    Error { error: Error<'c> },
}

impl StreamEvent<'_> {
    pub(super) fn name(&self) -> &'static str {
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

/// The message, whole or as a stream begins it.
#[derive(Serialize)]
pub(super) struct Message<'c> {
    pub(super) id: &'c str,
    pub(super) r#type: &'static str,
    pub(super) role: &'static str,
    pub(super) model: &'c str,
    pub(super) content: Vec<Content<'c>>,
    #[serde(flatten)]
    pub(super) ending: Ending<'c>,
    pub(super) usage: WireUsage,
}

/// How an answer ended; all `null` while it has not.
#[derive(Serialize, Default)]
pub(super) struct Ending<'c> {
    pub(super) stop_reason: Option<&'static str>,
    pub(super) stop_sequence: Option<&'c str>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Content<'c> {
    Text {
        text: &'c str,
    },
    Thinking {
        thinking: &'c str,
        signature: &'c str,
    },
    RedactedThinking {
        data: &'c str,
    },
    ToolUse {
        id: Cow<'c, str>,
        name: &'c str,
        input: Input<'c>,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Input<'c> {
    /// An object, as the model wrote it.
    Object(&'c RawValue),
    Empty {},
    /// No object. Clients expect one, and the model should see what it wrote.
    Broken {
        broken_arguments: &'c str,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Delta<'c> {
    TextDelta { text: &'c str },
    ThinkingDelta { thinking: &'c str },
    SignatureDelta { signature: &'c str },
    InputJsonDelta { partial_json: &'c str },
}

#[derive(Serialize)]
pub(super) struct WireUsage {
    pub(super) input_tokens: u64,
    pub(super) cache_creation_input_tokens: u64,
    pub(super) cache_read_input_tokens: u64,
    pub(super) output_tokens: u64,
}

#[derive(Serialize)]
pub(super) struct Error<'c> {
    pub(super) r#type: &'static str,
    pub(super) message: &'c str,
}

impl<'c> Input<'c> {
    pub(super) fn of(arguments: &'c str) -> Input<'c> {
        match serde_json::from_str::<&RawValue>(arguments) {
            Ok(raw) if raw.get().starts_with('{') => Input::Object(raw),
            Ok(raw) if raw.get() == "null" => Input::Empty {},
            _ if arguments.trim().is_empty() => Input::Empty {},
            _ => Input::Broken {
                broken_arguments: arguments,
            },
        }
    }
}

pub(super) fn ending(stop: Option<&Stop>, has_calls: bool) -> Ending<'_> {
    let mut sequence = None;
    let reason = match stop {
        Some(Stop::Length) => "max_tokens",
        Some(Stop::Sequence(said)) => {
            sequence = said.as_deref();
            "stop_sequence"
        }
        Some(Stop::ToolCalls) => "tool_use",
        Some(Stop::Filtered) => "refusal",
        Some(Stop::Paused) => "pause_turn",
        None if has_calls => "tool_use",
        Some(Stop::Done) | None => "end_turn",
    };
    Ending {
        stop_reason: Some(reason),
        stop_sequence: sequence,
    }
}

/// The format counts what came from and went to a cache beside the input, not in it.
pub(super) fn usage(usage: Usage) -> WireUsage {
    let (read, written) = (usage.cached.unwrap_or(0), usage.cache_write.unwrap_or(0));
    let input = usage.input.unwrap_or(0);
    WireUsage {
        input_tokens: input.saturating_sub(read).saturating_sub(written),
        cache_creation_input_tokens: written,
        cache_read_input_tokens: read,
        output_tokens: usage.output.unwrap_or(0),
    }
}
