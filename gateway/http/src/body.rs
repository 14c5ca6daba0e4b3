//! Reading a request's body, with limits on its size, its idle time and the memory of all bodies together. Compressed
//! bodies are decoded.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Response, header};
use http_body_util::{BodyExt, Limited};
use muninn_config::LimitsConfig;
use muninn_wire::WireFormat;
use muninn_wire::error::ErrorKind;

use super::body_memory::{BodyMemory, Reservation};
use super::refusal_log::Client;
use super::{Worker, coding, refusal, reply};

/// A refused body is read for this long, so that the client finishes sending and can read the error.
const DRAIN: Duration = Duration::from_secs(10);
/// The seconds after which a client may retry when the memory of all bodies is used up.
const RETRY_AFTER: u64 = 2;

/// Why a body was not read: the kind and the message of the error response.
#[derive(Debug)]
struct BodyError {
    kind: ErrorKind,
    message: String,
}

impl BodyError {
    fn new(kind: ErrorKind, message: String) -> BodyError {
        BodyError { kind, message }
    }

    /// Logs and counts the refusal, and returns the error response.
    fn refuse(&self, worker: &Worker, client: &Client, format: WireFormat) -> Response<Body> {
        refusal::log(&worker.shared, client, self.kind, &self.message);
        if self.kind == ErrorKind::NoMemory {
            worker.app.metrics.refused(&client.key, self.kind);
        }
        self.response(format)
    }

    /// The error response in the client's format.
    fn response(&self, format: WireFormat) -> Response<Body> {
        let mut response = reply::error(format, self.kind, &self.message);
        let headers = response.headers_mut();
        match self.kind {
            ErrorKind::NoMemory => headers.insert(header::RETRY_AFTER, HeaderValue::from(RETRY_AFTER)),
            // RFC 9110, 15.5.16: the codings that are acceptable.
            ErrorKind::UnknownCoding => {
                headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(coding::SUPPORTED))
            }
            _ => None,
        };
        response
    }
}

/// A request's body.
#[derive(Debug)]
pub(super) struct RequestBody {
    /// The body; its bytes count as held memory until the last clone is dropped.
    pub body: Bytes,
    /// The same bytes without the count, for the learner, which keeps them after the request within a limit of its own.
    /// Idle conversations must not take the memory of requests.
    pub uncounted: Bytes,
}

/// Reads the whole body of a request. Afterwards the headers describe the decoded body.
///
/// # Errors
/// The response that refuses the request, logged and counted, if the body is too large, stalls, breaks off, has an
/// unsupported coding, or exceeds the memory of all bodies.
pub(super) async fn read(
    worker: &Worker,
    parts: &mut Parts,
    body: Body,
    format: WireFormat,
) -> Result<RequestBody, Response<Body>> {
    let settings = worker.app.settings();
    let read = read_within(body, &mut parts.headers, &settings.config.limits, &worker.shared.body_memory);
    read.await.map_err(|error| error.refuse(worker, &Client::of(parts), format))
}

async fn read_within(
    mut body: Body,
    headers: &mut HeaderMap,
    limits: &LimitsConfig,
    memory: &Arc<BodyMemory>,
) -> Result<RequestBody, BodyError> {
    let announced: Option<u64> =
        headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if announced.is_some_and(|length| length > limits.body_bytes as u64) {
        drain(body).await;
        return Err(too_large(limits.body_bytes));
    }
    let codings = match coding::codings(headers) {
        Ok(codings) => codings,
        Err(unknown) => {
            drain(body).await;
            let message = format!(
                "cannot decode the request's body: the coding is {unknown}; supported are {}",
                coding::SUPPORTED
            );
            return Err(BodyError::new(ErrorKind::UnknownCoding, message));
        }
    };
    if !codings.is_empty() {
        headers.remove(header::CONTENT_ENCODING);
        // The compressed data is limited too, because it may expand to nothing.
        body = coding::decode(Body::new(Limited::new(body, limits.body_bytes)), &codings);
    }
    let expected = announced.and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
    let mut reading =
        BodyReader { first: None, collected: BytesMut::new(), expected, reservation: memory.reserve_nothing() };
    match reading.collect(&mut body, limits).await {
        Ok(()) => Ok(reading.whole()),
        Err(error) => {
            // The memory is released before the rest is drained.
            drop(reading);
            if matches!(error.kind, ErrorKind::TooLarge | ErrorKind::NoMemory) {
                drain(body).await;
            }
            Err(error)
        }
    }
}

/// A body that is being read.
struct BodyReader {
    /// The first piece. Most bodies arrive in one piece and are not copied.
    first: Option<Bytes>,
    /// All pieces, if there is more than one.
    collected: BytesMut,
    /// The announced length, 0 if there is none.
    expected: usize,
    reservation: Reservation,
}

