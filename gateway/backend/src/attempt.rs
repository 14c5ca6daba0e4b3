//! Trying backends until one answers, before anything was sent to the client.
//!
//! A transient failure is retried at the same backend. After other failures of a backend the next candidate is tried. Another key
//! of the same backend is tried only where the failure may be the key's.
//! The client gets the last answer unchanged, with its `retry-after` headers, even if it is an error. Of an answer with status
//! 200 the first event is read here: it may be an error too, and nothing was sent to the client before it.

use std::time::{Duration, Instant};

use axum::body::Body;
use http::{HeaderMap, Response};
use muninn_ledger::{CircuitOpen, Try, TryOutcome};
use muninn_wire::convert::Opening;
use muninn_wire::error::ErrorKind;
use thiserror::Error;

use super::opening::open;
use super::{Candidate, Outgoing, SendError, Transport, UnderWay};

/// The longest pause before the first retry. Each further retry doubles it, up to [`LONGEST_BACKOFF`].
const FIRST_BACKOFF: Duration = Duration::from_millis(100);
const LONGEST_BACKOFF: Duration = Duration::from_secs(2);
/// The shortest `retry-after` of an open circuit. A probe of another request may be under way.
const PROBE_RETRY_AFTER: Duration = Duration::from_secs(1);

/// The outcome of a request and of each try.
#[derive(Debug)]
pub struct AttemptReport<H, E> {
    /// The answer, or the reason for its absence.
    pub outcome: Result<AttemptAnswer<H>, AttemptError<E>>,
    /// Every try, in order, for the receipt and the log.
    pub tries: Vec<Try>,
}

/// An answer: its head and a streaming body.
#[derive(Debug)]
pub struct AttemptAnswer<H> {
    /// The index of the candidate that answered.
    pub candidate: usize,
    /// The value that the caller's request builder returned beside this candidate's request.
    pub context: H,
    /// The unchanged answer.
    pub response: Response<Body>,
    /// What its beginning tells; nothing of an answer that is not judged.
    pub opening: Opening,
    /// Counts the request in its backend's load, until this is dropped.
    pub under_way: UnderWay,
}

/// The reason why no candidate answered. `E` is the error of the caller's request builder.
#[derive(Debug)]
pub enum AttemptError<E> {
    /// The request could not be built for the last candidate.
    Request(E),
    /// The last candidate gave no answer.
    Backend(BackendError),
}

/// The reason why a backend gave no answer.
#[derive(Debug, Error)]
pub enum BackendError {
    /// The backend could not be reached, or did not answer.
    #[error("backend `{backend}`: {error}")]
    Failed {
        /// The backend's name.
        backend: String,
        /// The transport's error.
        #[source]
        error: SendError,
    },
    /// The request was not sent because the backend's circuit is open.
    #[error("backend `{backend}` keeps failing, so its circuit is open; retry in {} s", retry_after.as_secs())]
    CircuitOpen {
        /// The backend's name.
        backend: String,
        /// The time until the next try, in whole seconds, at least one.
        retry_after: Duration,
    },
    /// The list of candidates was empty.
    #[error("no backend is a candidate for this request")]
    NoCandidate,
}

impl BackendError {
    /// The kind of error that the client gets.
    pub fn kind(&self) -> ErrorKind {
        match self {
            BackendError::Failed { error, .. } => error.kind(),
            BackendError::CircuitOpen { .. } | BackendError::NoCandidate => ErrorKind::NoBackend,
        }
    }

    /// The value of `retry-after`, if the time is known.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            BackendError::CircuitOpen { retry_after, .. } => Some(*retry_after),
            _ => None,
        }
    }
}

/// An answer with what its beginning tells, or the reason for its absence.
type Sent = Result<(Response<Body>, Opening), SendError>;

fn try_outcome(sent: &Sent) -> TryOutcome {
    match sent {
        Ok((_, Opening { failure: Some(failure), .. })) => {
            if failure.kind.status().is_server_error() {
                TryOutcome::Failed
            } else {
                TryOutcome::Refused
            }
        }
        Ok((response, _)) => TryOutcome::Answered(response.status().as_u16()),
        Err(SendError::Url { .. }) => TryOutcome::NotSent,
        Err(SendError::Connect { .. }) => TryOutcome::NotConnected,
        Err(SendError::Broken { .. } | SendError::BrokenOff { .. }) => TryOutcome::Broken,
        Err(SendError::FirstByte { .. } | SendError::Idle { .. }) => TryOutcome::TimedOut,
    }
}

