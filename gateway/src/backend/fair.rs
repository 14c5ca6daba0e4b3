//! A body that leaves its thread to others.
//!
//! A worker has one thread. Data that comes faster than it is used up, and of which nothing is passed on (comments,
//! events that convert to nothing, what follows the last event), would keep the reader's task from ever waiting: no other
//! request of the worker goes on, no timer goes off, and nobody notices that the client has left.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

/// What may be read in one go: converting so many bytes of small events takes about a millisecond.
const MOST_BYTES: usize = 64 << 10;
/// Chunks that may be read in one go; below the 128 operations that tokio allows a task, so that a timer that is polled
/// after this body still gets its turn.
const MOST_CHUNKS: u32 = 32;

/// Passes a body on, and pauses it for one turn of the runtime whenever much was read without waiting.
pub(crate) struct FairBody<B> {
    body: B,
    bytes: usize,
    chunks: u32,
}

impl<B> FairBody<B> {
    pub(crate) fn new(body: B) -> FairBody<B> {
        FairBody {
            body,
            bytes: 0,
            chunks: 0,
        }
    }
}

impl<B> Body for FairBody<B>
where
    B: Body<Data = Bytes> + Unpin,
{
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = self.get_mut();
        if this.bytes >= MOST_BYTES || this.chunks >= MOST_CHUNKS {
            (this.bytes, this.chunks) = (0, 0);
            // Woken after the runtime has looked at sockets and timers. A plain wake would only let other tasks run that
            // are ready already: a busy runtime looks at its sockets once in 61 tasks.
            let _pending = pin!(tokio::task::yield_now()).poll(context);
            return Poll::Pending;
        }
        let polled = Pin::new(&mut this.body).poll_frame(context);
        match &polled {
            Poll::Ready(Some(Ok(frame))) => {
                this.bytes += frame.data_ref().map_or(0, Bytes::len);
                this.chunks += 1;
            }
            _ => (this.bytes, this.chunks) = (0, 0),
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use http_body_util::{BodyExt, StreamBody};

    use super::*;

    fn endless(size: usize) -> FairBody<impl Body<Data = Bytes, Error = std::io::Error> + Unpin> {
        let chunk = Bytes::from(vec![b'x'; size]);
        let frames = stream::repeat_with(move || Ok(Frame::data(chunk.clone())));
        FairBody::new(StreamBody::new(frames))
    }

    #[test]
    fn endless_data_pauses_after_a_bounded_number_of_bytes_and_chunks() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for (size, chunks) in [(1, MOST_CHUNKS), (16 << 10, 4), (10 << 20, 1)] {
            let mut body = endless(size);
            let ready = runtime.block_on(std::future::poll_fn(|context| {
                let mut ready = 0;
                while Pin::new(&mut body).poll_frame(context).is_ready() {
                    ready += 1;
                    assert!(ready <= MOST_CHUNKS, "{size}");
                }
                Poll::Ready(ready)
            }));
            assert_eq!(ready, chunks, "{size}");
        }
    }

    #[test]
    fn others_and_timers_get_their_turn_beside_endless_data() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        runtime.unwrap().block_on(async {
            let reading = tokio::spawn(async {
                let mut body = endless(1 << 10);
                while let Some(Ok(_)) = body.frame().await {}
            });
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            reading.abort();
            assert!(reading.await.unwrap_err().is_cancelled());
        });
    }
}
