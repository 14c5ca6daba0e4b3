//! Where an answer's body ends (RFC 9112, 6.3), and its bytes without the framing.

use std::io;

use bytes::{Buf, Bytes, BytesMut};
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, Method, StatusCode, response};

/// The most bytes of a line with the size of a chunk, and of all trailers.
const MOST_LINE: usize = 16 << 10;

/// The framing of what is left of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    Length(u64),
    Chunked(Chunked),
    /// It ends with the connection.
    UntilClose,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chunked {
    /// Before the line with the size of a chunk.
    Size,
    /// In a chunk, with the bytes that are left of it.
    Data(u64),
    /// Before the line end behind a chunk.
    DataEnd,
    /// Behind the last chunk, with the bytes of the trailers so far.
    Trailers(usize),
    Ended,
}

pub(super) fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

impl Framing {
    /// The framing of the answer to a request with this method.
    ///
    /// # Errors
    /// If the length is none.
    pub(super) fn of(head: &response::Parts, method: &Method) -> io::Result<Framing> {
        if *method == Method::HEAD || matches!(head.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED) {
            return Ok(Framing::Length(0));
        }
        if let Some(codings) = head.headers.get_all(TRANSFER_ENCODING).iter().next_back() {
            let last = codings.to_str().unwrap_or_default().rsplit(',').next().unwrap_or_default().trim();
            let is_chunked = last.eq_ignore_ascii_case("chunked");
            return Ok(if is_chunked { Framing::Chunked(Chunked::Size) } else { Framing::UntilClose });
        }
        if !head.headers.contains_key(CONTENT_LENGTH) {
            return Ok(Framing::UntilClose);
        }
        length(&head.headers).map(Framing::Length).ok_or_else(|| invalid("its content-length is invalid"))
    }

    /// Whether the body is over.
    pub(crate) fn is_over(self) -> bool {
        matches!(self, Framing::Length(0) | Framing::Chunked(Chunked::Ended))
    }

    /// The length of what is left, if it is known.
    pub(crate) fn length(self) -> Option<u64> {
        match self {
            Framing::Length(left) => Some(left),
            Framing::Chunked(Chunked::Ended) => Some(0),
            Framing::Chunked(_) | Framing::UntilClose => None,
        }
    }

    /// Takes the next bytes of the body from what was read; `None` if more has to be read, or if the body is over.
    ///
    /// # Errors
    /// If the framing is invalid.
    pub(crate) fn take(&mut self, read: &mut BytesMut) -> io::Result<Option<Bytes>> {
        let chunked = match self {
            Framing::Length(left) => return Ok(take_some(left, read)),
            Framing::UntilClose => return Ok((!read.is_empty()).then(|| read.split().freeze())),
            Framing::Chunked(chunked) => chunked,
        };
        loop {
            *chunked = match *chunked {
                Chunked::Size => {
                    // The parser takes a line without a digit as the last chunk.
                    if read.first().is_some_and(|byte| !byte.is_ascii_hexdigit()) {
                        return Err(invalid("the size of a chunk is invalid"));
                    }
                    let (line, size) = match httparse::parse_chunk_size(read) {
                        Ok(httparse::Status::Complete(found)) => found,
                        Ok(httparse::Status::Partial) if read.len() < MOST_LINE => return Ok(None),
                        _ => return Err(invalid("the size of a chunk is invalid")),
                    };
                    read.advance(line);
                    if size == 0 { Chunked::Trailers(0) } else { Chunked::Data(size) }
                }
                Chunked::Data(mut left) => {
                    let Some(data) = take_some(&mut left, read) else { return Ok(None) };
                    *chunked = if left == 0 { Chunked::DataEnd } else { Chunked::Data(left) };
                    return Ok(Some(data));
                }
                Chunked::DataEnd => match read.get(..2) {
                    Some(b"\r\n") => {
                        read.advance(2);
                        Chunked::Size
                    }
                    Some(_) => return Err(invalid("a chunk is longer than its size")),
                    None => return Ok(None),
                },
                Chunked::Trailers(before) => {
                    let line = memchr::memchr(b'\n', read).map(|end| end + 1);
                    let all = before + line.unwrap_or(read.len());
                    if all > MOST_LINE {
                        return Err(invalid("its trailers are too long"));
                    }
                    let Some(line) = line else { return Ok(None) };
                    let is_last = matches!(&read[..line], b"\r\n" | b"\n");
                    read.advance(line);
                    if is_last { Chunked::Ended } else { Chunked::Trailers(all) }
                }
                Chunked::Ended => return Ok(None),
            };
        }
    }
}

