//! Plain HTTP/1.1 to a backend without a separate task.
//!
//! hyper's client normally runs each connection as a separate task that sends every chunk of a body over a channel.
//! This costs two wake-ups per stream event and was most of a proxy's cost. Here the task that waits for the answer
//! also drives the connection: first for the head, then for the body as [`super::relay::RelayBody`]. One task moves the
//! bytes from the backend's socket to the client's.

use std::collections::HashMap;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use axum::body::Body;
use bytes::Bytes;
use http::header::HOST;
use http::{HeaderMap, HeaderValue, Method, Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{Builder, Connection, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::relay::RelayBody;
use super::timed::TimedBody;
use super::transport::{self, MOST_IDLE};
use super::{FairBody, SendError};

/// The longest idle time of a reused connection. Most servers close idle connections after five seconds or more.
const IDLE: Duration = Duration::from_secs(4);

/// A connection and its send handle.
pub(super) struct Link {
    pub(super) sender: SendRequest<Full<Bytes>>,
    pub(super) connection: Connection<TokioIo<TcpStream>, Full<Bytes>>,
}

/// Links by host and port, each with the time when it became idle.
type Idle = HashMap<String, Vec<(Instant, Link)>>;

/// Idle connections of one worker.
#[derive(Clone)]
pub(super) struct DirectPool {
    idle: Arc<Mutex<Idle>>,
    connect_timeout: Duration,
}

impl DirectPool {
    pub(super) fn new(connect_timeout: Duration) -> DirectPool {
        DirectPool { idle: Arc::default(), connect_timeout }
    }

    pub(super) async fn send(
        &self,
        method: Method,
        uri: &Uri,
        headers: HeaderMap,
        body: Bytes,
        idle: Duration,
    ) -> Result<Response<Body>, SendError> {
        let authority = transport::authority(uri);
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

    /// Takes an idle connection that appears to be open.
    async fn take(&self, authority: &str) -> Option<Link> {
        loop {
            let (since, mut link) =
                self.idle.lock().unwrap_or_else(PoisonError::into_inner).get_mut(authority)?.pop()?;
            if since.elapsed() > IDLE {
                continue;
            }
            // One poll reads the socket's pending input. If the server has closed, the connection's future ends.
            let ended =
                std::future::poll_fn(|context| Poll::Ready(pin!(&mut link.connection).poll(context).is_ready())).await;
            if !ended && link.sender.is_ready() {
                return Some(link);
            }
        }
    }

    /// Returns a connection to the pool after its answer was read to the end.
    pub(super) fn give_back(&self, authority: &str, link: Link) {
        if !link.sender.is_ready() {
            return;
        }
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let links = match idle.get_mut(authority) {
            Some(links) => links,
            None => idle.entry(authority.to_owned()).or_default(),
        };
        links.retain(|(since, _)| since.elapsed() <= IDLE);
        if links.len() < MOST_IDLE {
            links.push((Instant::now(), link));
        }
    }

    async fn connect(&self, uri: &Uri, authority: &str) -> Result<Link, SendError> {
        let failed = |reason: String| SendError::Connect { authority: authority.to_owned(), reason };
        let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
        let connecting = TcpStream::connect((host, uri.port_u16().unwrap_or(80)));
        let stream = match tokio::time::timeout(self.connect_timeout, connecting).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return Err(failed(error.to_string())),
            Err(_) => {
                return Err(failed(format!("no answer within {} ms", self.connect_timeout.as_millis())));
            }
        };
        stream.set_nodelay(true).map_err(|error| failed(error.to_string()))?;
        let handshake = Builder::new().handshake(TokioIo::new(stream)).await;
        let (sender, connection) = handshake.map_err(|error| failed(error.to_string()))?;
        Ok(Link { sender, connection })
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
