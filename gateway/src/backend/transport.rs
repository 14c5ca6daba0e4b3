//! How the bytes of a request reach a backend: one of two ways behind one call.
//!
//! Model servers on this machine or in the house speak plain HTTP/1.1, and there our own cost shows, so those go over
//! [`super::direct`]: hyper's client polled in the same task as the client's connection. Everything that needs TLS,
//! HTTP/2 or a proxy goes through reqwest, where the network's time dwarfs ours.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, Method, Response};
use thiserror::Error;

use super::direct::DirectPool;
use crate::config::env_vars;

/// Why a request got no answer.
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
}

/// The two ways, and their connections. One per worker thread, so that a connection's two sides live on one thread.
#[derive(Clone)]
pub struct Transport {
    direct: DirectPool,
    general: reqwest::Client,
    plain_http_is_proxied: bool,
}

impl Transport {
    /// Prepares both ways. Proxies, their exceptions and the system's certificates are honoured.
    ///
    /// # Errors
    /// Where TLS cannot be set up, for instance without any system certificate.
    pub fn new(connect_timeout: Duration) -> Result<Transport, reqwest::Error> {
        let general = reqwest::Client::builder()
            .connect_timeout(connect_timeout)
            .redirect(reqwest::redirect::Policy::none())
            .tcp_nodelay(true)
            .build()?;
        let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        Ok(Transport {
            direct: DirectPool::new(connect_timeout),
            general,
            plain_http_is_proxied: env_vars::HTTP_PROXIES.iter().any(is_set),
        })
    }

    /// Sends a request and returns as soon as the answer's head is there; its body streams.
    /// Dropping the future or the body cancels the request.
    ///
    /// # Errors
    /// [`SendError`] where no answer came. An answer with an error status is an answer.
    pub async fn send(
        &self,
        method: Method,
        base: &str,
        path: &str,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response<Body>, SendError> {
        let url = format!("{base}{path}");
        let uri: http::Uri = url.parse().map_err(|error: http::uri::InvalidUri| SendError::Url {
            url: url.clone(),
            reason: error.to_string(),
        })?;
        let host = uri.host().unwrap_or_default();
        let plain = uri.scheme_str() == Some("http");
        if plain && (is_loopback(host) || !self.plain_http_is_proxied) {
            return self.direct.send(method, &uri, headers, body).await;
        }
        self.send_generally(method, &url, &uri, headers, body).await
    }

    async fn send_generally(
        &self,
        method: Method,
        url: &str,
        uri: &http::Uri,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response<Body>, SendError> {
        let authority = uri.authority().map(ToString::to_string).unwrap_or_default();
        let mut request = self.general.request(method, url).headers(headers);
        if !body.is_empty() {
            request = request.body(body);
        }
        let answer = request.send().await.map_err(|error| {
            let reason = causes(&error);
            if error.is_connect() {
                SendError::Connect { authority, reason }
            } else {
                SendError::Broken { authority, reason }
            }
        })?;
        let (parts, body) = Response::<reqwest::Body>::from(answer).into_parts();
        Ok(Response::from_parts(parts, Body::new(body)))
    }

    /// A client for small questions to backends, such as their model lists.
    #[must_use]
    pub fn client(&self) -> &reqwest::Client {
        &self.general
    }
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
fn causes(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
