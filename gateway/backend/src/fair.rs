//! A body that yields its thread to other tasks.
//!
//! A worker has one thread. If data arrives faster than it is read and none of it is passed on (comments, events that
//! convert to nothing, data after the last event), the reader's task never waits. Without a yield, the worker's other
//! requests stop, timers do not fire, and a disconnect of the client stays unnoticed.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

/// The most bytes that are read without a yield. Converting this many bytes of small events takes about a millisecond.
const MOST_BYTES: usize = 64 << 10;
/// The most chunks that are read without a yield. It is below the 128 operations that tokio allows a task, so that a
/// timer polled after this body can still fire.
const MOST_CHUNKS: u32 = 32;

/// Passes a body through, and yields once after `MOST_BYTES` or `MOST_CHUNKS` without waiting.
pub struct FairBody<B> {
    body: B,
    bytes: usize,
    chunks: u32,
}

impl<B> FairBody<B> {
    pub fn new(body: B) -> FairBody<B> {
        FairBody { body, bytes: 0, chunks: 0 }
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
            // `yield_now` wakes this task after the runtime has polled sockets and timers. A plain wake would only run
            // tasks that are already ready: a busy runtime polls its sockets once in 61 tasks.
            let _ignored = pin!(tokio::task::yield_now()).poll(context);
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
    fn other_tasks_and_timers_run_beside_endless_data() {
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
