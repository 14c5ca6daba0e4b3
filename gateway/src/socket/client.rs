//! The calling end. It blocks: hooks are short processes without a runtime.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use thiserror::Error;

use super::place::{Place, PlaceError};
use super::{Answer, Call, MOST_BYTES, Method, Progress, Status, VERSION};

/// The bytes that one read takes at most.
const CHUNK: usize = 16 << 10;

/// Why a call has no reply.
#[derive(Debug, Error)]
pub enum CallError {
    /// No process listens.
    #[error("no daemon is running")]
    NoDaemon,
    /// Somebody else could answer.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The other process has another version. If that one is older, it ends now.
    #[error("the running daemon has version {0}")]
    OtherVersion(String),
    /// The other process refused or failed.
    #[error("{0}")]
    Failed(String),
    /// The deadline passed.
    #[error("the daemon did not answer in time")]
    Late,
    /// The connection broke, or the other process wrote nonsense.
    #[error("the connection to the daemon broke: {0}")]
    Io(#[from] io::Error),
}

/// Sends a request and waits for the reply.
///
/// # Errors
/// [`CallError`].
pub fn call<Q: Serialize, A: DeserializeOwned>(
    place: &Place,
    request: &Q,
    until: Instant,
    progress: impl FnMut(Progress),
) -> Result<A, CallError> {
    let request = serde_json::value::to_raw_value(request).map_err(io::Error::from)?;
    let left = until.saturating_duration_since(Instant::now());
    let call = Call {
        deadline_ms: Some(u64::try_from(left.as_millis()).unwrap_or(u64::MAX)),
        request: Some(&request),
        ..Call::of(Method::Call)
    };
    Connection::open(place, until)?.ask(&call, progress)
}

/// The state of the listening process, of any version.
///
/// # Errors
/// [`CallError`].
pub fn status(place: &Place, until: Instant) -> Result<Status, CallError> {
    Connection::open(place, until)?.ask(&Call::of(Method::Status), |_| {})
}

/// Ends the listening daemon, of any version, and waits until its process has ended.
///
/// # Errors
/// [`CallError`]; [`CallError::Failed`] if it is no daemon.
pub fn stop(place: &Place, until: Instant) -> Result<(), CallError> {
    let mut connection = Connection::open(place, until)?;
    let _: IgnoredAny = connection.ask(&Call::of(Method::Stop), |_| {})?;
    // The process keeps the connection to its end.
    match connection.line() {
        Ok(None) | Err(CallError::Io(_)) => Ok(()),
        Ok(Some(_)) => Err(CallError::Io(io::ErrorKind::InvalidData.into())),
        Err(error) => Err(error),
    }
}

impl Call<'_> {
    fn of(method: Method) -> Self {
        Call {
            version: VERSION.to_owned(),
            method,
            deadline_ms: None,
            request: None,
        }
    }
}

/// A connection with a deadline.
struct Connection {
    stream: UnixStream,
    until: Instant,
    /// What was read beyond the last line.
    read: Vec<u8>,
}

impl Connection {
    fn open(place: &Place, until: Instant) -> Result<Connection, CallError> {
        if !place.has_socket()? {
            return Err(CallError::NoDaemon);
        }
        let stream = UnixStream::connect(place.socket()).map_err(|error| match error.kind() {
            // The socket of a killed process, or of one that has just ended.
            io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => CallError::NoDaemon,
            _ => CallError::Io(error),
        })?;
        Ok(Connection {
            stream,
            until,
            read: Vec::new(),
        })
    }

    fn ask<A: DeserializeOwned>(
        &mut self,
        call: &Call<'_>,
        mut progress: impl FnMut(Progress),
    ) -> Result<A, CallError> {
        let mut line = serde_json::to_vec(call).map_err(io::Error::from)?;
        line.push(b'\n');
        if line.len() > MOST_BYTES {
            return Err(CallError::Failed(format!(
                "the request has more than {MOST_BYTES} bytes"
            )));
        }
        self.stream.set_write_timeout(Some(self.time_left()?))?;
        self.stream.write_all(&line).map_err(late)?;
        loop {
            let line = self.line()?.ok_or(io::ErrorKind::UnexpectedEof);
            match serde_json::from_slice(&line.map_err(io::Error::from)?).map_err(io::Error::from)? {
                Answer::Progress(step) => progress(step),
                Answer::Reply(reply) => return Ok(reply),
                Answer::Error(error) => return Err(CallError::Failed(error)),
                Answer::Version(version) => return Err(CallError::OtherVersion(version)),
            }
        }
    }

    /// The next line; `None` at the end.
    fn line(&mut self) -> Result<Option<Vec<u8>>, CallError> {
        let mut searched = 0;
        loop {
            if let Some(end) = memchr::memchr(b'\n', &self.read[searched..]) {
                let rest = self.read.split_off(searched + end + 1);
                return Ok(Some(std::mem::replace(&mut self.read, rest)));
            }
            searched = self.read.len();
            if searched > MOST_BYTES {
                return Err(CallError::Io(io::ErrorKind::FileTooLarge.into()));
            }
            self.stream.set_read_timeout(Some(self.time_left()?))?;
            let mut chunk = [0; CHUNK];
            match self.stream.read(&mut chunk) {
                Ok(0) if self.read.is_empty() => return Ok(None),
                Ok(0) => return Err(CallError::Io(io::ErrorKind::UnexpectedEof.into())),
                Ok(length) => self.read.extend_from_slice(&chunk[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(late(error)),
            }
        }
    }

    fn time_left(&self) -> Result<Duration, CallError> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(CallError::Late) } else { Ok(left) }
    }
}

/// The error of a read or a write. Systems differ in the kind of a time-out.
fn late(error: io::Error) -> CallError {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => CallError::Late,
        _ => CallError::Io(error),
    }
}
