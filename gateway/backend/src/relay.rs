//! The body of an answer. The task that writes it to the client also reads it from the backend's connection.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};

use super::http1::{Connection, Framing, closed};
use super::pool::DirectPool;

/// The size in bytes from which a frame is returned without joining further chunks. Only chunks that have already
/// arrived are joined.
const JOINED: usize = 64 << 10;

/// Reads the connection while it is polled. The end of the body returns the connection to the pool. Dropping it
/// earlier closes the connection, which makes the backend stop.
pub(super) struct RelayBody {
    /// `None` once the body is over.
    connection: Option<Connection>,
    framing: Framing,
    /// `None` if the connection cannot be used again.
    pool: Option<DirectPool>,
    authority: String,
    /// An error to return after the data that arrived before it.
    broken: Option<io::Error>,
}

impl RelayBody {
    pub(super) fn new(
        (connection, framing): (Connection, Framing),
        pool: Option<DirectPool>,
        authority: String,
    ) -> RelayBody {
        let mut body = RelayBody { connection: Some(connection), framing, pool, authority, broken: None };
        if framing.is_over() {
            body.finish();
        }
        body
    }

    fn finish(&mut self) {
        if let (Some(connection), Some(pool)) = (self.connection.take(), &self.pool) {
            pool.give_back(&self.authority, connection);
        }
    }

    /// The next data without waiting, several chunks joined. An error and the end are kept for the next call.
    fn poll_data(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let Some(connection) = &mut self.connection else { return Poll::Ready(None) };
        let mut data = Joined::default();
        let broken = loop {
            match self.framing.take(connection.buffer()) {
                Ok(Some(more)) => {
                    data.push(more);
                    if data.len() >= JOINED {
                        return Poll::Ready(data.take());
                    }
                    continue;
                }
                Ok(None) if self.framing.is_over() => break None,
                Ok(None) => {}
                Err(error) => break Some(error),
            }
            if data.len() > 0 && !connection.may_have_more() {
                return Poll::Ready(data.take());
            }
            match connection.poll_more(context) {
                Poll::Ready(Ok(0)) if self.framing == Framing::UntilClose => break None,
                Poll::Ready(Ok(0)) => break Some(closed()),
                Poll::Ready(Ok(_)) => {}
                Poll::Ready(Err(error)) => break Some(error),
                Poll::Pending if data.len() > 0 => return Poll::Ready(data.take()),
                Poll::Pending => return Poll::Pending,
            }
        };
        if broken.is_some() {
            (self.broken, self.pool) = (broken, None);
        }
        self.finish();
        Poll::Ready(data.take())
    }
}

/// Chunks as one; a single one is not copied.
#[derive(Default)]
struct Joined {
    first: Bytes,
    joined: BytesMut,
}

impl Joined {
    fn len(&self) -> usize {
        self.first.len().max(self.joined.len())
    }

    fn push(&mut self, data: Bytes) {
        if self.first.is_empty() {
            self.first = data;
            return;
        }
        if self.joined.is_empty() {
            self.joined.extend_from_slice(&self.first);
        }
        self.joined.extend_from_slice(&data);
    }

    /// `None` if there is no data.
    fn take(self) -> Option<Bytes> {
        let data = if self.joined.is_empty() { self.first } else { self.joined.freeze() };
        (!data.is_empty()).then_some(data)
    }
}

impl Body for RelayBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = self.get_mut();
        let data = match this.poll_data(context) {
            Poll::Ready(Some(data)) => Some(Ok(Frame::data(data))),
            Poll::Ready(None) => this.broken.take().map(Err),
            Poll::Pending => return Poll::Pending,
        };
        Poll::Ready(data)
    }

    fn is_end_stream(&self) -> bool {
        self.connection.is_none() && self.broken.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        self.framing.length().map(SizeHint::with_exact).unwrap_or_default()
    }
}
