//! The calling end.

use std::io;
use std::time::Duration;

use muninn_config::ownership::OwnershipError;
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use thiserror::Error;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::place::Place;
use super::{Answer, Call, MOST_BYTES, Method, Status, VERSION};

/// Why a call has no reply.
#[derive(Debug, Error)]
pub enum CallError {
    /// No process listens.
    #[error("no daemon is running")]
    NoDaemon,
    /// Somebody else could answer.
    #[error(transparent)]
    Place(#[from] OwnershipError),
    /// The other process has another version. If that one is older, it ends now.
    #[error("the running daemon has version {0}")]
    OtherVersion(String),
    /// The other process refused or failed.
    #[error("{0}")]
    Failed(String),
    /// The time is over.
    #[error("the daemon did not answer in time")]
    Late,
    /// The connection broke, or the other process wrote nonsense.
    #[error("the connection to the daemon broke: {0}")]
    Io(#[from] io::Error),
}

/// Sends a request and waits for the reply. Dropping the future cancels the call.
pub async fn call<Q: Serialize, A: DeserializeOwned>(
    place: &Place,
    request: &Q,
    within: Duration,
) -> Result<A, CallError> {
    let request = serde_json::value::to_raw_value(request).map_err(io::Error::from)?;
    let call = Call {
        deadline_ms: Some(u64::try_from(within.as_millis()).unwrap_or(u64::MAX)),
        request: Some(&request),
        ..Call::of(Method::Call)
    };
    in_time(within, async { Connection::open(place).await?.ask(&call).await }).await
}

/// The state of the listening process, of any version.
pub async fn status(place: &Place, within: Duration) -> Result<Status, CallError> {
    let call = Call::of(Method::Status);
    in_time(within, async { Connection::open(place).await?.ask(&call).await }).await
}

/// Ends the listening daemon, of any version, and waits until its process has ended.
///
/// # Errors
/// [`CallError`]; [`CallError::Failed`] if it is no daemon.
pub async fn stop(place: &Place, within: Duration) -> Result<(), CallError> {
    in_time(within, async {
        let mut connection = Connection::open(place).await?;
        let _: IgnoredAny = connection.ask(&Call::of(Method::Stop)).await?;
        // The process keeps the connection to its end.
        match connection.line().await {
            Ok(line) if !line.is_empty() => Err(CallError::Io(io::ErrorKind::InvalidData.into())),
            _ => Ok(()),
        }
    })
    .await
}

async fn in_time<T>(within: Duration, work: impl Future<Output = Result<T, CallError>>) -> Result<T, CallError> {
    timeout(within, work).await.unwrap_or(Err(CallError::Late))
}

impl Call<'_> {
    fn of(method: Method) -> Self {
        Call { version: VERSION.to_owned(), method, deadline_ms: None, request: None }
    }
}

/// A connection to the listening process.
struct Connection(BufReader<UnixStream>);

impl Connection {
    async fn open(place: &Place) -> Result<Connection, CallError> {
        if !place.has_socket()? {
            return Err(CallError::NoDaemon);
        }
        match UnixStream::connect(place.socket()).await {
            Ok(stream) => Ok(Connection(BufReader::new(stream))),
            // The socket of a killed process, or of one that has just ended.
            Err(error) if matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound) => {
                Err(CallError::NoDaemon)
            }
            Err(error) => Err(CallError::Io(error)),
        }
    }

    async fn ask<A: DeserializeOwned>(&mut self, call: &Call<'_>) -> Result<A, CallError> {
        let mut line = serde_json::to_vec(call).map_err(io::Error::from)?;
        line.push(b'\n');
        if line.len() > MOST_BYTES {
            return Err(CallError::Failed(format!("the request has more than {MOST_BYTES} bytes")));
        }
        self.0.write_all(&line).await?;
        match serde_json::from_slice(&self.line().await?).map_err(io::Error::from)? {
            Answer::Reply(reply) => Ok(reply),
            Answer::Error(error) => Err(CallError::Failed(error)),
            Answer::Version(version) => Err(CallError::OtherVersion(version)),
        }
    }

    /// The next line; empty at the end. A longer one than a server may send is cut, and then is no JSON.
    async fn line(&mut self) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        let most = MOST_BYTES as u64;
        (&mut self.0).take(most).read_until(b'\n', &mut line).await?;
        Ok(line)
    }
}
