//! How the bytes of a request reach a backend: one of two ways behind one call.
//!
//! Model servers on this machine or in the house speak plain HTTP/1.1, and there our own cost shows, so those go over
//! [`super::direct`]: hyper's client polled in the same task as the client's connection. Everything that needs TLS,
//! HTTP/2 or a proxy goes through reqwest, where the network's time dwarfs ours. Over TLS both sides agree on HTTP/2
//! where the backend offers it.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, Method, Response};
use thiserror::Error;

use super::direct::DirectPool;
use super::timed::TimedBody;
use super::{Backend, FairBody};
use crate::config::env_vars;
use crate::wire::error::ErrorKind;

/// Idle connections that a worker keeps for one backend, on either way.
pub(super) const KEPT: usize = 64;

/// A request as its backend gets it.
#[derive(Debug, Clone)]
pub struct Outgoing {
    /// The method.
    pub method: Method,
    /// Path and query, from the `/v1` on.
    pub path: String,
    /// The headers, credentials included, without host and length.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

/// Why a request got no answer, or not all of it.
#[derive(Debug, Error)]
pub enum SendError {
    /// The backend's address is no URL.
    #[error("`{url}` is not a usable address: {reason}")]
    Url {
        /// The address.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Nobody answers there.
    #[error("cannot connect to {authority}: {reason}")]
    Connect {
        /// Host and port.
        authority: String,
        /// What the system said.
        reason: String,
    },
    /// The connection broke before an answer came.
    #[error("{authority} broke off before it answered: {reason}")]
    Broken {
        /// Host and port.
        authority: String,
        /// What happened.
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
        /// What happened.
        reason: String,
    },
    /// The answer paused for too long.
    #[error("{authority} sent nothing for {} ms in the middle of its answer", after.as_millis())]
    Idle {
        /// Host and port.
        authority: String,
        /// The bound.
        after: Duration,
    },
}

impl SendError {
    /// Whether the same request may be sent to the same backend again: no byte of an answer was seen, and a moment may
    /// help.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, SendError::Connect { .. } | SendError::Broken { .. })
    }

    /// How a client is told.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            SendError::FirstByte { .. } | SendError::Idle { .. } => ErrorKind::BackendTimeout,
            _ => ErrorKind::BadGateway,
        }
    }
}

/// The ways, and their connections. One per worker thread, so that a connection's two sides live on one thread.
#[derive(Clone)]
pub struct Transport {
    direct: DirectPool,
    general: reqwest::Client,
    /// HTTP/2 without TLS, for backends of which the user says that they speak it.
    prior_knowledge: reqwest::Client,
    plain_http_is_proxied: bool,
}

impl Transport {
    /// Prepares all ways. Proxies, their exceptions and the system's certificates are honoured.
    ///
    /// # Errors
    /// Where TLS cannot be set up, for instance without any system certificate.
    pub fn new(connect_timeout: Duration) -> Result<Transport, reqwest::Error> {
        let builder = || {
            reqwest::Client::builder()
                .connect_timeout(connect_timeout)
                .redirect(reqwest::redirect::Policy::none())
                .pool_max_idle_per_host(KEPT)
                .tcp_nodelay(true)
        };
        let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        Ok(Transport {
            direct: DirectPool::new(connect_timeout),
            general: builder().build()?,
            // Not for TLS, so the system's certificates need not be read once more; and no proxy forwards it.
            prior_knowledge: builder()
                .no_proxy()
                .tls_certs_only([])
                .http2_prior_knowledge()
                .build()?,
            plain_http_is_proxied: env_vars::HTTP_PROXIES.iter().any(is_set),
        })
    }

    /// Sends a request and returns as soon as the answer's head is there; its body streams, and ends with
    /// [`SendError::BrokenOff`] or [`SendError::Idle`] where it does not come to its end.
    /// Dropping the future or the body cancels the request.
    ///
    /// # Errors
    /// [`SendError`] where no answer came. An answer with an error status is an answer.
    pub async fn send(&self, backend: &Backend, request: Outgoing) -> Result<Response<Body>, SendError> {
        let url = format!("{}{}", backend.url, request.path);
        let uri: http::Uri = url.parse().map_err(|error: http::uri::InvalidUri| SendError::Url {
            url: url.clone(),
            reason: error.to_string(),
        })?;
        let idle = backend.stream_idle_timeout;
        let Outgoing {
            method, headers, body, ..
        } = request;
        let answering = async {
            if backend.http2_prior_knowledge {
                let request = self.prior_knowledge.request(method, &url);
                return generally(request, &uri, headers, body, idle).await;
            }
            let plain = uri.scheme_str() == Some("http");
            if plain && (is_loopback(uri.host().unwrap_or_default()) || !self.plain_http_is_proxied) {
                return self.direct.send(method, &uri, headers, body, idle).await;
            }
            generally(self.general.request(method, &url), &uri, headers, body, idle).await
        };
        let after = backend.first_byte_timeout;
        tokio::time::timeout(after, answering).await.unwrap_or_else(|_| {
            Err(SendError::FirstByte {
                authority: authority(&uri),
                after,
            })
        })
    }
}

async fn generally(
    mut request: reqwest::RequestBuilder,
    uri: &http::Uri,
    headers: HeaderMap,
    body: Bytes,
    idle: Duration,
) -> Result<Response<Body>, SendError> {
    request = request.headers(headers);
    if !body.is_empty() {
        request = request.body(body);
    }
    let authority = authority(uri);
    match request.send().await {
        Ok(answer) => {
            let timed = |body| Body::new(FairBody::new(TimedBody::new(body, authority, idle)));
            Ok(Response::<reqwest::Body>::from(answer).map(timed))
        }
        Err(error) => {
            let reason = innermost(&error);
            Err(if error.is_connect() {
                SendError::Connect { authority, reason }
            } else {
                SendError::Broken { authority, reason }
            })
        }
    }
}

/// Host and port, as written.
pub(super) fn authority(uri: &http::Uri) -> String {
    uri.authority().map(ToString::to_string).unwrap_or_default()
}

/// Whether a URL's host is this machine.
#[must_use]
pub(super) fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || host
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// The innermost cause that says something, without the URL, which may hold more than a log should.
pub(crate) fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