/// Whether the outcome counts as a failure of the backend. A healthy backend may refuse this client, for instance by
/// 429.
fn is_backend_failure(outcome: TryOutcome) -> bool {
    match outcome {
        TryOutcome::Answered(status) => matches!(status, 500 | 502..=504 | 507 | 520..=526 | 529 | 530 | 598),
        TryOutcome::NotConnected | TryOutcome::Broken | TryOutcome::TimedOut | TryOutcome::Failed => true,
        TryOutcome::CircuitOpen | TryOutcome::NotSent | TryOutcome::Refused => false,
    }
}

/// Whether the client gets this answer without trying another candidate: another backend would answer alike. A backend without
/// credit (402), one that waited too long (408) and one that refuses more requests (429) are sound, and others may answer.
fn is_final(outcome: TryOutcome) -> bool {
    let is_elsewhere = matches!(outcome, TryOutcome::Answered(402 | 408 | 429) | TryOutcome::Refused);
    !is_elsewhere && !is_backend_failure(outcome)
}

/// Whether the backend may answer another key.
fn is_about_key(outcome: TryOutcome) -> bool {
    matches!(outcome, TryOutcome::Answered(401 | 402 | 403 | 429) | TryOutcome::Refused)
}

/// Whether the same backend may be retried after a pause. Answers with their own retry headers are not retried here.
fn is_retryable(sent: &Sent) -> bool {
    match sent {
        Ok((response, _)) => matches!(response.status().as_u16(), 502..=504) && !has_retry_headers(response.headers()),
        Err(error) => error.is_retryable(),
    }
}

fn has_retry_headers(headers: &HeaderMap) -> bool {
    headers.contains_key("retry-after")
        || headers.contains_key("retry-after-ms")
        || headers.get("x-should-retry").is_some_and(|value| value == "false")
}

/// The pause before a retry, counted from 0. `jitter`, from 0 to 1, spreads the retries of clients that failed
/// together.
fn backoff(retry: u32, jitter: f64) -> Duration {
    let longest = FIRST_BACKOFF.saturating_mul(1_u32.checked_shl(retry).unwrap_or(u32::MAX)).min(LONGEST_BACKOFF);
    longest.mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0)
}

/// Sends a request to the first candidate that answers. `request` builds a candidate's request (path, headers with
/// credentials, body in its format) and a context for the caller. It is called once per candidate; if it fails, the
/// next candidate is tried.
///
/// Returns once the answer's head has arrived. Dropping the future cancels the request.
pub async fn attempt<H, E, F: Future<Output = Result<(Outgoing, H), E>>>(
    transport: &Transport,
    candidates: &[Candidate],
    mut request: impl FnMut(&Candidate) -> F,
) -> AttemptReport<H, E> {
    let mut tries = Vec::new();
    let mut answered = None;
    let mut last_error = AttemptError::Backend(BackendError::NoCandidate);
    // Candidates that no other key of their backend can replace.
    let mut spent: Vec<&Candidate> = Vec::new();
    for (index, candidate) in candidates.iter().enumerate() {
        if spent.iter().any(|spent| spent.differs_by_key(candidate)) {
            continue;
        }
        let (outgoing, context) = match request(candidate).await {
            Ok(built) => built,
            Err(error) => {
                record_try(&mut tries, candidate, TryOutcome::NotSent, Instant::now());
                last_error = AttemptError::Request(error);
                spent.push(candidate);
                continue;
            }
        };
        let under_way = candidate.backend.load.begin();
        let sent = send_with_retries(transport, candidate, outgoing, &mut tries).await;
        let is_about_key = tries.last().is_some_and(|last| is_about_key(last.happened));
        if !is_about_key {
            spent.push(candidate);
        }
        match sent {
            Ok((response, opening)) => {
                let is_final = tries.last().is_none_or(|last| is_final(last.happened));
                answered = Some(AttemptAnswer { candidate: index, context, response, opening, under_way });
                let has_other_key = candidates[index + 1..].iter().any(|next| next.differs_by_key(candidate));
                if is_final && !(is_about_key && has_other_key) {
                    break;
                }
            }
            Err(error) => last_error = AttemptError::Backend(error),
        }
    }
    AttemptReport { outcome: answered.ok_or(last_error), tries }
}

