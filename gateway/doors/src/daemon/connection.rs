//! One connection: one call.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::time::{Instant, sleep_until, timeout};

use super::end::End;
use super::service::Service;
use super::shared::Shared;
use crate::socket::{Answer, Call, Host, MOST_BYTES, Method, VERSION, is_older, is_own};

/// The time in which a client must send its line.
const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest wait of a call without a deadline.
const LONGEST: Duration = Duration::from_hours(1);

/// Answers the call of a connection.
///
/// # Errors
/// If the connection breaks.
pub(super) async fn serve<S: Service>(mut stream: UnixStream, shared: Arc<Shared<S>>) -> io::Result<()> {
    if !is_own(&stream)? {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let mut line = Vec::new();
    let read = timeout(READ_TIMEOUT, read_line(&mut stream, &mut line)).await?;
    match read? {
        Line::Whole => {}
        Line::Torn => return Ok(()),
        Line::TooLong => return refuse(&mut stream, format!("the call has more than {MOST_BYTES} bytes")).await,
    }
    let call: Call<'_> = match serde_json::from_slice(&line) {
        Ok(call) => call,
        Err(error) => return refuse(&mut stream, format!("the call is not understood: {error}")).await,
    };
    match call.method {
        Method::Status => send(&mut stream, &Answer::Reply(shared.status())).await,
        Method::Stop if shared.host == Host::Gateway => {
            let process = std::process::id();
            let error = format!("a gateway listens on the socket; stop `muninn serve`, process {process}, instead");
            refuse(&mut stream, error).await
        }
        Method::Stop => {
            send(&mut stream, &Answer::Reply(())).await?;
            // The client waits for the end of the connection, and so of the process.
            shared.end(End::Asked(stream));
            Ok(())
        }
        Method::Call if call.version != VERSION => {
            if is_older(VERSION, &call.version) {
                shared.end(End::Replaced(call.version));
            }
            send(&mut stream, &Answer::<()>::Version(VERSION.to_owned())).await
        }
        Method::Call => answer(&mut stream, &shared, &call).await,
    }
}

async fn answer<S: Service>(stream: &mut UnixStream, shared: &Shared<S>, call: &Call<'_>) -> io::Result<()> {
    let Some(request) = call.request else {
        return refuse(stream, "the call has no request".to_owned()).await;
    };
    let deadline = call.deadline_ms.map_or(LONGEST, Duration::from_millis).min(LONGEST);
    let deadline = Instant::now() + deadline;
    let _active = shared.activity.begin();
    let (mut input, mut output) = stream.split();
    tokio::select! {
        biased;
        replied = shared.service.call(request) => match replied {
            Ok(reply) if reply.get().len() < MOST_BYTES => send(&mut output, &Answer::Reply(reply)).await,
            Ok(_) => refuse(&mut output, format!("the reply has more than {MOST_BYTES} bytes")).await,
            Err(error) => refuse(&mut output, format!("the request is not understood: {error}")).await,
        },
        () = left(&mut input) => {
            tracing::debug!("a client left before its reply");
            Ok(())
        }
        () = sleep_until(deadline) => refuse(&mut output, "the deadline passed".to_owned()).await,
    }
}

/// The end of reading a line.
enum Line {
    Whole,
    /// The client left in the middle.
    Torn,
    TooLong,
}

async fn read_line(stream: &mut UnixStream, line: &mut Vec<u8>) -> io::Result<Line> {
    let most = MOST_BYTES as u64;
    BufReader::new(stream.take(most)).read_until(b'\n', line).await?;
    Ok(match line.last() {
        Some(b'\n') => Line::Whole,
        _ if line.len() == MOST_BYTES => Line::TooLong,
        _ => Line::Torn,
    })
}

/// Waits until the client closes its end. A client sends nothing after its line, so bytes also end the wait.
async fn left(input: &mut (impl AsyncRead + Unpin)) {
    input.read_u8().await.ok();
}

async fn refuse(output: &mut (impl AsyncWrite + Unpin), error: String) -> io::Result<()> {
    send(output, &Answer::<()>::Error(error)).await
}

async fn send<A: Serialize>(output: &mut (impl AsyncWrite + Unpin), answer: &Answer<A>) -> io::Result<()> {
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    // A client that does not read would hold the connection.
    timeout(READ_TIMEOUT, output.write_all(&line)).await?
}
