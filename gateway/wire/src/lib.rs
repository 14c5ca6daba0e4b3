//! The three wire formats as bytes: pure functions without I/O.
//!
//! A request is not parsed into a tree and serialized again: that reorders keys, rounds numbers and invalidates what
//! clients sign. [`Prompt`] is a view over the raw body. It knows the offset of each text block, so a block can be
//! spliced in and all other bytes stay. `answer` and `error` write Muninn's own bodies. Only [`convert`] parses a body
//! completely, for a backend that speaks another format than the client.
//!
//! A block is inserted into a body without changing any other byte:
//!
//! ```
//! use muninn_wire::{ParseError, Prompt, Site, WireFormat, splice};
//!
//! let body = r#"{"messages": [{"role": "user", "content": "hi"}], "seed": 1.0}"#;
//! let prompt = Prompt::parse(WireFormat::Chat, body.as_bytes())?;
//! let insertions = prompt.insert(Site { message: 0, block: 0 }, "a block");
//! assert_eq!(
//!     splice(body.as_bytes(), insertions),
//!     r#"{"messages": [{"role": "user", "content": "hi\n\na block"}], "seed": 1.0}"#
//! );
//! # Ok::<(), ParseError>(())
//! ```

mod align;
pub mod answer;
mod chat;
pub mod convert;
mod end_watch;
pub mod error;
pub mod failure;
mod messages;
pub mod overflow;
mod prompt;
mod responses;
mod scan;
mod splice;
mod surrogates;
mod tools;
mod usage;

use serde::Serialize;

pub use align::Aligner;
pub use end_watch::EndWatch;
pub use prompt::{Block, BlockKind, Content, Insertion, Message, ParseError, Prompt, Role, Site};
pub use scan::{Element, Members, Text};
pub use splice::splice;
pub use surrogates::{Joiner, Piece};
pub use tools::{ToolPart, decoded_arguments, result_text};
pub use usage::UsageWatch;

/// The version of the messages API, sent in the header `anthropic-version`.
pub const ANTHROPIC_VERSION: &str = "2023-06-01";

/// A wire format: one of the three APIs.
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
    /// The path of requests in this format.
    pub fn path(self) -> &'static str {
        match self {
            WireFormat::Chat => "/v1/chat/completions",
            WireFormat::Messages => "/v1/messages",
            WireFormat::Responses => "/v1/responses",
        }
    }

    /// The key of the request's member that holds the conversation.
    pub fn conversation(self) -> &'static str {
        match self {
            WireFormat::Chat | WireFormat::Messages => "messages",
            WireFormat::Responses => "input",
        }
    }

    /// The format of errors on a path. Paths of no format get errors in the chat format.
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
