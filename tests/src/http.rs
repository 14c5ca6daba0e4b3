//! A small HTTP/1.1 client for tests and benchmarks. The recording backend shares its parsers.

use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Instant;

use crate::PATIENCE;

/// Headers in their original order and spelling.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headers(pub Vec<(String, String)>);

impl Headers {
    /// The first value of a name; case is ignored.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.all(name).into_iter().next()
    }

    /// All values of a name, in order; case is ignored.
    #[must_use]
    pub fn all(&self, name: &str) -> Vec<&str> {
        let same = |(known, _): &&(String, String)| known.eq_ignore_ascii_case(name);
        self.0.iter().filter(same).map(|(_, value)| value.as_str()).collect()
    }
}

/// A whole response.
#[derive(Debug, Clone)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The headers.
    pub headers: Headers,
    /// The body, decoded from its transfer coding.
    pub body: Vec<u8>,
}

impl Response {
    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// If it is not JSON.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("no JSON ({error}): {}", self.text()))
    }

    /// The value of `x-muninn-context`, the outcome of the context.
    #[must_use]
    pub fn outcome(&self) -> &str {
        self.headers.get("x-muninn-context").unwrap_or("(no x-muninn-context)")
    }

    /// The value of `x-muninn-request-id`; empty if it is missing.
    #[must_use]
    pub fn request_id(&self) -> &str {
        self.headers.get("x-muninn-request-id").unwrap_or_default()
    }
}

/// Sends a request on a new connection, and reads the response.
///
/// # Panics
/// If there is no complete response.
pub fn request(address: SocketAddr, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
    let mut connection = Connection::open(address);
    connection.send(method, target, headers, body);
    connection.response()
}

