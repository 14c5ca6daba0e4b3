//! Heads: writing a request's, and reading an answer's (RFC 9112).

use std::io;
use std::ops::Range;

use bytes::{Buf, Bytes, BytesMut};
use http::header::{CONNECTION, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Response, StatusCode, Version, response};

use super::framing::{Framing, invalid};

/// The most headers of an answer, and the most bytes of its head.
const MOST_HEADERS: usize = 100;
const MOST_BYTES: usize = 400 << 10;

/// The head of a request with a body of this length.
pub(super) fn request(method: &Method, path: &str, headers: &HeaderMap, length: usize) -> Bytes {
    let mut head = Vec::with_capacity(256 + headers.len() * 64);
    for part in [method.as_str(), " ", path, " HTTP/1.1\r\n"] {
        head.extend_from_slice(part.as_bytes());
    }
    for (name, value) in headers {
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            head.extend_from_slice(part);
        }
    }
    // RFC 9110, 8.6: a method that means nothing by a body gets no length without one.
    if length > 0 || ![Method::GET, Method::HEAD, Method::DELETE, Method::OPTIONS].contains(method) {
        head.extend_from_slice(format!("content-length: {length}\r\n").as_bytes());
    }
    head.extend_from_slice(b"\r\n");
    head.into()
}

/// The head of an answer.
#[derive(Debug)]
pub(crate) struct AnswerHead {
    pub(crate) parts: response::Parts,
    pub(crate) framing: Framing,
    /// Whether the connection can serve another request after the body.
    pub(crate) is_reusable: bool,
}

impl AnswerHead {
    /// Takes the head of the answer to a request with this method; `None` while it is incomplete. Informational answers are
    /// skipped.
    ///
    /// # Errors
    /// If it is no head of HTTP/1.
    pub(super) fn take(read: &mut BytesMut, method: &Method) -> io::Result<Option<AnswerHead>> {
        loop {
            let Some((length, status, version, fields)) = parse(read)? else {
                return if read.len() > MOST_BYTES { Err(invalid("its head is too long")) } else { Ok(None) };
            };
            if status.is_informational() && status != StatusCode::SWITCHING_PROTOCOLS {
                read.advance(length);
                continue;
            }
            if status == StatusCode::SWITCHING_PROTOCOLS {
                return Err(invalid("it switches to another protocol"));
            }
            let head = read.split_to(length).freeze();
            let mut parts = Response::new(()).into_parts().0;
            (parts.status, parts.version) = (status, version);
            parts.headers.reserve(fields.len());
            for (name, value) in fields {
                let name = HeaderName::from_bytes(&head[name]).map_err(|_| invalid("a header's name is invalid"))?;
                let value = HeaderValue::from_maybe_shared(head.slice(value));
                parts.headers.append(name, value.map_err(|_| invalid("a header's value is invalid"))?);
            }
            let framing = Framing::of(&parts, method)?;
            let is_reusable = framing != Framing::UntilClose && keeps_alive(&parts);
            return Ok(Some(AnswerHead { parts, framing, is_reusable }));
        }
    }
}

type Parsed = (usize, StatusCode, Version, Vec<(Range<usize>, Range<usize>)>);

/// The length of a head, its status and version, and the places of the names and values of its headers.
fn parse(read: &[u8]) -> io::Result<Option<Parsed>> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    let length = match response.parse(read) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => return Err(invalid(&format!("its head is invalid: {error}"))),
    };
    let status = response.code.and_then(|code| StatusCode::from_u16(code).ok());
    let status = status.ok_or_else(|| invalid("its status is invalid"))?;
    let version = if response.version == Some(1) { Version::HTTP_11 } else { Version::HTTP_10 };
    let place = |part: &[u8]| {
        let start = (part.as_ptr() as usize).saturating_sub(read.as_ptr() as usize);
        start..start + part.len()
    };
    let fields = response.headers.iter().map(|field| (place(field.name.as_bytes()), place(field.value)));
    Ok(Some((length, status, version, fields.collect())))
}

fn keeps_alive(parts: &response::Parts) -> bool {
    let options = parts.headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let mut options = options.flat_map(|value| value.split(',')).map(str::trim);
    match parts.version {
        Version::HTTP_11 => !options.any(|option| option.eq_ignore_ascii_case("close")),
        _ => options.any(|option| option.eq_ignore_ascii_case("keep-alive")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(text: &str) -> io::Result<Option<(AnswerHead, String)>> {
        let mut read = BytesMut::from(text);
        let head = AnswerHead::take(&mut read, &Method::POST)?;
        Ok(head.map(|head| (head, String::from_utf8(read.to_vec()).unwrap())))
    }

    #[test]
    fn heads_are_read_at_any_cut_and_leave_the_body() {
        let text =
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 203 Fine\r\nX-A: 1\r\nx-a:  two \r\nContent-Length: 4\r\n\r\nbody";
        for cut in 0..text.len() - 4 {
            assert!(taken(&text[..cut]).unwrap().is_none(), "{cut}");
        }
        let (head, rest) = taken(text).unwrap().unwrap();
        assert_eq!((head.parts.status.as_u16(), head.parts.version, &*rest), (203, Version::HTTP_11, "body"));
        assert_eq!(head.parts.headers.get_all("x-a").iter().collect::<Vec<_>>(), ["1", "two"]);
        assert_eq!((head.framing, head.is_reusable), (Framing::Length(4), true));
    }

    #[test]
    fn invalid_heads_are_errors() {
        let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(MOST_HEADERS + 1));
        let long = format!("HTTP/1.1 200 OK\r\na: {}", "b".repeat(MOST_BYTES));
        for text in [
            "hello there\r\n\r\n",
            "HTTP/2 200 OK\r\n\r\n",
            "HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\na\u{1}: b\r\n\r\n",
            "HTTP/1.1 200 OK\r\na: b\u{0}\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 4, 5\r\n\r\n",
            &many,
            &long,
        ] {
            assert!(taken(text).is_err(), "{}", &text[..text.len().min(60)]);
        }
    }

    #[test]
    fn connections_are_kept_as_the_version_and_the_options_say() {
        for (text, is_reusable) in [
            ("1.1 200 OK\r\ncontent-length: 0", true),
            ("1.1 200 OK\r\ncontent-length: 0\r\nconnection: x, Close", false),
            ("1.1 200 OK", false),
            ("1.0 200 OK\r\ncontent-length: 0", false),
            ("1.0 200 OK\r\ncontent-length: 0\r\nconnection: Keep-Alive", true),
        ] {
            let (head, _) = taken(&format!("HTTP/{text}\r\n\r\n")).unwrap().unwrap();
            assert_eq!(head.is_reusable, is_reusable, "{text}");
        }
    }

    #[test]
    fn requests_have_their_length_where_it_means_something() {
        let mut headers = HeaderMap::new();
        headers.insert("x-a", HeaderValue::from_static("b"));
        for (method, length, expected) in [
            (Method::POST, 3, "POST /v1?q HTTP/1.1\r\nx-a: b\r\ncontent-length: 3\r\n\r\n"),
            (Method::POST, 0, "POST /v1?q HTTP/1.1\r\nx-a: b\r\ncontent-length: 0\r\n\r\n"),
            (Method::GET, 0, "GET /v1?q HTTP/1.1\r\nx-a: b\r\n\r\n"),
            (Method::GET, 3, "GET /v1?q HTTP/1.1\r\nx-a: b\r\ncontent-length: 3\r\n\r\n"),
        ] {
            assert_eq!(request(&method, "/v1?q", &headers, length), expected);
        }
    }
}
