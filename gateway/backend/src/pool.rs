//! Idle connections to backends, which one worker sends on again.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::Uri;
use parking_lot::Mutex;
use tokio::net::TcpStream;

use super::SendError;
use super::http1::Connection;
use super::send_error::MOST_IDLE;

/// The longest idle time of a reused connection. Most servers close idle connections after five seconds or more.
const IDLE: Duration = Duration::from_secs(4);

/// Connections by host and port, each with the time when it became idle.
type Idle = HashMap<String, Vec<(Instant, Connection)>>;

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
    pub(super) fn take(&self, authority: &str) -> Option<Connection> {
        let mut idle = self.idle.lock();
        let connections = idle.get_mut(authority)?;
        while let Some((since, connection)) = connections.pop() {
            if since.elapsed() <= IDLE && connection.is_idle() {
                return Some(connection);
            }
        }
        None
    }

    /// Returns a connection to the pool after its answer was read to the end.
    pub(super) fn give_back(&self, authority: &str, connection: Connection) {
        if !connection.is_idle() {
            return;
        }
        let mut idle = self.idle.lock();
        let connections = match idle.get_mut(authority) {
            Some(connections) => connections,
            None => idle.entry(authority.to_owned()).or_default(),
        };
        connections.retain(|(since, _)| since.elapsed() <= IDLE);
        if connections.len() < MOST_IDLE {
            connections.push((Instant::now(), connection));
        }
    }

    pub(super) async fn connect(&self, uri: &Uri, authority: &str) -> Result<Connection, SendError> {
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
        Ok(Connection::new(stream))
    }
}
