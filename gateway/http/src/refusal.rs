//! The client of a request, and the log of refused requests.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Body;
use http::request::Parts;
use http::{Extensions, Response};
use muninn_backend::access::{Caller, Forbidden, Peer};
use muninn_text::redact;
use muninn_wire::WireFormat;
use muninn_wire::error::ErrorKind;

use super::{Shared, Worker, reply};

/// The log lines for one client's refusals per [`WINDOW`]; further refusals are counted on the next line.
const MOST_LINES: u32 = 10;
const WINDOW: Duration = Duration::from_secs(60);
/// The most clients with a window of their own.
const MOST_CLIENTS: usize = 1000;

/// The client of a request, for logs.
#[derive(Debug, Clone, Default)]
pub(super) struct Client {
    /// The access key's name, empty if there is none.
    pub(super) key: String,
    /// The peer of the connection: the client, or a proxy before it.
    pub(super) address: Option<SocketAddr>,
}

impl Client {
    pub(super) fn of(parts: &Parts) -> Client {
        Client::with(&Caller::of(&parts.extensions), &parts.extensions)
    }

    pub(super) fn with(caller: &Caller, extensions: &Extensions) -> Client {
        Client { key: caller.name().to_owned(), address: extensions.get::<Arc<Peer>>().map(|peer| peer.address()) }
    }

    /// The address as text; `-` if it is unknown.
    pub(super) fn shown(&self) -> String {
        self.address.map_or_else(|| "-".to_owned(), |address| address.to_string())
    }
}

/// Limits the log lines of refused requests per client.
#[derive(Debug, Default)]
pub(super) struct RefusalLog(Mutex<HashMap<(String, Option<IpAddr>), Window>>);

#[derive(Debug)]
struct Window {
    since: Instant,
    lines: u32,
    unlogged: u64,
}

impl RefusalLog {
    /// The number of unlogged refusals before this one; `None` if this one is not logged either.
    fn admit(&self, client: &Client, now: Instant) -> Option<u64> {
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let client = (client.key.clone(), client.address.map(|address| address.ip()));
        if windows.len() >= MOST_CLIENTS && !windows.contains_key(&client) {
            windows.clear();
        }
        let fresh = || Window { since: now, lines: 0, unlogged: 0 };
        let window = windows.entry(client).or_insert_with(fresh);
        if now.duration_since(window.since) >= WINDOW {
            (window.since, window.lines) = (now, 0);
        }
        if window.lines == MOST_LINES {
            window.unlogged += 1;
            return None;
        }
        window.lines += 1;
        Some(std::mem::take(&mut window.unlogged))
    }
}

/// Logs a refused request.
pub(super) fn log(shared: &Shared, client: &Client, kind: ErrorKind, message: &str) {
    let Some(unlogged) = shared.refusals.admit(client, Instant::now()) else {
        return;
    };
    tracing::warn!(
        status = kind.status().as_u16(),
        key = client.key,
        client = client.shown(),
        unlogged,
        "refused: {}",
        redact(message)
    );
}

/// Logs and counts a request that the caller's key does not allow, and returns the error response.
pub(super) fn forbid(worker: &Worker, format: WireFormat, client: &Client, forbidden: &Forbidden) -> Response<Body> {
    let message = forbidden.to_string();
    log(&worker.shared, client, ErrorKind::Permission, &message);
    worker.app.metrics.refused(&client.key, ErrorKind::Permission);
    reply::error(format, ErrorKind::Permission, &message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looping_client_gets_few_log_lines() {
        let log = RefusalLog::default();
        let client = |key: &str| Client { key: key.to_owned(), address: Some(([127, 0, 0, 1], 4000).into()) };
        let now = Instant::now();
        let lines = (0..1000).filter_map(|_| log.admit(&client("loops"), now)).count();
        assert_eq!(lines, MOST_LINES as usize);
        assert_eq!(log.admit(&client("other"), now), Some(0));
        let later = now + WINDOW;
        assert_eq!(log.admit(&client("loops"), later), Some(990));
        assert_eq!(log.admit(&client("loops"), later), Some(0));
        for number in 0..2 * MOST_CLIENTS {
            log.admit(&client(&number.to_string()), later);
        }
        assert!(log.0.lock().unwrap().len() <= MOST_CLIENTS);
    }
}
