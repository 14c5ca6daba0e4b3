//! Just enough HTTP/1.1 for both ends of the benchmark.
//!
//! A general HTTP library would cost more per request than the gateways that are measured, and
//! would hide when bytes arrive. So heads are searched in place, and bodies are handed on as slices
//! of the read buffer. Any framing that a gateway may choose is understood: it may merge or split
//! chunks, and answer with a length or by closing.

use memchr::memmem;

/// Longest head that is accepted, in bytes.
const MAX_HEAD: usize = 32 * 1024;

/// What was wrong with the bytes of a peer.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// No end of head within the limit.
    #[error("the head is longer than {MAX_HEAD} bytes")]
    HeadTooLong,
    /// The head is no HTTP/1.1 head; holds its start line.
    #[error("not an HTTP/1.1 head: {0:?}")]
    BadHead(String),
    /// A byte that cannot stand where it stands in chunked framing.
    #[error("byte {0:#04x} is out of place in a chunked body")]
    BadChunk(u8),
}

/// The head of a request or a response, borrowed from the read buffer.
#[derive(Debug, Clone, Copy)]
pub struct Head<'a> {
    text: &'a str,
}

impl<'a> Head<'a> {
    /// Parses the head at the start of `bytes`; `None` while it is incomplete. Also returns its
    /// length in bytes, blank line included.
    ///
    /// # Errors
    /// When the head is too long, or is not text.
    pub fn parse(bytes: &'a [u8]) -> Result<Option<(Self, usize)>, HttpError> {
        let Some(end) = memmem::find(bytes, b"\r\n\r\n") else {
            if bytes.len() > MAX_HEAD {
                return Err(HttpError::HeadTooLong);
            }
            return Ok(None);
        };
        let head = &bytes[..end];
        let text =
            std::str::from_utf8(head).map_err(|_| HttpError::BadHead(String::from_utf8_lossy(head).into_owned()))?;
        Ok(Some((Self { text }, end + 4)))
    }

    /// The request line or status line.
    pub fn start_line(&self) -> &'a str {
        self.text.split("\r\n").next().unwrap_or("")
    }

    /// Method and target of a request.
    ///
    /// # Errors
    /// When the start line is no request line.
    pub fn request(&self) -> Result<(&'a str, &'a str), HttpError> {
        let mut words = self.start_line().split(' ');
        match (words.next(), words.next(), words.next()) {
            (Some(method), Some(target), Some(version)) if version.starts_with("HTTP/1.") => Ok((method, target)),
            _ => Err(self.bad()),
        }
    }

    /// Status code of a response.
    ///
    /// # Errors
    /// When the start line is no status line.
    pub fn status(&self) -> Result<u16, HttpError> {
        let line = self.start_line();
        line.strip_prefix("HTTP/1.")
            .and_then(|rest| rest.split(' ').nth(1))
            .and_then(|code| code.parse().ok())
            .ok_or_else(|| self.bad())
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
        self.header("connection")
            .is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }

    /// The decoder for the body of this message. `unframed` is what a message without any framing
    /// header means: no body for a request, all bytes up to the close for a response.
    ///
    /// # Errors
    /// When the content length is no number.
    pub fn body(&self, unframed: BodyDecoder) -> Result<BodyDecoder, HttpError> {
        if let Some(coding) = self.header("transfer-encoding") {
            if coding.eq_ignore_ascii_case("chunked") {
                return Ok(BodyDecoder::Chunked(ChunkDecoder::default()));
            }
            return Err(HttpError::BadHead(format!("transfer-encoding: {coding}")));
        }
        match self.header("content-length") {
            Some(length) => length
                .parse()
                .map(BodyDecoder::Length)
                .map_err(|_| HttpError::BadHead(format!("content-length: {length}"))),
            None => Ok(unframed),
        }
    }

    fn bad(&self) -> HttpError {
        HttpError::BadHead(self.start_line().to_owned())
    }
}

/// Takes a body out of its framing, piece by piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodyDecoder {
    /// So many bytes are still to come.
    Length(u64),
    /// Chunked framing.
    Chunked(ChunkDecoder),
    /// Everything up to the close of the connection.
    UntilClose,
}

impl BodyDecoder {
    /// Decodes `input`, hands each piece of the body to `sink`, and returns how many bytes of
    /// `input` were used; bytes after the body's end are left.
    ///
    /// # Errors
    /// When chunked framing is broken.
    pub fn feed(&mut self, input: &[u8], mut sink: impl FnMut(&[u8])) -> Result<usize, HttpError> {
        match self {
            Self::Length(left) => {
                let take = input.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= take as u64;
                if take > 0 {
                    sink(&input[..take]);
                }
                Ok(take)
            }
            Self::Chunked(decoder) => decoder.feed(input, sink),
            Self::UntilClose => {
                if !input.is_empty() {
                    sink(input);
                }
                Ok(input.len())
            }
        }
    }

