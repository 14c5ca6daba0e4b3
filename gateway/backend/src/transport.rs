//! The transport of requests to backends: two implementations behind one call.
//!
//! Model servers on this machine or in the local network speak plain HTTP/1.1. There Muninn's own cost is noticeable,
//! so these requests use [`super::direct`], in the same task as the client's connection.
//! Requests that need TLS, HTTP/2 or a proxy use reqwest, because the network takes far longer than Muninn. Over TLS,
//! HTTP/2 is negotiated if the backend offers it.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, Method, Response};
use muninn_config::env_vars;

use super::pool::DirectPool;
use super::timed::TimedBody;
use super::{Backend, FairBody};

pub(crate) use super::send_error::{MOST_IDLE, SendError, authority, innermost};

/// A request to a backend.
#[derive(Debug, Clone)]
pub struct Outgoing {
    pub method: Method,
    /// Path and query, starting with `/v1`.
    pub path: String,
    /// The headers with credentials, without host and length.
    pub headers: HeaderMap,
    pub body: Bytes,
    /// Whether the answer is one of a model, whose beginning tells whether it is an error.
    pub is_judged: bool,
}

/// The transports and their connections. Each worker thread has one, so that both sides of a connection are on one
/// thread.
#[derive(Clone)]
pub struct Transport {
    direct: DirectPool,
    general: reqwest::Client,
    /// HTTP/2 without TLS, for backends with `http2_prior_knowledge`.
    prior_knowledge: reqwest::Client,
    plain_http_is_proxied: bool,
}

impl Transport {
    /// Creates the transports. They use the environment's proxies and their exceptions, and the system's certificates.
    ///
    /// # Errors
    /// Returns an error if TLS cannot be set up, for instance without any system certificate.
    pub fn new(connect_timeout: Duration) -> Result<Transport, reqwest::Error> {
        let builder = || {
            reqwest::Client::builder()
                .connect_timeout(connect_timeout)
                .redirect(reqwest::redirect::Policy::none())
                .pool_max_idle_per_host(MOST_IDLE)
                .tcp_nodelay(true)
        };
        let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        Ok(Transport {
            direct: DirectPool::new(connect_timeout),
            general: builder().build()?,
            // Without TLS, so the system's certificates are not read again. Proxies do not forward it.
            prior_knowledge: builder().no_proxy().tls_certs_only([]).http2_prior_knowledge().build()?,
            plain_http_is_proxied: env_vars::HTTP_PROXIES.iter().any(is_set),
        })
    }

    /// Sends a request and returns when the answer's head arrives. The body streams; an incomplete one ends with
    /// [`SendError::BrokenOff`] or [`SendError::Idle`]. Dropping the future or the body cancels the request.
    ///
    /// # Errors
    /// [`SendError`] if no answer arrives. An answer with an error status is no error.
    pub async fn send(&self, backend: &Backend, request: Outgoing) -> Result<Response<Body>, SendError> {
        let url = backend.url.of(&request.path);
        let uri: http::Uri = url
            .parse()
            .map_err(|error: http::uri::InvalidUri| SendError::Url { url: url.clone(), reason: error.to_string() })?;
        let idle = backend.stream_idle_timeout;
        let Outgoing { method, headers, body, .. } = request;
        let sending = async {
            if backend.http2_prior_knowledge {
                let request = self.prior_knowledge.request(method, &url);
                return send_by_reqwest(request, &uri, headers, body, idle).await;
            }
            let plain = uri.scheme_str() == Some("http");
            if plain && (is_loopback(uri.host().unwrap_or_default()) || !self.plain_http_is_proxied) {
                return self.direct.send(method, &uri, headers, body, idle).await;
            }
            send_by_reqwest(self.general.request(method, &url), &uri, headers, body, idle).await
        };
        let after = backend.first_byte_timeout;
        tokio::time::timeout(after, sending)
            .await
            .unwrap_or_else(|_| Err(SendError::FirstByte { authority: authority(&uri), after }))
    }
}

async fn send_by_reqwest(
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

/// Whether a URL's host is a loopback address or `localhost`.
pub(super) fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}
