use serde::Serialize;

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