/// Takes at most `left` bytes.
fn take_some(left: &mut u64, read: &mut BytesMut) -> Option<Bytes> {
    let length = usize::try_from(*left).unwrap_or(usize::MAX).min(read.len());
    *left -= length as u64;
    (length > 0).then(|| read.split_to(length).freeze())
}

/// The content length; `None` if there are several, or if one is no number.
fn length(headers: &HeaderMap) -> Option<u64> {
    let mut length = None;
    for value in headers.get_all(CONTENT_LENGTH) {
        for number in value.to_str().ok()?.split(',').map(str::trim) {
            let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
            let number: u64 = number.parse().ok().filter(|_| is_number)?;
            if *length.get_or_insert(number) != number {
                return None;
            }
        }
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The body of these reads, whether it ended, and what is left.
    fn body(mut framing: Framing, reads: &[&[u8]]) -> io::Result<(String, bool, String)> {
        let (mut read, mut body) = (BytesMut::new(), Vec::new());
        for bytes in reads {
            read.extend_from_slice(bytes);
            while let Some(data) = framing.take(&mut read)? {
                body.extend_from_slice(&data);
            }
        }
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        Ok((text(&body), framing.is_over(), text(&read)))
    }

    const CHUNKED: Framing = Framing::Chunked(Chunked::Size);

    #[test]
    fn bodies_are_whole_at_any_cut() {
        let chunks =
            b"5\r\nhello\r\n1; ext=\"x\"\r\n,\r\n00A \r\n wide worl\r\n1\r\nd\r\n0\r\nX-Trailer: 1\r\n\r\nNEXT";
        for (framing, bytes) in [(CHUNKED, &chunks[..]), (Framing::Length(17), b"hello, wide worldNEXT")] {
            for cut in 0..=bytes.len() {
                let (first, second) = bytes.split_at(cut);
                let found = body(framing, &[first, second]).unwrap();
                assert_eq!(found, ("hello, wide world".to_owned(), true, "NEXT".to_owned()), "{framing:?} {cut}");
            }
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(body(framing, &single).unwrap().0, "hello, wide world");
        }
        let (text, is_over, rest) = body(Framing::UntilClose, &[b"hello", b" world"]).unwrap();
        assert_eq!((&*text, is_over, &*rest), ("hello world", false, ""));
    }

    #[test]
    fn invalid_chunks_are_errors() {
        let long = format!("5;{}", "x".repeat(MOST_LINE));
        let trailers = format!("0\r\n{}", "a: b\r\n".repeat(MOST_LINE / 6 + 1));
        for bytes in [
            "x\r\n", "-1\r\n", "\r\n", "5\nhello", "11111111111111111\r\n", "5\r\nhello!\r\n", "5\r\nhello5\r\n",
            &long, &trailers,
        ] {
            assert!(body(CHUNKED, &[bytes.as_bytes()]).is_err(), "{}", &bytes[..bytes.len().min(40)]);
        }
    }

    #[test]
    fn framing_follows_the_head() {
        let of = |status: u16, method: Method, headers: &[(&'static str, &'static str)]| {
            let mut head = http::Response::builder().status(status);
            for (name, value) in headers {
                head = head.header(*name, *value);
            }
            Framing::of(&head.body(()).unwrap().into_parts().0, &method).ok()
        };
        let (length, chunked) = (("content-length", "5"), ("transfer-encoding", "gzip, Chunked"));
        assert_eq!(of(200, Method::POST, &[length]), Some(Framing::Length(5)));
        assert_eq!(of(200, Method::POST, &[length, length]), Some(Framing::Length(5)));
        assert_eq!(of(200, Method::POST, &[length, chunked]), Some(CHUNKED));
        assert_eq!(of(200, Method::POST, &[("transfer-encoding", "chunked, gzip"), length]), Some(Framing::UntilClose));
        assert_eq!(of(200, Method::POST, &[]), Some(Framing::UntilClose));
        assert_eq!(of(204, Method::POST, &[chunked]), Some(Framing::Length(0)));
        assert_eq!(of(304, Method::GET, &[length]), Some(Framing::Length(0)));
        assert_eq!(of(200, Method::HEAD, &[length]), Some(Framing::Length(0)));
        for value in ["", "+5", "5x", "5, 6", "99999999999999999999"] {
            assert_eq!(of(200, Method::POST, &[("content-length", value)]), None, "{value}");
        }
    }
}
