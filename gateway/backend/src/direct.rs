//! Plain HTTP/1.1 to a backend without a separate task.
//!
//! hyper's client normally runs each connection as a separate task that sends every chunk of a body over a channel.
//! This costs two wake-ups per stream event and was most of a proxy's cost. Here the task that waits for the answer
//! also drives the connection: first for the head, then for the body as [`super::relay::RelayBody`]. One task moves the
//! bytes from the backend's socket to the client's.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::header::HOST;
use http::{HeaderMap, HeaderValue, Method, Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;

use super::pool::{DirectPool, Link};
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
        let mut request = request(method, uri, &authority, headers, body)?;
        // The server may have closed a pooled connection a moment ago. hyper returns the request if no byte of it was
        // sent; then another connection can send it safely.
        while let Some(link) = self.take(&authority).await {
            match exchange(link, request).await {
                Ok((response, link)) => return Ok(self.relay(response, link, authority, idle)),
                Err((_, Some(unsent))) => request = *unsent,
                Err((error, None)) => return Err(broken(&authority, &error)),
            }
        }
        let link = self.connect(uri, &authority).await?;
        match exchange(link, request).await {
            Ok((response, link)) => Ok(self.relay(response, link, authority, idle)),
            Err((error, _)) => Err(broken(&authority, &error)),
        }
    }

    fn relay(&self, response: Response<Incoming>, link: Link, authority: String, idle: Duration) -> Response<Body> {
        response.map(|incoming| {
            let relay = RelayBody::new(incoming, link, self.clone(), authority.clone());
            Body::new(FairBody::new(TimedBody::new(relay, authority, idle)))
        })
    }
}

fn request(
    method: Method,
    uri: &Uri,
    authority: &str,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Request<Full<Bytes>>, SendError> {
    let unusable = |reason: String| SendError::Url { url: uri.to_string(), reason };
    let path = uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = method;
    *request.uri_mut() = path.parse().map_err(|error: http::uri::InvalidUri| unusable(error.to_string()))?;
    *request.headers_mut() = headers;
    let host = HeaderValue::from_str(authority).map_err(|error| unusable(error.to_string()))?;
    request.headers_mut().insert(HOST, host);
    Ok(request)
}

fn broken(authority: &str, error: &hyper::Error) -> SendError {
    SendError::Broken { authority: authority.to_owned(), reason: error.to_string() }
}

type ExchangeOutcome = Result<(Response<Incoming>, Link), (hyper::Error, Option<Box<Request<Full<Bytes>>>>)>;

/// Sends a request and drives the connection until the answer's head arrives. An error holds the request if no byte of
/// it was sent.
async fn exchange(mut link: Link, request: Request<Full<Bytes>>) -> ExchangeOutcome {
    let response = {
        let mut sending = pin!(link.sender.try_send_request(request));
        std::future::poll_fn(|context| {
            if let Poll::Ready(response) = sending.as_mut().poll(context) {
                return Poll::Ready(response);
            }
            // The result is not needed: when the connection ends, `sending` is ready too. So the ended connection is
            // never polled again, which would be an error.
            let _ignored = pin!(&mut link.connection).poll(context);
            sending.as_mut().poll(context)
        })
        .await
    };
    match response {
        Ok(response) => Ok((response, link)),
        Err(mut failed) => {
            let unsent = failed.take_message().map(Box::new);
            Err((failed.into_error(), unsent))
        }
    }
}
