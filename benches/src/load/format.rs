//! The three formats that clients and backends speak.

use std::fmt;

use clap::ValueEnum;

/// A wire format. Its name is also how the gateway's configuration calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Format {
    /// Chat completions.
    Chat,
    /// Messages.
    Messages,
    /// Responses.
    Responses,
}

impl Format {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 3] = [Self::Chat, Self::Messages, Self::Responses];

    /// The name in reports, on the command line and in the gateway's configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Messages => "messages",
            Self::Responses => "responses",
        }
    }

    /// The path that requests are posted to.
    pub fn path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Messages => "/v1/messages",
            Self::Responses => "/v1/responses",
        }
    }

    /// The format that is posted to this target, its query left aside.
    pub fn of_target(target: &str) -> Option<Self> {
        let path = target.split('?').next().unwrap_or(target);
        Self::ALL.into_iter().find(|format| format.path() == path)
    }

    /// Whether this event ends a whole answer.
    pub fn is_last(self, event: &[u8]) -> bool {
        event.starts_with(match self {
            Self::Chat => b"data: [DONE]",
            Self::Messages => b"event: message_stop\n",
            Self::Responses => b"event: response.completed\n",
        })
    }

    /// Whether this event may carry new text of the answer.
    pub fn is_delta(self, event: &[u8]) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_follows_from_the_whole_path() {
        for format in Format::ALL {
            assert_eq!(Format::of_target(format.path()), Some(format));
            assert_eq!(Format::of_target(&format!("{}?beta=true", format.path())), Some(format));
        }
        assert_eq!(Format::of_target("/v1/messages/count_tokens"), None);
        assert_eq!(Format::of_target("/v1/models"), None);
    }
}
