use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The version of both sides.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The most bytes of a line in either direction.
pub const MOST_BYTES: usize = 4 << 20;

/// What a client wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// The reply to a request.
    Call,
    /// The server's [`Status`].
    Status,
    /// The server's end.
    Stop,
}

/// The line of a client.
#[derive(Debug, Serialize, Deserialize)]
pub struct Call<'a> {
    /// The client's version.
    pub version: String,
    /// What it wants.
    pub method: Method,
    /// The time in milliseconds after which the reply has no use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// The request of [`Method::Call`].
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub request: Option<&'a RawValue>,
}

/// The line of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer<A> {
    Reply(A),
    /// The call failed.
    Error(String),
    /// The call was not read: the server has this version. An older server ends now.
    Version(String),
}

/// The kind of process behind a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Host {
    /// A daemon, which ends by itself.
    Daemon,
    /// A gateway, which runs until the user ends it.
    Gateway,
}

/// The state of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The kind of process.
    pub host: Host,
    pub version: String,
    /// Its process id.
    pub process: u32,
    /// The time of its start, in RFC 3339.
    pub since: String,
    /// The number of calls that it answered.
    pub calls: u64,
    /// The number of calls under way.
    pub active: usize,
    /// The roots of the open worktrees.
    pub worktrees: Vec<PathBuf>,
}

/// Whether a version is older than another one. A pre-release is older than its release.
pub fn is_older(version: &str, than: &str) -> bool {
    parts(version) < parts(than)
}

pub(crate) fn parts(version: &str) -> (Vec<u64>, bool, &str) {
    let version = version.split('+').next().unwrap_or_default();
    let (numbers, pre_release) = version.split_once('-').unwrap_or((version, ""));
    let numbers = numbers.split('.').map(|number| number.parse().unwrap_or(0)).collect();
    (numbers, pre_release.is_empty(), pre_release)
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
