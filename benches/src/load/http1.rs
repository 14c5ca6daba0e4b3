//! Just enough HTTP/1.1 for the load client and its mock, which must cost much less than the gateway between them.
//!
//! The client and the mock of `muninn_tests` take a thread for each connection and copy each body. In their place, a run
//! without a gateway makes 14% fewer requests per second with bodies of 2 kB and 25% fewer with bodies of 100 kB, and
//! 1,000 streams take 2,000 threads. hyper's client hands over each chunk by a channel and hides when bytes arrive: a
//! streaming proxy of axum and reqwest reaches 15% of the requests per second without a gateway.
//!
//! So heads are searched in place, and bodies are passed on as slices of the read buffer. Any framing that a gateway may
//! choose is understood: it may merge or split chunks, and answer with a length or by closing.

use anyhow::{Context, Result, anyhow, bail};
use httparse::{Status, parse_chunk_size};
use memchr::{memchr, memmem};

/// The head of a request or a response, borrowed from the read buffer.
#[derive(Debug, Clone, Copy)]
pub struct Head<'a> {
    text: &'a str,
}

impl<'a> Head<'a> {
    /// Parses the head at the start of `bytes`; `None` while it is incomplete. Also returns its length in bytes, blank
    /// line included.
    ///
    /// # Errors
    /// When the head is not text.
    pub fn parse(bytes: &'a [u8]) -> Result<Option<(Self, usize)>> {
        let Some(end) = memmem::find(bytes, b"\r\n\r\n") else {
            return Ok(None);
        };
        let text = std::str::from_utf8(&bytes[..end]).context("the head is no text")?;
        Ok(Some((Self { text }, end + 4)))
    }

    /// Method and target of a request.
    ///
    /// # Errors
    /// When the start line is no request line.
    pub fn request(&self) -> Result<(&'a str, &'a str)> {
        let mut words = self.start_line().split(' ');
        match (words.next(), words.next(), words.next()) {
            (Some(method), Some(target), Some(version)) if version.starts_with("HTTP/1.") => Ok((method, target)),
            _ => bail!("no request line: {}", self.start_line()),
        }
    }

    /// Status code of a response.
    ///
    /// # Errors
    /// When the start line is no status line.
    pub fn status(&self) -> Result<u16> {
        let words = self.start_line().strip_prefix("HTTP/1.");
        let code = words.and_then(|words| words.split(' ').nth(1)?.parse().ok());
        code.with_context(|| format!("no status line: {}", self.start_line()))
    }

    fn start_line(&self) -> &'a str {
        self.text.split("\r\n").next().unwrap_or("")
    }

    /// Value of the first header of this name, in any letter case.
    pub fn header(&self, name: &str) -> Option<&'a str> {
        self.text.split("\r\n").skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// Whether the sender closes the connection after this message.
    pub fn closes(&self) -> bool {
        self.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }

    /// The decoder for the body of this message. `unframed` is the decoder of a message without a framing header: no
    /// body for a request, all bytes up to the close for a response.
    ///
    /// # Errors
    /// When the framing headers cannot be read.
    pub fn body(&self, unframed: BodyDecoder) -> Result<BodyDecoder> {
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
pub enum BodyDecoder {
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
    /// Decodes `input`, hands each piece of the body to `sink`, and returns the number of bytes that were used. Bytes
    /// after the body's end, and an incomplete line of the framing, are left.
    ///
    /// # Errors
    /// When chunked framing is broken.
    pub fn feed(&mut self, input: &[u8], mut sink: impl FnMut(&[u8])) -> Result<usize> {
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
    pub fn is_done(&self) -> bool {
        *self == Self::Length(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The body in these pieces, and the bytes that were used of all of them. As a connection does, it keeps what was not.
    fn decode(decoder: &mut BodyDecoder, pieces: &[&[u8]]) -> (Vec<u8>, usize) {
        let (mut body, mut pending, mut used) = (Vec::new(), Vec::new(), 0);
        for piece in pieces {
            pending.extend_from_slice(piece);
            let taken = decoder.feed(&pending, |part| body.extend_from_slice(part)).unwrap();
            pending.drain(..taken);
            used += taken;
        }
        (body, used)
    }

    #[test]
    fn chunked_body_is_decoded_at_every_split() {
        let wire = b"5\r\nhello\r\nA;x=\"1;\"\r\n, chunked!\r\n0\r\nX-Sum: 1\r\n\r\n";
        for cut in 0..=wire.len() {
            let mut decoder = BodyDecoder::ChunkSize;
            let (body, used) = decode(&mut decoder, &[&wire[..cut], &wire[cut..]]);
            assert_eq!(body, b"hello, chunked!", "cut at {cut}");
            assert_eq!(used, wire.len(), "cut at {cut}");
            assert!(decoder.is_done(), "cut at {cut}");
        }
    }

    #[test]
    fn bytes_after_the_body_are_left() {
        let mut decoder = BodyDecoder::ChunkSize;
        let (body, used) = decode(&mut decoder, &[b"1\r\nx\r\n0\r\n\r\nHTTP/1.1 200 OK"]);
        assert_eq!((body.as_slice(), used), (b"x".as_slice(), 11));

        let mut decoder = BodyDecoder::Length(3);
        let (body, used) = decode(&mut decoder, &[b"ab", b"cdef"]);
        assert_eq!((body.as_slice(), used), (b"abc".as_slice(), 3));
        assert!(decoder.is_done());
    }

    #[test]
    fn broken_framing_is_refused() {
        for wire in [b"zz\r\n".as_slice(), b"1\r\nxy\r\n", b"fffffffffffffffff\r\n"] {
            let fed = BodyDecoder::ChunkSize.feed(wire, |_| ());
            assert!(fed.is_err(), "{}", wire.escape_ascii());
        }
    }

    #[test]
    fn a_request_head_is_read() {
        let wire = b"POST /v1/x?pace_ms=5 HTTP/1.1\r\nHost: a\r\nContent-LENGTH:  12\r\n\r\nbody";
        let (head, length) = Head::parse(wire).unwrap().unwrap();
        assert_eq!(&wire[length..], b"body");
        assert_eq!(head.request().unwrap(), ("POST", "/v1/x?pace_ms=5"));
        assert_eq!(head.header("host"), Some("a"));
        assert_eq!(head.header("hos"), None);
        assert_eq!(head.body(BodyDecoder::Length(0)).unwrap(), BodyDecoder::Length(12));
        assert!(!head.closes());
        assert!(Head::parse(&wire[..length - 1]).unwrap().is_none());
    }

    #[test]
    fn a_response_head_is_read() {
        let wire = b"HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\n\r\n";
        let (head, _) = Head::parse(wire).unwrap().unwrap();
        assert_eq!(head.status().unwrap(), 502);
        assert!(head.closes());
        assert_eq!(head.body(BodyDecoder::UntilClose).unwrap(), BodyDecoder::UntilClose);
        assert!(head.request().is_err());
    }
}