/// Sends a request on a new connection, and returns a reader of the response's body.
///
/// # Panics
/// If there is no response head.
pub fn stream(address: SocketAddr, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Streaming {
    let mut connection = Connection::open(address);
    connection.send(method, target, headers, body);
    connection.streaming()
}

/// Encodes data as one chunk of a chunked body.
#[must_use]
pub fn chunk(data: impl AsRef<[u8]>) -> Vec<u8> {
    let data = data.as_ref();
    [format!("{:x}\r\n", data.len()).as_bytes(), data, b"\r\n"].concat()
}

/// A client's connection.
pub struct Connection {
    address: SocketAddr,
    socket: BufReader<TcpStream>,
    /// A response to `HEAD` has no body, whatever its headers say.
    asked_for_head: bool,
}

impl Connection {
    /// Connects. Reads and writes fail after [`PATIENCE`], so that a test does not hang.
    ///
    /// # Panics
    /// If the connection fails.
    #[must_use]
    pub fn open(address: SocketAddr) -> Connection {
        Connection::try_open(address).unwrap_or_else(|error| panic!("cannot connect to {address}: {error}"))
    }

    /// Connects as [`Connection::open`] does.
    ///
    /// # Errors
    /// If the connection fails.
    pub fn try_open(address: SocketAddr) -> Result<Connection> {
        let socket = TcpStream::connect(address)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_write_timeout(Some(PATIENCE))?;
        Ok(Connection { address, socket: BufReader::new(socket), asked_for_head: false })
    }

    /// Sends a request. Adds `Host` and `Content-Length`, unless `headers` contain them or a transfer coding.
    pub fn send(&mut self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) {
        let has = |name: &str| headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        let mut head = format!("{method} {target} HTTP/1.1\r\n");
        if !has("host") {
            head.push_str(&format!("Host: {}\r\n", self.address));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !has("content-length") && !has("transfer-encoding") && (!body.is_empty() || method == "POST") {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        self.asked_for_head = method == "HEAD";
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(body);
        self.send_raw(&bytes);
    }

    /// Sends bytes unchanged. A write error is ignored, because the next read reports it.
    pub fn send_raw(&mut self, bytes: &[u8]) {
        self.socket.get_mut().write_all(bytes).ok();
    }

    /// Reads a whole response and leaves the connection open.
    ///
    /// # Panics
    /// If the response is incomplete or not HTTP, or does not arrive within [`PATIENCE`].
    pub fn response(&mut self) -> Response {
        self.receive(usize::MAX).unwrap_or_else(|error| panic!("no whole response: {error}"))
    }

    /// Reads a whole response with a body of at most `max_bytes`, within [`PATIENCE`], and leaves the connection open.
    ///
    /// # Errors
    /// If the response is incomplete, not HTTP, too late, or too long ([`ErrorKind::FileTooLarge`]).
    pub fn receive(&mut self, max_bytes: usize) -> Result<Response> {
        let deadline = Instant::now() + PATIENCE;
        let (status, headers) = read_response_head(&mut self.socket)?;
        let mut body = Vec::new();
        if !self.asked_for_head && !matches!(status, 204 | 304) {
            let mut pieces = Pieces::of(&headers, true);
            while let Some(piece) = pieces.next(&mut self.socket)? {
                body.extend(piece);
                if body.len() > max_bytes {
                    return Err(ErrorKind::FileTooLarge.into());
                }
                if Instant::now() > deadline {
                    return Err(ErrorKind::TimedOut.into());
                }
            }
        }
        Ok(Response { status, headers, body })
    }

    /// Reads a response's head and returns a reader of its body.
    ///
    /// # Panics
    /// If there is no response head.
    #[must_use]
    pub fn streaming(mut self) -> Streaming {
        let (status, headers) =
            read_response_head(&mut self.socket).unwrap_or_else(|error| panic!("no response: {error}"));
        Streaming { status, pieces: Pieces::of(&headers, true), headers, socket: self.socket }
    }

    /// Whether the other side answers with a 4xx status or closes the connection within [`PATIENCE`].
    #[must_use]
    pub fn ends_with_error_or_close(&mut self) -> bool {
        match self.socket.fill_buf() {
            Ok(bytes) => bytes.is_empty() || bytes.starts_with(b"HTTP/1.1 4"),
            Err(error) => error.kind() == ErrorKind::ConnectionReset,
        }
    }

    /// Reads text until the other side closes or resets the connection.
    ///
    /// # Panics
    /// If it does neither within [`PATIENCE`].
    #[must_use]
    pub fn everything(mut self) -> String {
        let mut all = Vec::new();
        match self.socket.read_to_end(&mut all) {
            Err(error) if error.kind() != ErrorKind::ConnectionReset => panic!("the connection stays open: {error}"),
            _ => String::from_utf8_lossy(&all).into_owned(),
        }
    }

    /// Closes the connection at once.
    pub fn close(self) {
        self.socket.get_ref().shutdown(Shutdown::Both).ok();
    }
}

/// A response whose body is read in pieces.
pub struct Streaming {
    /// The status code.
    pub status: u16,
    /// The headers.
    pub headers: Headers,
    socket: BufReader<TcpStream>,
    pieces: Pieces,
}

impl Streaming {
    /// The next piece of the body; `None` at its end.
    ///
    /// # Errors
    /// If the body is incomplete, or no data arrives within [`PATIENCE`].
    pub fn next_chunk(&mut self) -> Result<Option<Vec<u8>>> {
        self.pieces.next(&mut self.socket)
    }

    /// Reads until the body contains `text`, and returns all text that this call read.
    ///
    /// # Panics
    /// If the body ends before.
    pub fn read_until(&mut self, text: &str) -> String {
        let mut read = Vec::new();
        loop {
            let so_far = String::from_utf8_lossy(&read).into_owned();
            if so_far.contains(text) {
                return so_far;
            }
            match self.next_chunk() {
                Ok(Some(chunk)) => read.extend(chunk),
                end => panic!("no `{text}` before {end:?}; read: {so_far}"),
            }
        }
    }

    /// Reads the rest of the body.
    ///
    /// # Errors
    /// If the body is incomplete.
    pub fn rest(&mut self) -> Result<Vec<u8>> {
        let mut rest = Vec::new();
        while let Some(chunk) = self.next_chunk()? {
            rest.extend(chunk);
        }
        Ok(rest)
    }

    /// Closes the connection in the middle of the body.
    pub fn leave(self) {
        self.socket.get_ref().shutdown(Shutdown::Both).ok();
    }
}

fn read_response_head(socket: &mut impl BufRead) -> Result<(u16, Headers)> {
    loop {
        let (first, headers) = read_head(socket)?.ok_or_else(|| broken("closed instead of a response"))?;
        let status = first.split(' ').nth(1).and_then(|code| code.parse().ok());
        match status.ok_or_else(|| broken(&format!("no status line: {first}")))? {
            // An interim response precedes the final one.
            100..=199 => {}
            status => return Ok((status, headers)),
        }
    }
}

fn broken(what: &str) -> Error {
    Error::new(ErrorKind::UnexpectedEof, what.to_owned())
}

/// Reads a start line and headers; `None` if the peer closed the connection before the first byte.
pub(crate) fn read_head(socket: &mut impl BufRead) -> Result<Option<(String, Headers)>> {
    let mut line = || -> Result<String> {
        let mut line = Vec::new();
        socket.read_until(b'\n', &mut line)?;
        Ok(String::from_utf8_lossy(&line).into_owned())
    };
    let first = line()?;
    if first.is_empty() {
        return Ok(None);
    }
    let mut headers = Headers::default();
    loop {
        let header = line()?;
        let header = header.trim_end();
        if header.is_empty() {
            return Ok(Some((first.trim_end().to_owned(), headers)));
        }
        let (name, value) = header.split_once(':').unwrap_or((header, ""));
        headers.0.push((name.to_owned(), value.trim().to_owned()));
    }
}

pub(crate) fn is_chunked(headers: &Headers) -> bool {
    headers.get("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked"))
}

/// Reads a body with the framing of its headers. Without a length, the body is empty, or extends to the end of the
/// connection if `until_close` is set.
pub(crate) fn read_body(socket: &mut impl BufRead, headers: &Headers, until_close: bool) -> Result<Vec<u8>> {
    let mut pieces = Pieces::of(headers, until_close);
    let mut body = Vec::new();
    while let Some(piece) = pieces.next(socket)? {
        body.extend(piece);
    }
    Ok(body)
}

/// The framing of a body that is read in pieces.
enum Pieces {
    Chunked,
    /// The number of remaining bytes.
    Length(usize),
    UntilClose,
    Ended,
}

impl Pieces {
    fn of(headers: &Headers, until_close: bool) -> Pieces {
        if is_chunked(headers) {
            return Pieces::Chunked;
        }
        match headers.get("content-length") {
            Some(length) => Pieces::Length(length.parse().unwrap_or(0)),
            None if until_close => Pieces::UntilClose,
            None => Pieces::Ended,
        }
    }

    /// The next piece; `None` at the body's end.
    fn next(&mut self, socket: &mut impl BufRead) -> Result<Option<Vec<u8>>> {
        let piece = match self {
            Pieces::Chunked => read_chunk(socket)?,
            Pieces::Ended | Pieces::Length(0) => Vec::new(),
            Pieces::Length(left) => {
                let piece = read_some(socket, *left)?;
                if piece.is_empty() {
                    return Err(broken("the body is shorter than its length"));
                }
                *left -= piece.len();
                piece
            }
            Pieces::UntilClose => read_some(socket, usize::MAX)?,
        };
        if piece.is_empty() {
            *self = Pieces::Ended;
        }
        Ok((!piece.is_empty()).then_some(piece))
    }
}

fn read_some(socket: &mut impl BufRead, max_bytes: usize) -> Result<Vec<u8>> {
    let available = socket.fill_buf()?;
    let piece = available[..available.len().min(max_bytes)].to_vec();
    socket.consume(piece.len());
    Ok(piece)
}

/// Reads one chunk. The last chunk is empty; its trailers are read too.
fn read_chunk(socket: &mut impl BufRead) -> Result<Vec<u8>> {
    let mut line = String::new();
    socket.read_line(&mut line)?;
    let size = line.trim().split(';').next().unwrap_or_default();
    let size = usize::from_str_radix(size, 16).map_err(|_| broken("the chunked body is incomplete"))?;
    if size == 0 {
        loop {
            line.clear();
            if socket.read_line(&mut line)? == 0 || line.trim().is_empty() {
                return Ok(Vec::new());
            }
        }
    }
    let mut chunk = vec![0; size + 2];
    socket.read_exact(&mut chunk)?;
    chunk.truncate(size);
    Ok(chunk)
}
