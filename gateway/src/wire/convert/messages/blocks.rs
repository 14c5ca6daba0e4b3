//! Blocks of a request for a backend, as they stand on the wire.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

/// A message.
#[derive(Serialize)]
pub(super) struct Message<'r> {
    pub(super) role: &'static str,
    pub(super) content: Content<'r>,
}

/// A string, which stands for one block of plain text, or blocks.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Content<'r> {
    Text(Cow<'r, str>),
    Blocks(Vec<Block<'r>>),
}

impl<'r> Content<'r> {
    /// The shorter of the two; `None` where there is nothing.
    pub(super) fn of(mut blocks: Vec<Block<'r>>) -> Option<Content<'r>> {
        match blocks.pop() {
            None => None,
            Some(Block::Text {
                text,
                cache_control: None,
            }) if blocks.is_empty() => Some(Content::Text(text)),
            Some(last) => {
                blocks.push(last);
                Some(Content::Blocks(blocks))
            }
        }
    }

    /// The blocks, none where it is a string.
    pub(super) fn blocks(&self) -> &[Block<'r>] {
        match self {
            Content::Text(_) => &[],
            Content::Blocks(blocks) => blocks,
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Block<'r> {
    Text {
        text: Cow<'r, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<&'r RawValue>,
    },
    Image {
        source: Place<'r>,
    },
    Document {
        source: Place<'r>,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<&'r str>,
    },
    Thinking {
        thinking: &'r str,
        signature: &'r str,
    },
    RedactedThinking {
        data: &'r str,
    },
    ToolUse {
        id: String,
        name: Cow<'r, str>,
        input: Cow<'r, RawValue>,
    },
    ToolResult {
        tool_use_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<Content<'r>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

impl<'r> Block<'r> {
    /// Plain text.
    pub(super) fn text(text: impl Into<Cow<'r, str>>) -> Block<'r> {
        Block::Text {
            text: text.into(),
            cache_control: None,
        }
    }
}

/// Where an image or a document is.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Place<'r> {
    Base64 { media_type: &'r str, data: &'r str },
    Text { media_type: &'static str, data: &'r str },
    Url { url: &'r str },
}
