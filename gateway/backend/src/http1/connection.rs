//! One connection and what was read of it.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes, BytesMut};
use http::{HeaderMap, Method};
use tokio::net::TcpStream;
use tokio_util::io::poll_read_buf;

use super::head::{self, AnswerHead};

/// The least room for a read, in bytes, and the sizes of new buffers: the larger one while reads fill what they get.
const LEAST_ROOM: usize = 2 << 10;
const BUFFERS: [usize; 2] = [8 << 10, 64 << 10];

/// A request to send.
pub(crate) struct Request {
    pub(crate) method: Method,
    /// Path and query.
    pub(crate) path: String,
    /// The headers without the body's length.
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

pub(crate) struct Connection {
    stream: TcpStream,
    /// The unsent bytes of the request's head and body.
    unsent: [Bytes; 2],
    read: BytesMut,
    /// Whether the last read filled its room.
    reads_much: bool,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream) -> Connection {
        Connection { stream, unsent: Default::default(), read: BytesMut::new(), reads_much: false }
    }

    /// Sends a request and waits for the head of its answer. An error says whether the server cannot have seen any of the request.
    pub(crate) async fn exchange(&mut self, request: &Request) -> Result<AnswerHead, (io::Error, bool)> {
        // A server that has closed the connection still lets a write succeed, and what it said unasked is no answer.
        let is_silent = std::future::poll_fn(|context| Poll::Ready(self.poll_read(context).is_pending())).await;
        if !is_silent {
            return Err((closed(), true));
        }
        let head = head::request(&request.method, &request.path, &request.headers, request.body.len());
        let length = head.len() + request.body.len();
        self.unsent = [head, request.body.clone()];
        let answered = std::future::poll_fn(|context| self.poll_head(&request.method, context)).await;
        answered.map_err(|error| (error, self.unsent.iter().map(Bytes::len).sum::<usize>() == length))
    }

    fn poll_head(&mut self, method: &Method, context: &mut Context<'_>) -> Poll<io::Result<AnswerHead>> {
        loop {
            if let Some(head) = AnswerHead::take(&mut self.read, method)? {
                return Poll::Ready(Ok(head));
            }
            if ready!(self.poll_more(context))? == 0 {
                return Poll::Ready(Err(closed()));
            }
        }
    }

    /// Sends what is left of the request.
    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.has_unsent() {
            ready!(self.stream.poll_write_ready(context))?;
            let slices = self.unsent.each_ref().map(|bytes| IoSlice::new(bytes));
            match self.stream.try_write_vectored(&slices) {
                Ok(mut written) => {
                    for bytes in &mut self.unsent {
                        let sent = bytes.len().min(written);
                        bytes.advance(sent);
                        written -= sent;
                        if bytes.is_empty() {
                            // An empty part of it would keep the memory of the whole.
                            *bytes = Bytes::new();
                        }
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Reads more into [`Connection::buffer`], and sends what is left of the request. Returns the number of bytes, 0 at the end.
    pub(crate) fn poll_more(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let sent = self.poll_send(context);
        match (self.poll_read(context), sent) {
            // A server may answer before it has the whole request, and then close the connection.
            (Poll::Pending, Poll::Ready(Err(error))) => Poll::Ready(Err(error)),
            (read, _) => read,
        }
    }

    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.read.capacity() - self.read.len() < LEAST_ROOM {
            self.read.reserve(BUFFERS[usize::from(self.reads_much)]);
        }
        let room = self.read.capacity() - self.read.len();
        // A read that does not fill its room is the last one until more arrives, which saves a call that finds nothing.
        let length = ready!(poll_read_buf(Pin::new(&mut self.stream), context, &mut self.read))?;
        self.reads_much = length == room;
        Poll::Ready(Ok(length))
    }

    /// The received bytes that were not taken yet.
    pub(crate) fn buffer(&mut self) -> &mut BytesMut {
        &mut self.read
    }

    /// Whether the last read filled its room, so that more may have arrived.
    pub(crate) fn may_have_more(&self) -> bool {
        self.reads_much
    }

    fn has_unsent(&self) -> bool {
        self.unsent.iter().any(|bytes| !bytes.is_empty())
    }

    /// Whether the connection can take a request: no bytes are left to send or to take, and the server neither closed the
    /// connection nor sent more.
    pub(crate) fn is_idle(&self) -> bool {
        let is_silent = || {
            let read = self.stream.try_read(&mut [0]);
            read.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
        };
        !self.has_unsent() && self.read.is_empty() && is_silent()
    }
}

/// The error where a server closes the connection before its answer is complete.
pub(crate) fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "connection closed before message completed")
}
