//! Writer of content blocks.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use super::super::request::{Dropped, JsonStr, Part, Source, Thinking};
use super::{REDACTED, SEAL};

/// An optional cache marker, from the client or added by Muninn.
pub(super) type Marker<'r> = Option<&'r RawValue>;

/// A message of one side.
#[derive(Debug, Serialize)]
pub(super) struct Turn<'r> {
    pub role: &'static str,
    pub content: Vec<Block<'r>>,
}

/// A content block.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Block<'r> {
    Text {
        text: JsonStr<'r>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Marker<'r>,
    },
    Image {
        source: MediaSource<'r>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Marker<'r>,
    },
    Document {
        source: MediaSource<'r>,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<&'r str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Marker<'r>,
    },
    Thinking {
        thinking: &'r str,
        signature: &'r str,
    },
    RedactedThinking {
        data: &'r str,
    },
    ToolUse {
        id: &'r str,
        name: Cow<'r, str>,
        input: Cow<'r, RawValue>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Marker<'r>,
    },
    ToolResult {
        tool_use_id: &'r str,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        content: Vec<Block<'r>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Marker<'r>,
    },
}

impl<'r> Block<'r> {
    pub(super) fn text(text: impl Into<JsonStr<'r>>) -> Block<'r> {
        Block::Text { text: text.into(), cache_control: None }
    }

    pub(super) fn is_thinking(&self) -> bool {
        matches!(self, Block::Thinking { .. } | Block::RedactedThinking { .. })
    }
}

/// The data or the URL of an image or a document.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum MediaSource<'r> {
    Base64 { media_type: &'r str, data: &'r str },
    Text { media_type: &'static str, data: &'r str },
    Url { url: &'r str },
}

/// Writes text. Blank text is skipped, because the API refuses it.
pub(super) fn text_block<'r>(text: JsonStr<'r>, cache_control: Marker<'r>) -> Option<Block<'r>> {
    (!text.is_blank()).then_some(Block::Text { text, cache_control })
}

/// Writes thinking with a seal of this format. The API refuses all other thinking.
pub(super) fn thinking_block<'r>(thinking: &'r Thinking<'r>) -> Option<Block<'r>> {
    let seal = thinking.seal.as_deref()?;
    if let Some(data) = seal.strip_prefix(REDACTED) {
        return Some(Block::RedactedThinking { data });
    }
    let signature = seal.strip_prefix(SEAL)?;
    Some(Block::Thinking { thinking: &thinking.text, signature })
}

/// Writes a part that is allowed in the user's turn and in results.
pub(super) fn content_block<'r>(part: &'r Part<'r>, dropped: &mut Dropped) -> Option<Block<'r>> {
    match part {
        Part::Text { text, cache_control } => text_block(text.borrowed(), *cache_control),
        Part::Image { source, .. } => match source {
            Source::Base64 { media_type, data } => {
                Some(Block::Image { source: MediaSource::Base64 { media_type, data }, cache_control: None })
            }
            Source::Url(url) => Some(Block::Image { source: MediaSource::Url { url }, cache_control: None }),
            Source::Text(_) | Source::File(_) => {
                dropped.add("messages.image");
                None
            }
        },
        Part::Document { source, name } => document(source, name.as_deref(), dropped),
        Part::Thinking(_) | Part::ToolCall(_) | Part::ToolResult(_) => None,
    }
}

fn document<'r>(source: &'r Source<'r>, title: Option<&'r str>, dropped: &mut Dropped) -> Option<Block<'r>> {
    let source = match source {
        Source::Base64 { media_type, data } if media_type.starts_with("image/") => {
            return Some(Block::Image { source: MediaSource::Base64 { media_type, data }, cache_control: None });
        }
        Source::Base64 { media_type, data } if media_type == "application/pdf" => {
            MediaSource::Base64 { media_type, data }
        }
        Source::Text(text) if text.trim().is_empty() => return None,
        Source::Text(text) => MediaSource::Text { media_type: "text/plain", data: text },
        Source::Url(url) => MediaSource::Url { url },
        Source::Base64 { .. } | Source::File(_) => {
            dropped.add("messages.document");
            return None;
        }
    };
    Some(Block::Document { source, title, cache_control: None })
}
