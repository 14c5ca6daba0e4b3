//! A body that must not pause for too long.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::Sleep;

use super::SendError;

/// Passes a backend's body on, and ends it with an error when nothing comes for a while. Dropping it cancels the request.
pub(super) struct TimedBody<B> {
    body: B,
    authority: String,
    bound: Duration,
    /// Set when the body is first waited for, and anew only when it goes off: most streams never touch the timer again.
    timer: Option<Pin<Box<Sleep>>>,
    last_byte: Instant,
    is_over: bool,
}

impl<B> TimedBody<B> {
    pub(super) fn new(body: B, authority: String, bound: Duration) -> TimedBody<B> {
        TimedBody {
            body,
            authority,
            bound,
            timer: None,
            last_byte: Instant::now(),
            is_over: false,
        }
    }

    /// Whether the pause has become too long.
    fn poll_pause(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let bound = self.bound;
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(bound)));
        while timer.as_mut().poll(context).is_ready() {
            let left = bound.saturating_sub(self.last_byte.elapsed());
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
                reason: super::transport::innermost(&error),
            },
            Poll::Pending if this.poll_pause(context).is_pending() => return Poll::Pending,
            Poll::Pending => SendError::Idle {
                authority: std::mem::take(&mut this.authority),
                after: this.bound,
            },
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
