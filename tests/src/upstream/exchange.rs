use std::io::Result;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::Duration;

use parking_lot::Mutex;

use super::script::Script;
use crate::http::Headers;

/// A received request.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// The method.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// The headers.
    pub headers: Headers,
    /// The body, byte for byte.
    pub body: Vec<u8>,
    /// The number of its connection, from 0.
    pub connection: usize,
}

impl Recorded {
    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// If it is not JSON.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("no JSON ({error}): {}", self.text()))
    }
}

/// The reply to a request.
pub struct Reply {
    pub(crate) kind: Kind,
    pub(crate) close: bool,
}

pub(crate) enum Kind {
    Whole { status: u16, headers: Vec<(String, String)>, body: Vec<u8> },
    Scripted(Script),
    Written(Box<Writing>),
    Hangup,
}

/// Writes an answer to a connection.
pub(crate) type Writing = dyn FnOnce(&TcpStream) -> Result<()> + Send;

pub(crate) type Responder = dyn Fn(&Recorded) -> Reply + Send + Sync;

pub(crate) struct Shared {
    pub(crate) responder: Box<Responder>,
    /// The maximum idle time of a connection.
    pub(crate) idle: Option<Duration>,
    pub(crate) requests: Mutex<Vec<Recorded>>,
    pub(crate) connections: AtomicUsize,
    pub(crate) closed: AtomicUsize,
    pub(crate) stopped: AtomicBool,
}
