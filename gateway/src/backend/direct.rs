//! Plain HTTP/1.1 to a backend, without a task of its own.
//!
//! hyper's client normally runs each connection as a separate task that hands every chunk of a body over a channel: two
//! wake-ups for each event of a stream, which was most of a proxy's cost. Here whoever waits for the answer also drives
//! the connection, first for the head and then, as [`super::relay::RelayBody`], for the body. One connection is one
//! task from the backend's socket to the client's.

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
use super::transport::{self, KEPT};
use super::{FairBody, SendError};

/// Idle connections older than this are not used again: most servers close them after five seconds or more.
const IDLE: Duration = Duration::from_secs(4);

/// A connection and the handle to send on it.
pub(super) struct Link {
    pub(super) sender: SendRequest<Full<Bytes>>,
    pub(super) connection: Connection<TokioIo<TcpStream>, Full<Bytes>>,
}

/// Links by host and port, with the time since when each is idle.
type Idle = HashMap<String, Vec<(Instant, Link)>>;

/// Idle connections of one worker.
#[derive(Clone)]
pub(super) struct DirectPool {
    idle: Arc<Mutex<Idle>>,
    connect_timeout: Duration,
}

impl DirectPool {
    pub(super) fn new(connect_timeout: Duration) -> DirectPool {
        DirectPool {
            idle: Arc::default(),
            connect_timeout,
        }
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
        // A pooled connection may have been closed by its server a moment ago. hyper hands the request back if not a
        // byte of it was sent, and then it is safe to send it on another one.
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

    /// An idle connection that is still open, as far as can be seen.
    async fn take(&self, authority: &str) -> Option<Link> {
        loop {
            let (since, mut link) = self
                .idle
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .get_mut(authority)?
                .pop()?;
            if since.elapsed() > IDLE {
                continue;
            }
            // One poll reads what has come in the meantime: a close ends the connection's future.
            let ended =
                std::future::poll_fn(|context| Poll::Ready(pin!(&mut link.connection).poll(context).is_ready())).await;
            if !ended && link.sender.is_ready() {
                return Some(link);
            }
        }
    }

    /// Takes a connection back whose answer has been read to its end.
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
        if links.len() < KEPT {
            links.push((Instant::now(), link));
        }
    }

    async fn connect(&self, uri: &Uri, authority: &str) -> Result<Link, SendError> {
        let failed = |reason: String| SendError::Connect {
            authority: authority.to_owned(),
            reason,
        };
        let host = uri
            .host()
            .unwrap_or_default()
            .trim_start_matches('[')
            .trim_end_matches(']');
        let connecting = TcpStream::connect((host, uri.port_u16().unwrap_or(80)));
        let stream = match tokio::time::timeout(self.connect_timeout, connecting).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return Err(failed(error.to_string())),
            Err(_) => {
                return Err(failed(format!(
                    "no answer within {} ms",
                    self.connect_timeout.as_millis()
                )));
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
    let unusable = |reason: String| SendError::Url {
        url: uri.to_string(),
        reason,
    };
    let path = uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = method;
    *request.uri_mut() = path
        .parse()
        .map_err(|error: http::uri::InvalidUri| unusable(error.to_string()))?;
    *request.headers_mut() = headers;
    let host = HeaderValue::from_str(authority).map_err(|error| unusable(error.to_string()))?;
    request.headers_mut().insert(HOST, host);
    Ok(request)
}

fn broken(authority: &str, error: &hyper::Error) -> SendError {
    SendError::Broken {
        authority: authority.to_owned(),
        reason: error.to_string(),
    }
}

type ExchangeOutcome = Result<(Response<Incoming>, Link), (hyper::Error, Option<Box<Request<Full<Bytes>>>>)>;

/// Sends a request and drives the connection until the answer's head is there.
async fn exchange(mut link: Link, request: Request<Full<Bytes>>) -> ExchangeOutcome {
    let response = {
        let mut sending = pin!(link.sender.try_send_request(request));
        std::future::poll_fn(|context| {
            if let Poll::Ready(response) = sending.as_mut().poll(context) {
                return Poll::Ready(response);
            }
            // Its end is told to `sending` as well, so the result is not needed here; polling it again would be wrong,
            // and does not happen, because `sending` is ready then.
            let _progress = pin!(&mut link.connection).poll(context);
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
