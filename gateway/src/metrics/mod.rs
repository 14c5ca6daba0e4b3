//! What a gateway counts, and `GET /metrics`, where Prometheus reads it.
//!
//! Nothing here holds a word of a prompt. Every label has few values, all of them known beforehand: names of keys and
//! backends out of the configuration, and words of ours. What a client or a backend makes up (models, unknown fields,
//! other hosts) is no label, or becomes `other`, since each new value would stay in memory for good.
//!
//! While a request runs it costs two counts, at its start and its end. Everything else is written down once, after the
//! last byte of its answer, by [`Metrics::finished`].

mod counters;
mod labels;

use std::time::Duration;

use crate::store::Outcome;
use crate::wire::WireFormat;
use crate::wire::convert::answer::Usage;

pub use counters::{Active, Metrics};

/// What [`Metrics::render`] is, for `content-type`.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A request that is over, whatever became of it.
#[derive(Debug, Clone)]
pub struct Finished<'a> {
    /// The access key's name, empty where there was none.
    pub key: &'a str,
    /// The client's wire format.
    pub format: WireFormat,
    /// The backend's name.
    pub backend: &'a str,
    /// The wire format that the backend was spoken to in; the client's own where nothing was converted.
    pub spoken: WireFormat,
    /// The HTTP status of the answer.
    pub status: u16,
    /// Whether the answer was an event stream.
    pub streamed: bool,
    /// From the request's last byte to the answer's first, where there was one.
    pub first_byte: Option<Duration>,
    /// Of this, what Muninn itself took.
    pub added: Duration,
    /// The tokens that the backend counted.
    pub usage: Usage,
    /// What became of the context.
    pub outcome: Outcome,
    /// Tokens of the new block.
    pub injected_tokens: u32,
}

/// A request of another kind than a conversation that was forwarded and is over.
#[derive(Debug, Clone)]
pub struct Forwarded<'a> {
    /// The access key's name, empty where there was none.
    pub key: &'a str,
    /// The backend's name.
    pub backend: &'a str,
    /// The HTTP status of the answer.
    pub status: u16,
    /// The tokens that the backend counted.
    pub usage: Usage,
}
