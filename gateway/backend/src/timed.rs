//! A body with an idle timeout.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::Sleep;

use super::SendError;

/// Passes a backend's body through, and ends it with an error if no data arrives for `timeout`. Dropping it cancels the
/// request.
pub(super) struct TimedBody<B> {
    body: B,
    authority: String,
    timeout: Duration,
    /// Started at the first wait, and reset only when it fires. Most streams never touch the timer again.
    timer: Option<Pin<Box<Sleep>>>,
    last_byte: Instant,
    is_over: bool,
}

impl<B> TimedBody<B> {
    pub(super) fn new(body: B, authority: String, timeout: Duration) -> TimedBody<B> {
        TimedBody { body, authority, timeout, timer: None, last_byte: Instant::now(), is_over: false }
    }

    /// Ready once the timeout has passed since the last byte.
    fn poll_timeout(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let timeout = self.timeout;
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(timeout)));
        while timer.as_mut().poll(context).is_ready() {
            let left = timeout.saturating_sub(self.last_byte.elapsed());
            if left.is_zero() {
                return Poll::Ready(());
            }
            timer.as_mut().reset(tokio::time::Instant::now() + left);
        }
        Poll::Pending
    }
}

impl<B> Body for TimedBody<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: std::error::Error,
{
    type Data = Bytes;
    type Error = SendError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, SendError>>> {
        let this = self.get_mut();
        if this.is_over {
            return Poll::Ready(None);
        }
        let error = match Pin::new(&mut this.body).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                this.last_byte = Instant::now();
                return Poll::Ready(Some(Ok(frame)));
            }
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Ready(Some(Err(error))) => SendError::BrokenOff {
                authority: std::mem::take(&mut this.authority),
                reason: super::send_error::innermost(&error),
            },
            Poll::Pending if this.poll_timeout(context).is_pending() => return Poll::Pending,
            Poll::Pending => SendError::Idle { authority: std::mem::take(&mut this.authority), after: this.timeout },
        };
        this.is_over = true;
        Poll::Ready(Some(Err(error)))
    }

    fn is_end_stream(&self) -> bool {
        self.is_over || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
