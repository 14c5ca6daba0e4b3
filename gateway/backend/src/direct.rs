//! Plain HTTP/1.1 to a backend without a separate task.
//!
//! The task that waits for the answer also drives the connection: first for the head, then for the body as
//! [`super::relay::RelayBody`]. One task moves the bytes from the backend's socket to the client's. hyper's client runs each
//! connection as a task that hands every chunk over a channel; polled in the same task, that was still a fifth of the
//! instructions of a request.

use std::io;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::header::HOST;
use http::{HeaderMap, HeaderValue, Method, Response, Uri};

use super::http1::{AnswerHead, Connection, Request};
use super::pool::DirectPool;
use super::relay::RelayBody;
use super::send_error::authority;
use super::timed::TimedBody;
use super::{FairBody, SendError};

impl DirectPool {
    pub(super) async fn send(
        &self,
        method: Method,
        uri: &Uri,
        headers: HeaderMap,
        body: Bytes,
        idle: Duration,
    ) -> Result<Response<Body>, SendError> {
        let authority = authority(uri);
        let request = request(method, uri, &authority, headers, body)?;
        // The server may have closed a pooled connection a moment ago. If no byte of the request was sent, another connection can
        // send it safely.
        while let Some(mut connection) = self.take(&authority) {
            match connection.exchange(&request).await {
                Ok(head) => return Ok(self.relay(head, connection, authority, idle)),
                Err((_, true)) => {}
                Err((error, false)) => return Err(broken(&authority, &error)),
            }
        }
        let mut connection = self.connect(uri, &authority).await?;
        match connection.exchange(&request).await {
            Ok(head) => Ok(self.relay(head, connection, authority, idle)),
            Err((error, _)) => Err(broken(&authority, &error)),
        }
    }

    fn relay(&self, head: AnswerHead, connection: Connection, authority: String, idle: Duration) -> Response<Body> {
        let AnswerHead { parts, framing, is_reusable } = head;
        let pool = is_reusable.then(|| self.clone());
        let relay = RelayBody::new((connection, framing), pool, authority.clone());
        Response::from_parts(parts, Body::new(FairBody::new(TimedBody::new(relay, authority, idle))))
    }
}

fn request(
    method: Method,
    uri: &Uri,
    authority: &str,
    mut headers: HeaderMap,
    body: Bytes,
) -> Result<Request, SendError> {
    let path = uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str).to_owned();
    let unusable = |reason: String| SendError::Url { url: uri.to_string(), reason };
    let host = HeaderValue::from_str(authority).map_err(|error| unusable(error.to_string()))?;
    headers.insert(HOST, host);
    Ok(Request { method, path, headers, body })
}

fn broken(authority: &str, error: &io::Error) -> SendError {
    SendError::Broken { authority: authority.to_owned(), reason: error.to_string() }
}
