//! The body of an answer. The task that writes it to the client also reads it from the backend's connection.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use super::pool::{DirectPool, Link};

/// The size in bytes from which a frame is returned without joining further chunks. Only chunks that have already
/// arrived are joined.
const JOINED: usize = 64 << 10;

/// Drives the connection while it is polled. The end of the body returns the connection to the pool. Dropping it
/// earlier closes the connection, which makes the backend stop.
pub(super) struct RelayBody {
    incoming: Incoming,
    link: Option<Link>,
    pool: DirectPool,
    authority: String,
    ended: bool,
    /// An error to return after the data that arrived before it.
    broken: Option<hyper::Error>,
}

impl RelayBody {
    pub(super) fn new(incoming: Incoming, link: Link, pool: DirectPool, authority: String) -> RelayBody {
        let mut body =
            RelayBody { ended: incoming.is_end_stream(), incoming, link: Some(link), pool, authority, broken: None };
        if body.ended {
            body.give_back();
        }
        body
    }

    fn give_back(&mut self) {
        if let Some(link) = self.link.take() {
            self.pool.give_back(&self.authority, link);
        }
    }

    /// Returns the next frame without waiting. If the channel is empty, the connection is polled, which reads the
    /// socket.
    fn next_frame(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.incoming).poll_frame(context) {
            return Poll::Ready(frame);
        }
        if let Some(link) = &mut self.link
            && pin!(&mut link.connection).poll(context).is_ready()
        {
            // The connection is closed or broken. The channel still holds the data read before, and the body reports
            // the end or the error.
            self.link = None;
        }
        Pin::new(&mut self.incoming).poll_frame(context)
    }

    fn finish(&mut self, context: &mut Context<'_>) {
        self.ended = true;
        // The connection notices the end of the body only when it is polled once more. Then it can send another
        // request.
        if let Some(link) = &mut self.link
            && pin!(&mut link.connection).poll(context).is_ready()
        {
            self.link = None;
        }
        self.give_back();
    }
}

impl Body for RelayBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = self.get_mut();
        if let Some(error) = this.broken.take() {
            this.ended = true;
            return Poll::Ready(Some(Err(error)));
        }
        if this.ended {
            return Poll::Ready(None);
        }
        let mut first: Option<Bytes> = None;
        let mut joined = BytesMut::new();
        loop {
            match this.next_frame(context) {
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) if first.is_none() => first = Some(data),
                    Ok(data) => {
                        if joined.is_empty() {
                            joined.extend_from_slice(first.as_deref().unwrap_or_default());
                        }
                        joined.extend_from_slice(&data);
                        if joined.len() >= JOINED {
                            break;
                        }
                    }
                    // Trailers end a body. They are passed on if no data came before them in this poll.
                    Err(trailers) if first.is_none() => return Poll::Ready(Some(Ok(trailers))),
                    Err(_) => {}
                },
                Poll::Ready(Some(Err(error))) => {
                    this.link = None;
                    if first.is_none() {
                        this.ended = true;
                        return Poll::Ready(Some(Err(error)));
                    }
                    this.broken = Some(error);
                    break;
                }
                Poll::Ready(None) => {
                    this.finish(context);
                    break;
                }
                Poll::Pending => {
                    if first.is_none() {
                        return Poll::Pending;
                    }
                    break;
                }
            }
        }
        let data = if joined.is_empty() { first } else { Some(joined.freeze()) };
        Poll::Ready(data.map(|data| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        self.ended
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}
