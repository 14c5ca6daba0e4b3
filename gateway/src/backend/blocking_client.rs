//! A thread that carries requests to backends for callers that are on no runtime of their own.
//!
//! What embeds or explores runs on blocking threads, and the transport is asynchronous. Between them stands one thread
//! with a runtime of its own: a caller hands its errand over and waits, so that it does not matter where it is called
//! from, any number of errands are under way at once, and connections are kept. Only bytes are moved here; writing
//! requests and reading answers is the callers' work, so that no errand waits for another's.
//!
//! Explorations that no request waits for are driven from here as well ([`BlockingClient::spawn`]); what they compute runs on
//! the blocking threads of this runtime, and so takes none from the requests.

use std::future::Future;
use std::time::Duration;

use futures_util::future::BoxFuture;
use muninn_repo_tools::Supervisor;
use thiserror::Error;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use super::Transport;

/// Threads for what spawned errands compute.
const BLOCKING_THREADS: usize = 4;

/// Why there is no blocking_client.
#[derive(Debug, Error)]
pub enum BlockingClientError {
    /// The transport cannot be prepared, for instance without any system certificate.
    #[error("TLS cannot be set up: {0}")]
    Transport(#[from] reqwest::Error),
    /// The system gave no thread, or nothing to wait on sockets with.
    #[error("no thread for requests to backends: {0}")]
    Thread(#[from] std::io::Error),
}

/// Runs errands on its thread. Clones share the thread and its connections; it ends with the last of them.
#[derive(Clone)]
pub struct BlockingClient {
    transport: Transport,
    errands: UnboundedSender<BoxFuture<'static, ()>>,
}

impl BlockingClient {
    /// Starts the thread, as a task of this owner. Connecting to a backend may take as long as `connect_timeout`.
    ///
    /// # Errors
    /// [`BlockingClientError`] where the system will not have it.
    pub fn start(supervisor: &Supervisor, connect_timeout: Duration) -> Result<BlockingClient, BlockingClientError> {
        let transport = Transport::new(connect_timeout)?;
        let (errands, mut queue) = unbounded_channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(BLOCKING_THREADS)
            .build()?;
        supervisor.keep_owned("models", move || runtime.block_on(serve(&mut queue)))?;
        Ok(BlockingClient { transport, errands })
    }

    /// What carries the bytes.
    pub(super) fn transport(&self) -> Transport {
        self.transport.clone()
    }

    /// Runs an errand to its end, beside all others, whether or not anybody waits for it.
    pub fn spawn(&self, errand: impl Future<Output = ()> + Send + 'static) {
        self.errands.send(Box::pin(errand)).ok();
    }

    /// Runs an errand to its end, beside all others; `None` where it panicked. Dropping the future ends the errand.
    pub(super) async fn run<T: Send + 'static>(&self, errand: impl Future<Output = T> + Send + 'static) -> Option<T> {
        let (mut answer, answered) = oneshot::channel();
        self.spawn(async move {
            let output = tokio::select! {
                () = answer.closed() => return,
                output = errand => output,
            };
            answer.send(output).ok();
        });
        answered.await.ok()
    }
}

/// Starts errands as they come, until the last blocking_client that could send one is gone.
async fn serve(queue: &mut UnboundedReceiver<BoxFuture<'static, ()>>) {
    while let Some(errand) = queue.recv().await {
        tokio::spawn(errand);
    }
}