/// Sends a request to one backend, with retries. Its circuit counts the request once.
async fn send_with_retries(
    transport: &Transport,
    candidate: &Candidate,
    outgoing: Outgoing,
    tries: &mut Vec<Try>,
) -> Result<(Response<Body>, Opening), BackendError> {
    let backend = &candidate.backend;
    let now = Instant::now();
    let permit = backend.circuit.admit(now).await.map_err(|refused| {
        record_try(tries, candidate, TryOutcome::CircuitOpen, now);
        circuit_open(candidate, refused)
    })?;
    let mut retry = 0;
    let (sent, outcome) = loop {
        let started = Instant::now();
        let sent = match transport.send(backend, outgoing.clone()).await {
            Ok(response) if outgoing.is_judged && response.status().is_success() => open(response, &backend.name).await,
            sent => sent.map(|response| (response, Opening::default())),
        };
        let outcome = try_outcome(&sent);
        record_try(tries, candidate, outcome, started);
        if retry >= backend.retries || !is_retryable(&sent) {
            break (sent, outcome);
        }
        drop(sent);
        tokio::time::sleep(backoff(retry, fastrand::f64())).await;
        retry += 1;
    };
    if is_backend_failure(outcome) {
        if permit.fail() {
            tracing::warn!(backend = %backend.name, happened = %outcome, "backend {} fails", backend.name);
        }
    } else if outcome != TryOutcome::NotSent && permit.succeed() {
        tracing::warn!(backend = %backend.name, "backend {} answers again", backend.name);
    }
    sent.map_err(|error| BackendError::Failed { backend: backend.name.clone(), error })
}

fn circuit_open(candidate: &Candidate, refused: CircuitOpen) -> BackendError {
    let wait = refused.retry_after.max(PROBE_RETRY_AFTER);
    let whole_seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    BackendError::CircuitOpen {
        backend: candidate.backend.name.clone(),
        retry_after: Duration::from_secs(whole_seconds),
    }
}

fn record_try(tries: &mut Vec<Try>, candidate: &Candidate, happened: TryOutcome, started: Instant) {
    let ms = (started.elapsed().as_secs_f64() * 1e4).round() / 10.0;
    let backend = candidate.backend.name.clone();
    if is_backend_failure(happened) || matches!(happened, TryOutcome::CircuitOpen | TryOutcome::NotSent) {
        tracing::info!(%backend, %happened, ms, "a backend did not answer");
    }
    tries.push(Try { backend, key: candidate.backend.key_number, happened, ms });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, headers: &[(&'static str, &str)]) -> Sent {
        let mut response = Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        Ok((response.body(Body::empty()).unwrap(), Opening::default()))
    }

    fn failures() -> [SendError; 3] {
        let (authority, reason) = ("h:1".to_owned(), "r".to_owned());
        let after = Duration::from_secs(1);
        [
            SendError::Connect { authority: authority.clone(), reason: reason.clone() },
            SendError::Broken { authority: authority.clone(), reason },
            SendError::FirstByte { authority, after },
        ]
    }

    /// Whether a try is final, whether it is retried, and whether it counts as a failure of the backend.
    fn classified(sent: Sent) -> (bool, bool, bool) {
        let is_final = sent.is_ok() && is_final(try_outcome(&sent));
        (is_final, is_retryable(&sent), is_backend_failure(try_outcome(&sent)))
    }

    #[test]
    fn answers_and_failures_are_final_retryable_or_counted() {
        for status in [200, 206, 302, 400, 401, 403, 404, 409, 413, 422, 501] {
            assert_eq!(classified(answer(status, &[])), (true, false, false), "{status}");
        }
        for status in [402, 408, 429] {
            assert_eq!(classified(answer(status, &[])), (false, false, false), "{status}");
        }
        for status in [500, 507, 520, 521, 522, 523, 524, 525, 526, 529, 530, 598] {
            assert_eq!(classified(answer(status, &[])), (false, false, true), "{status}");
        }
        for status in [502, 503, 504] {
            assert_eq!(classified(answer(status, &[])), (false, true, true), "{status}");
            for header in [("retry-after", "1"), ("retry-after-ms", "10"), ("x-should-retry", "false")] {
                assert_eq!(classified(answer(status, &[header])), (false, false, true), "{status} {header:?}");
            }
            assert_eq!(classified(answer(status, &[("x-should-retry", "true")])), (false, true, true));
        }
        let [connect, broken, first_byte] = failures();
        assert_eq!(classified(Err(connect)), (false, true, true));
        assert_eq!(classified(Err(broken)), (false, true, true));
        assert_eq!(classified(Err(first_byte)), (false, false, true));
    }

    #[test]
    fn backoff_doubles_with_jitter_up_to_a_bound() {
        for (retry, jitter, ms) in [(0, 0.0, 50), (0, 1.0, 100), (1, 1.0, 200), (2, 0.0, 200), (40, 1.0, 2_000)] {
            assert_eq!(backoff(retry, jitter), Duration::from_millis(ms), "{retry} {jitter}");
        }
    }
}
