//! The three wire formats, as bytes: pure functions, no I/O.
//!
//! A request is never parsed into a tree and written out again, because that reorders keys, rounds numbers and breaks
//! what clients sign. [`Prompt`] is a view over the raw body instead: it knows where each text block lies, so that a
//! block can be spliced in and everything else stays as it was. `answer` and `error` write the few bodies that are our
//! own. Only [`convert`] takes a body apart, for a backend that speaks another format than the client.

mod align;
pub mod answer;
mod chat;
pub mod convert;
mod ending;
pub mod error;
pub mod failure;
mod messages;
pub mod overflow;
mod prompt;
mod responses;
mod scan;
mod surrogates;
mod tools;
mod usage;

use serde::Serialize;

pub use align::Aligner;
pub use ending::Ending;
pub use prompt::{Block, BlockKind, Content, Insertion, Message, ParseError, Prompt, Role, Site};
pub use scan::{Element, Members, Text};
pub use surrogates::{Joiner, Piece};
pub use tools::{ToolPart, result_text};
pub use usage::UsageWatch;

/// The version of the messages API that requests are written for, in the header `anthropic-version`.
pub(crate) const ANTHROPIC_VERSION: &str = "2023-06-01";

/// Which of the three APIs a request speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WireFormat {
    /// `POST /v1/chat/completions`.
    Chat,
    /// `POST /v1/messages`.
    Messages,
    /// `POST /v1/responses`.
    Responses,
}

/// A family of wire formats that a backend speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// Chat completions and responses.
    #[serde(rename = "openai")]
    OpenAi,
    /// Messages.
    Anthropic,
}

impl WireFormat {
    /// The path that requests of this format are posted to.
    #[must_use]
    pub fn path(self) -> &'static str {
        match self {
            WireFormat::Chat => "/v1/chat/completions",
            WireFormat::Messages => "/v1/messages",
            WireFormat::Responses => "/v1/responses",
        }
    }

    /// The member of a request that holds the conversation.
    pub(crate) fn conversation(self) -> &'static str {
        match self {
            WireFormat::Chat | WireFormat::Messages => "messages",
            WireFormat::Responses => "input",
        }
    }

    /// The format that a path belongs to, for errors on paths that are only forwarded.
    #[must_use]
    pub fn of_path(path: &str) -> WireFormat {
        if path.starts_with("/v1/messages") {
            WireFormat::Messages
        } else if path.starts_with("/v1/responses") {
            WireFormat::Responses
        } else {
            WireFormat::Chat
        }
    }
}
