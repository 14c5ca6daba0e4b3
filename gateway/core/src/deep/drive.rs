//! Driving futures that compute between their await points.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use tokio::sync::Notify;
use tokio::task::{JoinError, spawn_blocking};

/// Wakes the task that runs [`drive`].
#[derive(Default)]
struct PollWaker(Notify);

impl Wake for PollWaker {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}

/// Runs a future to completion. Each poll runs on a blocking thread of this runtime; a pending future holds no thread, so
/// waiting for a model takes none from others. Dropping this drops the future, after the poll that is under way.
///
/// # Errors
/// If a poll panics, or the runtime stops.
pub(crate) async fn drive<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> Result<T, JoinError> {
    let poll_waker = Arc::new(PollWaker::default());
    let mut future: Pin<Box<dyn Future<Output = T> + Send>> = Box::pin(future);
    loop {
        let waker = Waker::from(Arc::clone(&poll_waker));
        let poll = move || {
            let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
            (polled, future)
        };
        let (polled, pending) = spawn_blocking(poll).await?;
        if let Poll::Ready(output) = polled {
            return Ok(output);
        }
        future = pending;
        poll_waker.0.notified().await;
    }
}
