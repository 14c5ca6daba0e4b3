//! A client for blocking threads: one thread with its own runtime that sends their requests to backends.
//!
//! Embedding and exploring run on blocking threads, and the transport is asynchronous. A caller passes a task to this
//! client's thread and waits for it. Calls are possible from any thread, tasks run concurrently, and connections are
//! reused. The thread only moves bytes. Callers write requests and read answers themselves, so that no task delays
//! another one.
//!
//! Explorations in the background run here as well ([`BlockingClient::spawn`]). Their computations run on the blocking
//! threads of this runtime and take none from the requests.

use std::future::Future;
use std::time::Duration;

use futures_util::future::BoxFuture;
use muninn_base::Supervisor;
use thiserror::Error;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use super::Transport;

/// Threads for the computations of spawned tasks.
const BLOCKING_THREADS: usize = 4;

/// The reason why a blocking client cannot start.
#[derive(Debug, Error)]
pub enum BlockingClientError {
    /// The transport cannot be prepared, for instance without any system certificate.
    #[error("TLS cannot be set up: {0}")]
    Transport(#[from] reqwest::Error),
    /// The system refused a thread or a socket poller.
    #[error("cannot start the thread for requests to backends: {0}")]
    Thread(#[from] std::io::Error),
}

/// Runs tasks on its thread. Clones share the thread and its connections. The thread ends with the last clone.
#[derive(Clone)]
pub struct BlockingClient {
    transport: Transport,
    tasks: UnboundedSender<BoxFuture<'static, ()>>,
}

impl BlockingClient {
    /// Starts the thread under `supervisor`. Connecting to a backend may take up to `connect_timeout`.
    ///
    /// # Errors
    /// [`BlockingClientError`] if TLS or the thread cannot be set up.
    pub fn start(supervisor: &Supervisor, connect_timeout: Duration) -> Result<BlockingClient, BlockingClientError> {
        let transport = Transport::new(connect_timeout)?;
        let (tasks, mut queue) = unbounded_channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(BLOCKING_THREADS)
            .build()?;
        supervisor.keep_owned("models", move || runtime.block_on(serve(&mut queue)))?;
        Ok(BlockingClient { transport, tasks })
    }

    /// The transport, with its shared connections.
    pub(super) fn transport(&self) -> Transport {
        self.transport.clone()
    }

    /// Runs a task to its end, concurrently with all others and without a waiter.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.send(Box::pin(task)).ok();
    }

    /// Runs a task to its end, concurrently with all others. Returns `None` if it panicked. Dropping the future cancels
    /// the task.
    pub(super) async fn run<T: Send + 'static>(&self, task: impl Future<Output = T> + Send + 'static) -> Option<T> {
        let (mut answer, answered) = oneshot::channel();
        self.spawn(async move {
            let output = tokio::select! {
                () = answer.closed() => return,
                output = task => output,
            };
            answer.send(output).ok();
        });
        answered.await.ok()
    }
}

/// Starts queued tasks until the last [`BlockingClient`] is dropped.
async fn serve(queue: &mut UnboundedReceiver<BoxFuture<'static, ()>>) {
    while let Some(task) = queue.recv().await {
        tokio::spawn(task);
    }
}
