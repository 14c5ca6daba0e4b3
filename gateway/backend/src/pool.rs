//! Idle connections to backends, which one worker sends on again.

use std::collections::HashMap;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Uri;
use http_body_util::Full;
use hyper::client::conn::http1::{Builder, Connection, SendRequest};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::net::TcpStream;

use super::SendError;
use super::send_error::MOST_IDLE;

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

    /// Takes an idle connection that appears to be open.
    pub(super) async fn take(&self, authority: &str) -> Option<Link> {
        loop {
            let (since, mut link) = self.idle.lock().get_mut(authority)?.pop()?;
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
        let mut idle = self.idle.lock();
        let links = match idle.get_mut(authority) {
            Some(links) => links,
            None => idle.entry(authority.to_owned()).or_default(),
        };
        links.retain(|(since, _)| since.elapsed() <= IDLE);
        if links.len() < MOST_IDLE {
            links.push((Instant::now(), link));
        }
    }

    pub(super) async fn connect(&self, uri: &Uri, authority: &str) -> Result<Link, SendError> {
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