impl BodyReader {
    async fn collect(&mut self, body: &mut Body, limits: &LimitsConfig) -> Result<(), BodyError> {
        while let Some(data) = next(body, limits).await? {
            let length = self.first.as_ref().map_or(self.collected.len(), Bytes::len) + data.len();
            if length > limits.body_bytes {
                return Err(too_large(limits.body_bytes));
            }
            if !self.reservation.grow(data.len(), limits.total_body_bytes) {
                let message = format!(
                    "too many large requests are under way; retry in {RETRY_AFTER} s (limits.total_body_bytes = {})",
                    limits.total_body_bytes
                );
                return Err(BodyError::new(ErrorKind::NoMemory, message));
            }
            if self.first.is_none() && self.collected.is_empty() {
                self.first = Some(data);
                continue;
            }
            if let Some(first) = self.first.take() {
                self.collected.reserve(self.expected.min(limits.body_bytes).max(length));
                self.collected.extend_from_slice(&first);
            }
            self.collected.extend_from_slice(&data);
        }
        Ok(())
    }

    fn whole(self) -> RequestBody {
        let whole = self.first.unwrap_or_else(|| self.collected.freeze());
        RequestBody { uncounted: whole.clone(), body: self.reservation.attach(whole) }
    }
}

/// The next piece, `None` at the end.
async fn next(body: &mut Body, limits: &LimitsConfig) -> Result<Option<Bytes>, BodyError> {
    loop {
        match tokio::time::timeout(limits.idle_timeout, body.frame()).await {
            Ok(Some(Ok(frame))) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
            Ok(None) => return Ok(None),
            Ok(Some(Err(error))) => {
                let message = format!("the request's body broke off: {error}");
                return Err(BodyError::new(ErrorKind::InvalidRequest, message));
            }
            Err(_) => {
                let message = format!("the request's body stalled for {} s", limits.idle_timeout.as_secs());
                return Err(BodyError::new(ErrorKind::Timeout, message));
            }
        }
    }
}

/// Reads and drops what a client still sends, for at most [`DRAIN`].
pub(super) async fn drain(mut body: Body) {
    let until = Instant::now() + DRAIN;
    while let Ok(Some(Ok(_))) =
        tokio::time::timeout(until.saturating_duration_since(Instant::now()), body.frame()).await
    {}
}

fn too_large(limit: usize) -> BodyError {
    let message = format!("the request's body is larger than {} MB (limits.body_bytes = {limit})", limit >> 20);
    BodyError::new(ErrorKind::TooLarge, message)
}

#[cfg(test)]
mod tests {
    use std::io;

    use futures_util::stream;

    use super::*;

    fn limits(body_bytes: usize, total_body_bytes: usize) -> LimitsConfig {
        LimitsConfig { body_bytes, total_body_bytes, ..LimitsConfig::default() }
    }

    fn pieces(pieces: &[&'static str]) -> Body {
        let pieces: Vec<_> = pieces.iter().map(|piece| Ok::<_, io::Error>(Bytes::from(*piece))).collect();
        Body::from_stream(stream::iter(pieces))
    }

    fn run<T>(future: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(future)
    }

    #[test]
    fn memory_is_reserved_for_arrived_bytes_only() {
        run(async {
            let memory = Arc::new(BodyMemory::default());
            let limits = limits(20, 25);
            let mut announced = HeaderMap::new();
            announced.insert(header::CONTENT_LENGTH, HeaderValue::from_static("20"));
            let first = read_within(pieces(&["01234", "56789"]), &mut announced, &limits, &memory).await.unwrap();
            assert_eq!((memory.held(), &first.body[..]), (10, &b"0123456789"[..]));
            let second = read_within(pieces(&["0123456789"]), &mut announced, &limits, &memory).await.unwrap();
            assert_eq!(memory.held(), 20);
            let refused = read_within(pieces(&["01", "23", "45"]), &mut announced, &limits, &memory).await;
            let refused = refused.unwrap_err();
            assert_eq!(refused.kind, ErrorKind::NoMemory);
            assert!(refused.message.contains("total_body_bytes = 25"), "{}", refused.message);
            assert_eq!(memory.held(), 20, "what was refused is given back");
            let response = refused.response(WireFormat::Messages);
            assert_eq!((response.status().as_u16(), &response.headers()["retry-after"]), (503, &HeaderValue::from(2)));
            let kept = first.uncounted.clone();
            drop((first, second));
            assert_eq!((memory.held(), &kept[..]), (0, &b"0123456789"[..]));
            assert!(read_within(pieces(&["012345"]), &mut announced, &limits, &memory).await.is_ok());
        });
    }

    #[test]
    fn body_above_its_limit_is_refused() {
        run(async {
            let memory = Arc::new(BodyMemory::default());
            for body in [&["0123456789a"][..], &["01234", "56789", "a"]] {
                let error = read_within(pieces(body), &mut HeaderMap::new(), &limits(10, 100), &memory).await;
                assert_eq!(error.unwrap_err().kind, ErrorKind::TooLarge);
            }
            assert_eq!(memory.held(), 0);
        });
    }
}
