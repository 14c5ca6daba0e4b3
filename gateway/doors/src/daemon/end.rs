use tokio::net::UnixStream;

/// Why a server ended.
#[derive(Debug)]
pub enum End {
    /// Nobody has called for some time.
    Idle,
    /// The socket was removed, so that no client finds it.
    Unreachable,
    /// A client of this newer version called, and starts its own daemon.
    Replaced(String),
    /// A client asked for it. It waits until this connection is dropped.
    Asked(UnixStream),
    /// The owner stopped it, or accepting failed.
    Stopped,
}
