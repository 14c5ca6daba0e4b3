//! Driving futures that compute between their waits.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use tokio::sync::Notify;
use tokio::task::{JoinError, spawn_blocking};

/// Wakes the task that drives.
#[derive(Default)]
struct Waiting(Notify);

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}

/// Runs a future to its end, each of its polls on a blocking thread of this runtime and none of its waits: one that
/// waits for a model takes no thread from others, however long that takes. Dropping this drops the future, at the end of
/// a poll that is under way.
///
/// # Errors
/// If a poll panics, or the runtime stops.
pub(crate) async fn drive<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> Result<T, JoinError> {
    let waiting = Arc::new(Waiting::default());
    let mut future: Pin<Box<dyn Future<Output = T> + Send>> = Box::pin(future);
    loop {
        let waker = Waker::from(Arc::clone(&waiting));
        let poll = move || {
            let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
            (polled, future)
        };
        let (polled, pending) = spawn_blocking(poll).await?;
        if let Poll::Ready(output) = polled {
            return Ok(output);
        }
        future = pending;
        waiting.0.notified().await;
    }
}
