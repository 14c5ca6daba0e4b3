//! What a request handler gets.

use std::sync::Arc;

use tokio_util::task::TaskTracker;

use super::body_memory::BodyMemory;
use super::large::LargeBodies;
use super::refusal::RefusalLog;
use crate::app::App;
use crate::backend::Transport;

/// What the workers of one server share besides the application.
#[derive(Default)]
pub(super) struct Shared {
    /// Bounds the log lines of refused requests.
    pub(super) refusals: RefusalLog,
    /// The memory of all request bodies.
    pub(super) body_memory: Arc<BodyMemory>,
    /// Threads for work on large bodies.
    pub(super) large: LargeBodies,
}

/// One worker's: the application, what the workers share, and connections of its own to backends.
#[derive(Clone)]
pub(super) struct Worker {
    pub(super) app: Arc<App>,
    pub(super) shared: Arc<Shared>,
    pub(super) transport: Transport,
    /// What is still to be done for requests that were answered; waited for before a worker ends.
    pub(super) bookkeeping: TaskTracker,
}
