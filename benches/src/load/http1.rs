//! Just enough HTTP/1.1 for the load client and its mock, which must cost much less than the gateway between them.
//!
//! The client and the mock of `muninn_tests` take a thread for each connection and copy each body. In their place, a run
//! without a gateway makes 14% fewer requests per second with bodies of 2 kB and 25% fewer with bodies of 100 kB, and
//! 1,000 streams take 2,000 threads. hyper's client hands over each chunk by a channel and hides when bytes arrive: a
//! streaming proxy of axum and reqwest reaches 15% of the requests per second without a gateway.
//!
//! So heads are searched in place, and bodies are passed on as slices of the read buffer. Any framing that a gateway may
//! choose is understood: it may merge or split chunks, and answer with a length or by closing.

use std::io::{self, IoSlice};

use anyhow::{Context, Result, anyhow, bail};
use httparse::{Status, parse_chunk_size};
use memchr::{memchr, memmem};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The head of a request or a response, borrowed from the read buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head<'a> {
    text: &'a str,
}

impl<'a> Head<'a> {
    /// Parses the head at the start of `bytes`, and returns its length with the blank line; `None` while it is incomplete.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Option<(Self, usize)>> {
        let Some(end) = memmem::find(bytes, b"\r\n\r\n") else {
            return Ok(None);
        };
        let text = std::str::from_utf8(&bytes[..end]).context("the head is no text")?;
        Ok(Some((Self { text }, end + 4)))
    }

    pub(crate) fn request(&self) -> Result<(&'a str, &'a str)> {
        let mut words = self.start_line().split(' ');
        match (words.next(), words.next(), words.next()) {
            (Some(method), Some(target), Some(version)) if version.starts_with("HTTP/1.") => Ok((method, target)),
            _ => bail!("no request line: {}", self.start_line()),
        }
    }

    pub(crate) fn status(&self) -> Result<u16> {
        let words = self.start_line().strip_prefix("HTTP/1.");
        let code = words.and_then(|words| words.split(' ').nth(1)?.parse().ok());
        code.with_context(|| format!("no status line: {}", self.start_line()))
    }

    fn start_line(&self) -> &'a str {
        self.text.split("\r\n").next().unwrap_or("")
    }

    pub(crate) fn header(&self, name: &str) -> Option<&'a str> {
        self.text.split("\r\n").skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// Whether the sender closes the connection after this message.
    pub(crate) fn closes(&self) -> bool {
        self.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }

    /// The decoder for the body of this message. `unframed` is that of a message without a framing header: no body for a
    /// request, all bytes up to the close for a response.
    pub(crate) fn body(&self, unframed: BodyDecoder) -> Result<BodyDecoder> {
        match (self.header("transfer-encoding"), self.header("content-length")) {
            (Some(coding), _) if coding.eq_ignore_ascii_case("chunked") => Ok(BodyDecoder::ChunkSize),
            (Some(coding), _) => bail!("unknown transfer coding {coding}"),
            (None, Some(length)) => Ok(BodyDecoder::Length(length.parse().context("content-length")?)),
            (None, None) => Ok(unframed),
        }
    }
}

/// Takes a body out of its framing, piece by piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyDecoder {
    /// This many bytes are still to come, without chunks.
    Length(usize),
    /// Before the size of a chunk.
    ChunkSize,
    /// In a chunk of which this many bytes are still to come.
    ChunkData(usize),
    /// Before the line end after a chunk.
    ChunkEnd,
    /// Before a line of the trailer.
    Trailer,
    /// Everything up to the close of the connection.
    UntilClose,
}

