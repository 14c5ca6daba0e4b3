//! The client's side of one request, on connections that are used again.

use std::io;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::net::TcpStream;

use super::backend::{self, Fault};
use super::conversation::Request;
use crate::connection::Connection;
use crate::format::Format;
use crate::http1::{BodyDecoder, Head};
use crate::sse;

/// When a client gives a request up: long after the gateway must have.
const PATIENCE: Duration = Duration::from_secs(20);
/// For how long a client uses an idle connection again. The vendors' clients for Python say 5 seconds, those for
/// JavaScript 4; a gateway that closes an idle connection later than that does not fail their next request.
const KEPT: Duration = Duration::from_secs(5);

/// All clients together.
pub(super) struct Client {
    gateway: SocketAddr,
    /// With when each was last used, the latest last.
    idle: Mutex<Vec<(Instant, Connection)>>,
}

/// An answer as it came.
struct Answer {
    status: u16,
    body: Vec<u8>,
    /// The connection, where it may be used again.
    kept: Option<Connection>,
}

impl Client {
    pub(super) fn new(gateway: SocketAddr) -> Self {
        Self {
            gateway,
            idle: Mutex::default(),
        }
    }

    /// Closes the connections that are idle.
    pub(super) fn leave(&self) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Sends a request and reads its answer, which must be the whole one.
    ///
    /// # Errors
    /// A description of the fault in the answer.
    pub(super) async fn ask(&self, request: &Request, fault: Option<Fault>) -> Result<(), String> {
        let answer = tokio::time::timeout(PATIENCE, self.exchange(request, fault)).await;
        let answer = answer
            .map_err(|_| format!("no answer within {PATIENCE:?}"))?
            .map_err(|error| format!("the connection broke: {error}"))?;
        if let Some(connection) = answer.kept {
            self.idle
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((Instant::now(), connection));
        }
        check(request.format, request.streamed, answer.status, &answer.body)
    }

    /// A connection that may be used again.
    fn kept(&self) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let (used, connection) = idle.pop()?;
        if used.elapsed() < KEPT {
            return Some(connection);
        }
        // The others have been idle for longer.
        idle.clear();
        None
    }

    async fn exchange(&self, request: &Request, fault: Option<Fault>) -> io::Result<Answer> {
        let mut connection = match self.kept() {
            Some(connection) => connection,
            None => Connection::new(TcpStream::connect(self.gateway).await?)?,
        };
        let fault = fault.map_or_else(String::new, |fault| format!("{}: {}\r\n", backend::FAULT, fault.name()));
        let head = format!(
            "POST {} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\nx-session-id: {}\r\n{}: {}\r\n{fault}\
             content-length: {}\r\n\r\n",
            request.format.path(),
            self.gateway,
            request.session,
            backend::REQUEST,
            request.id,
            request.body.len(),
        );
        connection
            .write_pieces(&[head.as_bytes(), request.body.as_bytes()])
            .await?;
        read(connection).await
    }
}

async fn read(mut connection: Connection) -> io::Result<Answer> {
    let (status, closes, mut decoder) = loop {
        if let Some((head, length)) = Head::parse(connection.pending()).map_err(io::Error::other)? {
            let status = head.status().map_err(io::Error::other)?;
            let decoder = head.body(BodyDecoder::UntilClose).map_err(io::Error::other)?;
            let closes = head.closes();
            connection.consume(length);
            break (status, closes, decoder);
        }
        if connection.fill().await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    };
    let mut body = Vec::new();
    loop {
        let used = decoder.feed(connection.pending(), |part| body.extend_from_slice(part));
        connection.consume(used.map_err(io::Error::other)?);
        if decoder.is_done() {
            break;
        }
        if connection.fill().await? == 0 {
            if decoder == BodyDecoder::UntilClose {
                break;
            }
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    let kept = (!closes && decoder.is_done()).then_some(connection);
    Ok(Answer { status, body, kept })
}

/// Whether this is the backend's whole answer, in the client's format.
fn check(format: Format, streamed: bool, status: u16, body: &[u8]) -> Result<(), String> {
    let start = || String::from_utf8_lossy(&body[..body.len().min(300)]).into_owned();
    if status != 200 {
        return Err(format!("status {status}: {}", start()));
    }
    if streamed {
        // Signs of life are no events of the answer.
        return sse::check(format, body).map(drop);
    }
    let answer: Value = serde_json::from_slice(body).map_err(|error| format!("{error}: {}", start()))?;
    let text = match format {
        Format::Chat => &answer["choices"][0]["message"]["content"],
        Format::Messages => &answer["content"][0]["text"],
        Format::Responses => &answer["output"][0]["content"][0]["text"],
    };
    (text == backend::WORDS)
        .then_some(())
        .ok_or_else(|| format!("no answer: {}", start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_backends_answers_pass_and_halves_do_not() {
        for format in Format::ALL {
            let stream = sse::events(format, sse::plain_word).concat();
            assert_eq!(check(format, true, 200, stream.as_bytes()), Ok(()));
            assert!(check(format, true, 200, &stream.as_bytes()[..stream.len() / 2]).is_err());
            let whole = backend::whole(format);
            assert_eq!(check(format, false, 200, whole.as_bytes()), Ok(()));
            assert!(check(format, false, 502, whole.as_bytes()).is_err());
        }
    }
}
