//! Messages of the protocol, a line each.
//!
//! The SDK's own transport drops a line that it cannot read, and the client waits for its answer. Here such a line is repaired, or
//! answered with an error.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use muninn_wire::lenient;
use rmcp::RoleServer;
use rmcp::model::JsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::{Mutex, Notify};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The longest line in bytes.
const LONGEST: usize = 16 << 20;
/// How long the calls under way may take after the client has closed its end.
const LAST_ANSWERS: Duration = Duration::from_secs(5);
pub(super) const PARSE_ERROR: i32 = -32_700;
pub(super) const INVALID_REQUEST: i32 = -32_600;

/// The transport of one client.
pub(super) struct Lines<R, W> {
    input: BufReader<R>,
    line: Vec<u8>,
    /// Whether the rest of a line that is too long is skipped.
    skips: bool,
    is_over: bool,
    output: Arc<Mutex<W>>,
    /// The writing of an error.
    answering: Option<JoinHandle<()>>,
    under_way: Arc<UnderWay>,
    gone: CancellationToken,
}

/// The requests without an answer.
#[derive(Default)]
struct UnderWay {
    count: AtomicUsize,
    answered: Notify,
}

impl<R: AsyncRead + Unpin + Send, W> Lines<R, W> {
    /// `gone` is cancelled once the client has left.
    pub(super) fn new(input: R, output: W, gone: CancellationToken) -> Lines<R, W> {
        Lines {
            input: BufReader::new(input),
            line: Vec::new(),
            skips: false,
            is_over: false,
            output: Arc::new(Mutex::new(output)),
            answering: None,
            under_way: Arc::default(),
            gone,
        }
    }

    /// Reads until `line` is a whole line, or the last one without an end; whether it was too long. `None` after the last. May be
    /// dropped and called again.
    async fn next_line(&mut self) -> Option<bool> {
        loop {
            let read = if self.is_over { &[][..] } else { self.input.fill_buf().await.unwrap_or_default() };
            let (taken, has_end) = match memchr::memchr(b'\n', read) {
                Some(at) => (at + 1, true),
                None => (read.len(), false),
            };
            if !self.skips {
                self.line.extend_from_slice(&read[..taken]);
            }
            self.is_over = self.is_over || read.is_empty();
            if !self.is_over {
                self.input.consume(taken);
            }
            let is_too_long = self.skips || self.line.len() > LONGEST;
            if is_too_long {
                (self.line, self.skips) = (Vec::new(), !has_end && !self.is_over);
            }
            match (has_end || self.is_over, is_too_long) {
                (true, true) => return Some(true),
                (true, false) if !self.line.trim_ascii().is_empty() => return Some(false),
                (true, false) if self.is_over => return None,
                (true, false) => self.line.clear(),
                (false, _) => {}
            }
        }
    }
}

/// An error as an answer to a request with this id.
pub(super) fn refusal(code: i32, message: &str, id: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

/// Reads a message.
///
/// # Errors
/// The error that answers the line; `None` for a notification, which gets no answer.
fn read(line: &[u8]) -> Result<RxJsonRpcMessage<RoleServer>, Option<Value>> {
    let text = lenient(line).map_err(|error| Some(refusal(PARSE_ERROR, &error.to_string(), Value::Null)))?;
    serde_json::from_str(&text).map_err(|error| refused_message(&text, &error))
}

/// The answer to a value that is no message; `None` to a notification.
pub(super) fn refused_message(text: &str, error: &serde_json::Error) -> Option<Value> {
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    let id = value.get("id").filter(|id| id.is_string() || id.is_number());
    if id.is_none() && value.get("method").is_some_and(Value::is_string) && value.get("id").is_none() {
        return None;
    }
    let message = format!("no message of the protocol: {error}");
    Some(refusal(INVALID_REQUEST, &message, id.cloned().unwrap_or_default()))
}

async fn write<W: AsyncWrite + Unpin>(output: &Mutex<W>, message: &impl serde::Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut output = output.lock().await;
    output.write_all(&line).await?;
    output.flush().await
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(&mut self, message: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (output, under_way, gone) = (Arc::clone(&self.output), Arc::clone(&self.under_way), self.gone.clone());
        async move {
            let written = write(&output, &message).await;
            if let JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) = message {
                under_way.count.fetch_update(Ordering::AcqRel, Ordering::Acquire, |count| count.checked_sub(1)).ok();
                under_way.answered.notify_one();
            }
            if written.is_err() {
                gone.cancel();
            }
            written
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            // This future may be dropped at any time, but an error is written to its end, and before what is read after it.
            if let Some(answering) = &mut self.answering {
                answering.await.ok();
                self.answering = None;
            }
            let Some(is_too_long) = self.next_line().await else { break };
            let line = std::mem::take(&mut self.line);
            let read = if is_too_long {
                let message = format!("a message has at most {LONGEST} bytes");
                Err(Some(refusal(INVALID_REQUEST, &message, Value::Null)))
            } else {
                read(&line)
            };
            match read {
                Ok(message) => {
                    if let JsonRpcMessage::Request(_) = message {
                        self.under_way.count.fetch_add(1, Ordering::AcqRel);
                    }
                    return Some(message);
                }
                Err(Some(answer)) => {
                    let (output, gone) = (Arc::clone(&self.output), self.gone.clone());
                    self.answering = Some(tokio::spawn(async move {
                        if write(&output, &answer).await.is_err() {
                            gone.cancel();
                        }
                    }));
                }
                Err(None) => {}
            }
        }
        let answered = async {
            while self.under_way.count.load(Ordering::Acquire) > 0 {
                self.under_way.answered.notified().await;
            }
        };
        tokio::time::timeout(LAST_ANSWERS, answered).await.ok();
        self.gone.cancel();
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output.lock().await.flush().await
    }
}
