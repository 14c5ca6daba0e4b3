//! The three wire formats of clients and backends.

use std::fmt;

use clap::ValueEnum;

/// A wire format. Its name is that of the gateway's configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Format {
    Chat,
    Messages,
    Responses,
}

impl Format {
    pub(crate) const ALL: [Self; 3] = [Self::Chat, Self::Messages, Self::Responses];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Messages => "messages",
            Self::Responses => "responses",
        }
    }

    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Messages => "/v1/messages",
            Self::Responses => "/v1/responses",
        }
    }

    /// The format of requests to this target, which may have a query.
    pub(crate) fn of_target(target: &str) -> Option<Self> {
        let path = target.split('?').next().unwrap_or(target);
        Self::ALL.into_iter().find(|format| format.path() == path)
    }

    pub(crate) fn is_last(self, event: &[u8]) -> bool {
        event.starts_with(match self {
            Self::Chat => b"data: [DONE]",
            Self::Messages => b"event: message_stop\n",
            Self::Responses => b"event: response.completed\n",
        })
    }

    /// Whether this event may carry new text of the answer.
    pub(crate) fn is_delta(self, event: &[u8]) -> bool {
        event.starts_with(match self {
            Self::Chat => b"data: {",
            Self::Messages => b"event: content_block_delta\n",
            Self::Responses => b"event: response.output_text.delta\n",
        })
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