impl BodyDecoder {
    /// Decodes `input`, hands each piece of the body to `sink`, and returns the number of used bytes. Bytes after the
    /// body's end, and an incomplete line of the framing, are left.
    pub(crate) fn feed(&mut self, input: &[u8], mut sink: impl FnMut(&[u8])) -> Result<usize> {
        let mut used = 0;
        loop {
            let rest = &input[used..];
            let (taken, next) = match *self {
                Self::Length(0) => return Ok(used),
                Self::UntilClose if rest.is_empty() => return Ok(used),
                Self::Length(_) | Self::ChunkData(_) if rest.is_empty() => return Ok(used),
                Self::UntilClose => {
                    sink(rest);
                    (rest.len(), Self::UntilClose)
                }
                Self::Length(left) => {
                    let taken = left.min(rest.len());
                    sink(&rest[..taken]);
                    (taken, Self::Length(left - taken))
                }
                Self::ChunkData(left) => {
                    let taken = left.min(rest.len());
                    sink(&rest[..taken]);
                    let left = left - taken;
                    (taken, if left == 0 { Self::ChunkEnd } else { Self::ChunkData(left) })
                }
                Self::ChunkSize => match parse_chunk_size(rest).map_err(|_| anyhow!("no chunk size"))? {
                    Status::Partial => return Ok(used),
                    Status::Complete((taken, 0)) => (taken, Self::Trailer),
                    Status::Complete((taken, size)) => (taken, Self::ChunkData(size as usize)),
                },
                Self::ChunkEnd | Self::Trailer => {
                    let Some(end) = memchr(b'\n', rest) else {
                        return Ok(used);
                    };
                    let next = match (*self, &rest[..end]) {
                        (Self::ChunkEnd, b"\r") => Self::ChunkSize,
                        (Self::ChunkEnd, _) => bail!("no line end after a chunk"),
                        (_, b"\r") => Self::Length(0),
                        _ => Self::Trailer,
                    };
                    (end + 1, next)
                }
            };
            used += taken;
            *self = next;
        }
    }

    /// Whether the body's end has been seen. A body that ends with the connection never has one.
    pub(crate) fn is_done(&self) -> bool {
        *self == Self::Length(0)
    }
}

/// Holds a whole unpaced answer, so that one read can take it.
const BUFFER: usize = 64 * 1024;

/// A connection whose unread bytes stay in the buffer until they are consumed.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
}

impl Connection {
    /// Sets `TCP_NODELAY`: without it every small write waits 40 ms for a delayed acknowledgement.
    pub(crate) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: vec![0; BUFFER].into_boxed_slice(), start: 0, end: 0 })
    }

    /// Bytes that were read and not consumed.
    pub(crate) fn pending(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    pub(crate) fn consume(&mut self, count: usize) {
        self.start += count;
        if self.start >= self.end {
            self.start = 0;
            self.end = 0;
        }
    }

    /// Reads once, and returns the number of bytes, 0 at the end of the stream. A full buffer is an error.
    pub(crate) async fn fill(&mut self) -> io::Result<usize> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let count = self.stream.read(&mut self.buffer[self.end..]).await?;
        self.end += count;
        Ok(count)
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await
    }

    /// Writes several pieces without copying them. They leave in one packet if they fit.
    pub(crate) async fn write_pieces(&mut self, pieces: &[&[u8]]) -> io::Result<()> {
        let mut slices: Vec<IoSlice<'_>> = pieces.iter().map(|one| IoSlice::new(one)).collect();
        let mut rest = slices.as_mut_slice();
        IoSlice::advance_slices(&mut rest, 0);
        while !rest.is_empty() {
            match self.stream.write_vectored(rest).await? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                written => IoSlice::advance_slices(&mut rest, written),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunked_body_is_decoded_at_every_split_and_the_rest_is_left() {
        let wire = b"5\r\nhello\r\nA;x=\"1;\"\r\n, chunked!\r\n0\r\nX-Sum: 1\r\n\r\n";
        for cut in 0..=wire.len() {
            let (mut decoder, mut body, mut pending) = (BodyDecoder::ChunkSize, Vec::new(), Vec::new());
            for piece in [&wire[..cut], &wire[cut..], b"HTTP/1.1 200 OK"] {
                pending.extend_from_slice(piece);
                let used = decoder.feed(&pending, |part| body.extend_from_slice(part)).unwrap();
                pending.drain(..used);
            }
            assert!(decoder.is_done() && pending == b"HTTP/1.1 200 OK", "cut at {cut}");
            assert_eq!(body, b"hello, chunked!", "cut at {cut}");
        }
        assert!(BodyDecoder::ChunkSize.feed(b"1\r\nxy\r\n", |_| ()).is_err());
    }
}