    /// Whether the body's end has been seen. Never so for a body that ends with the connection.
    pub fn is_done(&self) -> bool {
        match self {
            Self::Length(left) => *left == 0,
            Self::Chunked(decoder) => decoder.is_done(),
            Self::UntilClose => false,
        }
    }
}

/// Decoder of chunked framing that may be cut anywhere.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChunkDecoder {
    state: ChunkState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChunkState {
    /// In a chunk's size: its value so far.
    Size(u64),
    /// In a chunk extension, which is skipped; the size before it.
    Extension(u64),
    /// In a chunk's data: bytes left.
    Data(u64),
    /// At the line end after the data.
    DataEnd,
    /// In the trailer: whether the current line has any byte.
    Trailer { line_is_empty: bool },
    /// After the last chunk and its trailer.
    Done,
}

impl Default for ChunkState {
    fn default() -> Self {
        Self::Size(0)
    }
}

impl ChunkDecoder {
    /// As [`BodyDecoder::feed`].
    ///
    /// # Errors
    /// When a byte is out of place.
    pub fn feed(&mut self, input: &[u8], mut sink: impl FnMut(&[u8])) -> Result<usize, HttpError> {
        let mut at = 0;
        while at < input.len() && self.state != ChunkState::Done {
            if let ChunkState::Data(left) = self.state {
                let available = input.len() - at;
                let take = available.min(usize::try_from(left).unwrap_or(usize::MAX));
                sink(&input[at..at + take]);
                at += take;
                let left = left - take as u64;
                self.state = if left == 0 {
                    ChunkState::DataEnd
                } else {
                    ChunkState::Data(left)
                };
            } else {
                self.state = self.state.after(input[at])?;
                at += 1;
            }
        }
        Ok(at)
    }

    /// Whether the last chunk and its trailer have been seen.
    pub fn is_done(&self) -> bool {
        self.state == ChunkState::Done
    }
}

impl ChunkState {
    /// The state after one byte of framing. Line ends are told by their line feed alone.
    fn after(self, byte: u8) -> Result<Self, HttpError> {
        Ok(match (self, byte) {
            (Self::Size(size), b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                let digit = char::from(byte).to_digit(16).map_or(0, u64::from);
                let size = size.checked_mul(16).ok_or(HttpError::BadChunk(byte))?;
                Self::Size(size + digit)
            }
            (Self::Size(size), b';') => Self::Extension(size),
            (Self::Size(_) | Self::DataEnd, b'\r') => self,
            (Self::Size(0) | Self::Extension(0), b'\n') => Self::Trailer { line_is_empty: true },
            (Self::Size(size) | Self::Extension(size), b'\n') => Self::Data(size),
            (Self::Extension(_), _) => self,
            (Self::DataEnd, b'\n') => Self::Size(0),
            (Self::Trailer { line_is_empty: true }, b'\n') => Self::Done,
            (Self::Trailer { .. }, b'\n') => Self::Trailer { line_is_empty: true },
            (Self::Trailer { .. }, b'\r') => self,
            (Self::Trailer { .. }, _) => Self::Trailer { line_is_empty: false },
            _ => return Err(HttpError::BadChunk(byte)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(decoder: &mut BodyDecoder, pieces: &[&[u8]]) -> (Vec<u8>, usize) {
        let mut body = Vec::new();
        let mut used = 0;
        for piece in pieces {
            used += decoder.feed(piece, |part| body.extend_from_slice(part)).unwrap();
        }
        (body, used)
    }

    fn chunked() -> BodyDecoder {
        BodyDecoder::Chunked(ChunkDecoder::default())
    }

    #[test]
    fn a_chunked_body_survives_every_cut() {
        let wire = b"5\r\nhello\r\nA;x=\"1;\"\r\n, chunked!\r\n0\r\nX-Sum: 1\r\n\r\n";
        for cut in 0..=wire.len() {
            let mut decoder = chunked();
            let (body, used) = decode(&mut decoder, &[&wire[..cut], &wire[cut..]]);
            assert_eq!(body, b"hello, chunked!", "cut at {cut}");
            assert_eq!(used, wire.len(), "cut at {cut}");
            assert!(decoder.is_done(), "cut at {cut}");
        }
    }

    #[test]
    fn bytes_after_the_body_are_left() {
        let mut decoder = chunked();
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
            assert!(chunked().feed(wire, |_| ()).is_err(), "{}", wire.escape_ascii());
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

    #[test]
    fn a_head_without_end_is_refused() {
        assert!(Head::parse(&vec![b'a'; MAX_HEAD + 1]).is_err());
    }
}
