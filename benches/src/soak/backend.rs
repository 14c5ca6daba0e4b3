//! A backend that answers in all formats, fails where a header says so, and keeps the blocks that came with each request.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use memchr::memmem;
use serde_json::json;
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use crate::connection::Connection;
use crate::format::Format;
use crate::http1::{BodyDecoder, Head};
use crate::sse;

/// The header that names a request.
pub(super) const REQUEST: &str = "x-soak-request";
/// The header that asks for a fault.
pub(super) const FAULT: &str = "x-soak-fault";
/// The text of every complete answer.
pub(super) const WORDS: &str = "It is done in the ledger.";

const OPEN: &[u8] = b"<muninn-context";
const CLOSE: &[u8] = b"</muninn-context>";
/// How long a connection may be idle.
const IDLE: Duration = Duration::from_secs(5);

/// A fault that the backend injects instead of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// A status of the 500s.
    Status,
    /// The end of the connection before the answer.
    Close,
    /// Nothing, until the other side goes.
    Stall,
    /// Half an answer.
    Break,
}

impl Fault {
    pub(super) const ALL: [Self; 4] = [Self::Status, Self::Close, Self::Stall, Self::Break];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Close => "close",
            Self::Stall => "stall",
            Self::Break => "break",
        }
    }
}

/// The blocks of each request, by its name, until they are asked for.
type Blocks = Mutex<HashMap<String, Vec<Vec<u8>>>>;

/// A running backend; ends when dropped.
pub(super) struct Backend {
    port: u16,
    blocks: Arc<Blocks>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Backend {
    pub(super) fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let blocks = Arc::new(Blocks::default());
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let shared = Arc::clone(&blocks);
        let thread = std::thread::Builder::new().name("backend".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = stopped => {}
                    _ = accept(listener, shared) => {}
                }
            });
        })?;
        Ok(Self {
            port,
            blocks,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// The blocks that came with a request, oldest first; `None` where it did not come.
    pub(super) fn blocks_of(&self, request: &str) -> Option<Vec<Vec<u8>>> {
        self.blocks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(request)
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

async fn accept(listener: TcpListener, blocks: Arc<Blocks>) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let answers: Arc<[[Vec<u8>; 2]; 3]> =
        Arc::new(Format::ALL.map(|format| [false, true].map(|streamed| answer(format, streamed))));
    loop {
        if let Ok((stream, _)) = listener.accept().await {
            let (answers, blocks) = (Arc::clone(&answers), Arc::clone(&blocks));
            // A connection that ends badly is the gateway's business.
            tokio::spawn(async move { drop(serve(stream, &answers, &blocks).await) });
        }
    }
}

async fn serve(stream: TcpStream, answers: &[[Vec<u8>; 2]; 3], blocks: &Blocks) -> io::Result<()> {
    let mut connection = Connection::new(stream)?;
    while let Some(request) = tokio::time::timeout(IDLE, read(&mut connection))
        .await
        .unwrap_or(Ok(None))?
    {
        let Some(format) = request.format else {
            connection
                .write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 11\r\n\r\n{\"data\":[]}")
                .await?;
            continue;
        };
        let found = blocks_in(&request.body);
        blocks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(request.id, found);
        let streamed = memmem::find(&request.body, b"\"stream\":true").is_some();
        let answer = &answers[format as usize][usize::from(streamed)];
        match request.fault.as_deref() {
            None => connection.write(answer).await?,
            Some("status") => {
                let body =
                    r#"{"type":"error","error":{"message":"as the driver says","type":"server_error","code":"down"}}"#;
                let head = format!(
                    "HTTP/1.1 503 Scripted\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                    body.len()
                );
                connection.write(head.as_bytes()).await?;
            }
            Some("stall") => {
                while connection.fill().await? > 0 {
                    let read = connection.pending().len();
                    connection.consume(read);
                }
            }
            Some("break") => return connection.write(&answer[..answer.len() / 2]).await,
            Some(_) => return Ok(()),
        }
    }
    Ok(())
}

struct Request {
    format: Option<Format>,
    id: String,
    fault: Option<String>,
    body: Vec<u8>,
}

/// Reads one request to its end; `None` when the peer has closed between requests.
async fn read(connection: &mut Connection) -> io::Result<Option<Request>> {
    let (mut request, mut decoder, length) = loop {
        if let Some((head, length)) = Head::parse(connection.pending()).map_err(io::Error::other)? {
            let (method, target) = head.request().map_err(io::Error::other)?;
            let request = Request {
                format: Format::of_target(target).filter(|_| method == "POST"),
                id: head.header(REQUEST).unwrap_or_default().to_owned(),
                fault: head.header(FAULT).map(str::to_owned),
                body: Vec::new(),
            };
            let decoder = head.body(BodyDecoder::Length(0)).map_err(io::Error::other)?;
            break (request, decoder, length);
        }
        if connection.fill().await? == 0 {
            return Ok(None);
        }
    };
    connection.consume(length);
    loop {
        let used = decoder.feed(connection.pending(), |part| request.body.extend_from_slice(part));
        connection.consume(used.map_err(io::Error::other)?);
        if decoder.is_done() {
            return Ok(Some(request));
        }
        if connection.fill().await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

/// The blocks in a body, as they stand in it. The prompts of a soak hold no fence themselves.
fn blocks_in(body: &[u8]) -> Vec<Vec<u8>> {
    let mut blocks = Vec::new();
    let mut rest = body;
    while let Some(start) = memmem::find(rest, OPEN) {
        let end = memmem::find(&rest[start..], CLOSE).map_or(rest.len(), |end| start + end + CLOSE.len());
        blocks.push(rest[start..end].to_vec());
        rest = &rest[end..];
    }
    blocks
}

/// The whole answer with its head.
fn answer(format: Format, streamed: bool) -> Vec<u8> {
    if streamed {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        let events = sse::events(format, sse::plain_word);
        let chunks = events.iter().map(|event| format!("{:x}\r\n{event}\r\n", event.len()));
        return format!("{head}{}0\r\n\r\n", chunks.collect::<String>()).into_bytes();
    }
    let body = whole(format);
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    (head + &body).into_bytes()
}

/// A whole answer.
pub(super) fn whole(format: Format) -> String {
    match format {
        Format::Chat => json!({"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "mock",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": WORDS}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10}}),
        Format::Messages => json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "mock",
            "content": [{"type": "text", "text": WORDS}], "stop_reason": "end_turn", "stop_sequence": null,
            "usage": {"input_tokens": 5, "output_tokens": 5}}),
        Format::Responses => {
            json!({"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "mock",
            "output": [{"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": WORDS, "annotations": []}]}],
            "usage": {"input_tokens": 5, "output_tokens": 5, "total_tokens": 10}})
        }
    }
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_found_as_they_stand() {
        let body = br#"{"a":"x <muninn-context>\n1\n</muninn-context>","b":"<muninn-context>2</muninn-context>"}"#;
        let blocks = blocks_in(body);
        assert_eq!(blocks[0], br"<muninn-context>\n1\n</muninn-context>");
        assert_eq!(blocks[1], b"<muninn-context>2</muninn-context>");
        assert!(blocks_in(b"{}").is_empty());
    }
}
