use std::time::Duration;

use muninn_ledger::Outcome;
use muninn_wire::WireFormat;
use muninn_wire::convert::answer::Usage;

/// The `content-type` of `Metrics::render`.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A conversation request that has ended, successful or not.
#[derive(Debug, Clone)]
pub struct FinishedRequest<'a> {
    /// The access key's name, empty without a key.
    pub key: &'a str,
    /// The client's wire format.
    pub format: WireFormat,
    /// The backend's name.
    pub backend: &'a str,
    /// The wire format of the request to the backend. Without a conversion it is the client's.
    pub backend_format: WireFormat,
    /// The HTTP status of the answer.
    pub status: u16,
    /// Whether the answer was an event stream.
    pub streamed: bool,
    /// The time from the request's last byte to the answer's first, if there was an answer.
    pub first_byte: Option<Duration>,
    /// Muninn's own share of this time.
    pub added: Duration,
    /// The tokens as counted by the backend.
    pub usage: Usage,
    /// The outcome of the request's context.
    pub outcome: Outcome,
    /// Tokens of the new block.
    pub injected_tokens: u32,
}

/// A forwarded request that has ended and is no conversation.
#[derive(Debug, Clone)]
pub struct ForwardedRequest<'a> {
    /// The access key's name, empty without a key.
    pub key: &'a str,
    /// The backend's name.
    pub backend: &'a str,
    /// The HTTP status of the answer.
    pub status: u16,
    /// The tokens as counted by the backend.
    pub usage: Usage,
}
