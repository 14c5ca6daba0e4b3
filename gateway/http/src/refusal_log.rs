use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::Extensions;
use http::request::Parts;
use muninn_backend::access::{Caller, Peer};
use parking_lot::Mutex;

/// Limits the log lines of refused requests per client.
#[derive(Debug, Default)]
pub(super) struct RefusalLog(pub(crate) Mutex<HashMap<(String, Option<IpAddr>), Window>>);

impl RefusalLog {
    /// The number of unlogged refusals before this one; `None` if this one is not logged either.
    pub(crate) fn admit(&self, client: &Client, now: Instant) -> Option<u64> {
        let mut windows = self.0.lock();
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

/// The log lines for one client's refusals per [`WINDOW`]; further refusals are counted on the next line.
pub(crate) const MOST_LINES: u32 = 10;

pub(crate) const WINDOW: Duration = Duration::from_secs(60);

/// The most clients with a window of their own.
pub(crate) const MOST_CLIENTS: usize = 1000;

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

#[derive(Debug)]
pub(crate) struct Window {
    since: Instant,
    lines: u32,
    unlogged: u64,
}
