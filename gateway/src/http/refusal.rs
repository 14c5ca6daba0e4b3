//! Who asked, and what is logged of a request that is refused.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Body;
use http::request::Parts;
use http::{Extensions, Response};
use muninn_memory::redact;

use super::{Shared, Worker, reply};
use crate::access::{Caller, Forbidden};
use crate::wire::WireFormat;
use crate::wire::error::ErrorKind;

/// Lines that one client's refusals may take in a [`WINDOW`]; the rest is counted and told with the next line.
const MOST_LINES: u32 = 10;
const WINDOW: Duration = Duration::from_secs(60);
/// Clients that are told apart.
const MOST_CLIENTS: usize = 1000;

/// The address at the other end of a client's connection: an extension of each request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer(pub(super) SocketAddr);

/// Who asked, as logs name them.
#[derive(Debug, Clone, Default)]
pub(super) struct Client {
    /// The access key's name, empty where there was none.
    pub(super) key: String,
    /// The other end of the connection: the client, or a proxy before it.
    pub(super) address: Option<SocketAddr>,
}

impl Client {
    pub(super) fn of(parts: &Parts) -> Client {
        Client::with(&Caller::of(&parts.extensions), &parts.extensions)
    }

    pub(super) fn with(caller: &Caller, extensions: &Extensions) -> Client {
        Client {
            key: caller.name().to_owned(),
            address: extensions.get().map(|Peer(address)| *address),
        }
    }

    /// The address in words; `-` where it is not known.
    pub(super) fn shown(&self) -> String {
        self.address
            .map_or_else(|| "-".to_owned(), |address| address.to_string())
    }
}

/// Keeps a client that asks for the same again and again from filling the log.
#[derive(Debug, Default)]
pub(super) struct RefusalLog(Mutex<HashMap<(String, Option<IpAddr>), Window>>);

#[derive(Debug)]
struct Window {
    since: Instant,
    lines: u32,
    unlogged: u64,
}

impl RefusalLog {
    /// How many refusals of this client went without a line before this one, `None` where it goes without as well.
    fn admit(&self, client: &Client, now: Instant) -> Option<u64> {
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let who = (client.key.clone(), client.address.map(|address| address.ip()));
        if windows.len() >= MOST_CLIENTS && !windows.contains_key(&who) {
            windows.clear();
        }
        let fresh = || Window {
            since: now,
            lines: 0,
            unlogged: 0,
        };
        let window = windows.entry(who).or_insert_with(fresh);
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

/// Logs a request that is refused.
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

/// Answers a caller who asks for what their key does not open.
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
    fn a_client_that_loops_gets_few_lines_and_others_theirs() {
        let log = RefusalLog::default();
        let client = |key: &str| Client {
            key: key.to_owned(),
            address: Some(([127, 0, 0, 1], 4000).into()),
        };
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
