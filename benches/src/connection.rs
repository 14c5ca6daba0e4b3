//! A TCP connection with a read buffer, for either end.

use std::io::{self, IoSlice};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Holds a whole unpaced answer, so that one read can take it.
const BUFFER: usize = 64 * 1024;

/// A connection whose unread bytes are looked at in place.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
}

impl Connection {
    /// Wraps a stream and sets `TCP_NODELAY`: without it every small write waits 40 ms for a
    /// delayed acknowledgement.
    ///
    /// # Errors
    /// When the option cannot be set.
    pub fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        let buffer = vec![0; BUFFER].into_boxed_slice();
        Ok(Self { stream, buffer, start: 0, end: 0 })
    }

    /// Bytes that were read and not consumed.
    pub fn pending(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Drops the first `count` pending bytes.
    pub fn consume(&mut self, count: usize) {
        self.start += count;
        if self.start >= self.end {
            self.start = 0;
            self.end = 0;
        }
    }

    /// Reads once; returns how many bytes came, 0 at the end of the stream.
    ///
    /// # Errors
    /// When reading fails, or when nothing was consumed from a full buffer.
    pub async fn fill(&mut self) -> io::Result<usize> {
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

    /// Writes all of `bytes`.
    ///
    /// # Errors
    /// When writing fails.
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await
    }
    /// Writes several pieces as one: they stay where they are, and leave in one packet if they fit.
    ///
    /// # Errors
    /// When writing fails.
    pub async fn write_pieces(&mut self, pieces: &[&[u8]]) -> io::Result<()> {
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
