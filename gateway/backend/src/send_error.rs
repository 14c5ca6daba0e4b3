use std::time::Duration;

use muninn_wire::error::ErrorKind;
use thiserror::Error;

/// The most idle connections that a worker keeps to one backend in each transport.
pub(super) const MOST_IDLE: usize = 64;

/// The reason why a request got no answer or only a part of it.
#[derive(Debug, Error)]
pub enum SendError {
    /// The backend's address is not a valid URL.
    #[error("`{url}` is not a usable address: {reason}")]
    Url {
        /// The address.
        url: String,
        /// The parser's error.
        reason: String,
    },
    /// The connection cannot be opened.
    #[error("cannot connect to {authority}: {reason}")]
    Connect {
        /// Host and port.
        authority: String,
        /// The system's error.
        reason: String,
    },
    /// The connection broke before the answer's head.
    #[error("{authority} broke off before it answered: {reason}")]
    Broken {
        /// Host and port.
        authority: String,
        /// The connection's error.
        reason: String,
    },
    /// The head of the answer did not come in time.
    #[error("{authority} did not begin to answer within {} ms", after.as_millis())]
    FirstByte {
        /// Host and port.
        authority: String,
        /// The bound.
        after: Duration,
    },
    /// The connection broke in the middle of the answer.
    #[error("{authority} broke off in the middle of its answer: {reason}")]
    BrokenOff {
        /// Host and port.
        authority: String,
        /// The connection's error.
        reason: String,
    },
    /// No data arrived for too long.
    #[error("{authority} sent nothing for {} ms in the middle of its answer", after.as_millis())]
    Idle {
        /// Host and port.
        authority: String,
        /// The bound.
        after: Duration,
    },
}

impl SendError {
    /// Whether the request may be sent to the same backend again: no byte of an answer arrived, and the failure may be
    /// transient.
    pub fn is_retryable(&self) -> bool {
        matches!(self, SendError::Connect { .. } | SendError::Broken { .. })
    }

    /// The kind of error that the client gets.
    pub fn kind(&self) -> ErrorKind {
        match self {
            SendError::FirstByte { .. } | SendError::Idle { .. } => ErrorKind::BackendTimeout,
            _ => ErrorKind::BadGateway,
        }
    }
}

/// Returns host and port as written in the URL.
pub(crate) fn authority(uri: &http::Uri) -> String {
    uri.authority().map(ToString::to_string).unwrap_or_default()
}

/// Returns the text of the innermost cause. It holds no URL, which could carry secrets into a log.
pub fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
