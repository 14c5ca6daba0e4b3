//! The state of the request handlers.

use std::sync::Arc;

use muninn_backend::Transport;
use muninn_core::App;
use tokio_util::task::TaskTracker;

use super::body_memory::BodyMemory;
use super::large::LargeBodies;
use super::refusal_log::RefusalLog;

/// The state that all workers of a server share, besides the application.
#[derive(Default)]
pub(super) struct Shared {
    /// Limits the log lines of refused requests.
    pub(super) refusals: RefusalLog,
    /// The memory of all request bodies.
    pub(super) body_memory: Arc<BodyMemory>,
    /// The memory of the conversations that open WebSockets keep.
    pub(super) socket_memory: Arc<BodyMemory>,
    /// The threads for work on large bodies.
    pub(super) large: LargeBodies,
}

/// The state of one worker: the application, the shared state, and its own connections to backends.
#[derive(Clone)]
pub(super) struct Worker {
    pub(super) app: Arc<App>,
    pub(super) shared: Arc<Shared>,
    pub(super) transport: Transport,
    /// The remaining work of answered requests; a worker waits for it before it ends.
    pub(super) bookkeeping: TaskTracker,
    /// The open WebSockets.
    pub(super) sockets: TaskTracker,
}
