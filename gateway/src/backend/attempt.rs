//! Trying backends until one answers, before anything was sent to the client.
//!
//! A backend is asked again after a failure that a moment may heal, the next candidate after one that is this backend's
//! own. The last answer goes to the client as it came, whatever it says, with the headers that tell when to come back.
//! Bodies are never read here: an answer is judged by its head.

use std::time::{Duration, Instant};

use axum::body::Body;
use http::{HeaderMap, Response, StatusCode};
use thiserror::Error;

use super::{Candidate, Outgoing, SendError, Transport};
use crate::store::{CircuitOpen, Try, TryOutcome};
use crate::wire::error::ErrorKind;

/// The longest pause before the first repetition; each further one doubles it, up to the bound.
const BACKOFF: Duration = Duration::from_millis(100);
const LONGEST_BACKOFF: Duration = Duration::from_secs(2);
/// What a client is told to wait while another's probe is under way.
const PROBE_RETRY_AFTER: Duration = Duration::from_secs(1);

/// What came of a request, and of each try.
#[derive(Debug)]
pub struct AttemptReport<H, E> {
    /// The answer, or why there is none.
    pub outcome: Result<AttemptAnswer<H>, AttemptError<E>>,
    /// Every try, in order; for the receipt and the log.
    pub tries: Vec<Try>,
}

/// An answer: its head, and a body that streams.
#[derive(Debug)]
pub struct AttemptAnswer<H> {
    /// Which candidate it came from: an index into the candidates.
    pub candidate: usize,
    /// What the caller's request builder made beside this candidate's request.
    pub made: H,
    /// The answer as it came.
    pub response: Response<Body>,
}

/// Why nobody answered. `E` is what the caller's own request builder may fail with.
#[derive(Debug)]
pub enum AttemptError<E> {
    /// The request could not be put into the last candidate's words.
    Request(E),
    /// The last candidate gave no answer.
    Backend(BackendError),
}

/// Why a backend gave no answer.
#[derive(Debug, Error)]
pub enum BackendError {
    /// It could not be reached, or did not answer.
    #[error("backend `{backend}`: {error}")]
    Failed {
        /// The backend's name.
        backend: String,
        /// What happened.
        #[source]
        error: SendError,
    },
    /// It has failed so often that it was not asked.
    #[error("backend `{backend}` keeps failing and is left alone for now; ask again in {} s", retry_after.as_secs())]
    CircuitOpen {
        /// The backend's name.
        backend: String,
        /// When to ask again, in whole seconds, at least one.
        retry_after: Duration,
    },
    /// There was no candidate.
    #[error("no backend was there to be asked")]
    NoCandidate,
}

impl BackendError {
    /// How a client is told.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            BackendError::Failed { error, .. } => error.kind(),
            BackendError::CircuitOpen { .. } | BackendError::NoCandidate => ErrorKind::NoBackend,
        }
    }

    /// What to put into `retry-after`, where the time is known.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            BackendError::CircuitOpen { retry_after, .. } => Some(*retry_after),
            _ => None,
        }
    }
}

fn happened(sent: &Result<Response<Body>, SendError>) -> TryOutcome {
    match sent {
        Ok(response) => TryOutcome::Answered(response.status().as_u16()),
        Err(SendError::Url { .. }) => TryOutcome::NotSent,
        Err(SendError::Connect { .. }) => TryOutcome::NotConnected,
        Err(SendError::Broken { .. } | SendError::BrokenOff { .. }) => TryOutcome::Broken,
        Err(SendError::FirstByte { .. } | SendError::Idle { .. }) => TryOutcome::TimedOut,
    }
}

/// Whether it says that the backend is not well. A refusal for this client, 429 included, is the answer of a healthy one.
fn counts_against_the_backend(happened: TryOutcome) -> bool {
    match happened {
        TryOutcome::Answered(status) => matches!(status, 500 | 502 | 503 | 504 | 529),
        TryOutcome::NotConnected | TryOutcome::Broken | TryOutcome::TimedOut => true,
        TryOutcome::CircuitOpen | TryOutcome::NotSent => false,
    }
}

/// Whether another backend would say the same: then it is the client's.
fn is_final(status: StatusCode) -> bool {
    !matches!(status.as_u16(), 429 | 500 | 502 | 503 | 504 | 529)
}

/// Whether the same backend may be asked again in a moment. One that says when to come back means it.
fn may_be_asked_again(sent: &Result<Response<Body>, SendError>) -> bool {
    match sent {
        Ok(response) => matches!(response.status().as_u16(), 502..=504) && !says_when_to_come_back(response.headers()),
        Err(error) => error.is_retryable(),
    }
}

fn says_when_to_come_back(headers: &HeaderMap) -> bool {
    headers.contains_key("retry-after")
        || headers.contains_key("retry-after-ms")
        || headers.get("x-should-retry").is_some_and(|value| value == "false")
}

/// The pause before a repetition; `jitter` from 0 to 1 keeps clients that failed together from coming back together.
fn backoff(repetition: u32, jitter: f64) -> Duration {
    let longest = BACKOFF
        .saturating_mul(1_u32.checked_shl(repetition).unwrap_or(u32::MAX))
        .min(LONGEST_BACKOFF);
    longest.mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0)
}

/// Sends a request to the first candidate that answers. `request` makes what a candidate gets (path, headers with its
/// credentials, body in its format) and what the caller wants to know about it afterwards; it is asked once for each
/// candidate, and where it fails the next one has its turn.
///
/// Returns with the answer's head. Dropping the future cancels the request.
pub async fn attempt<H, E, F: Future<Output = Result<(Outgoing, H), E>>>(
    transport: &Transport,
    candidates: &[Candidate],
    mut request: impl FnMut(&Candidate) -> F,
) -> AttemptReport<H, E> {
    let mut tries = Vec::new();
    let mut answered = None;
    let mut unanswered = AttemptError::Backend(BackendError::NoCandidate);
    for (index, candidate) in candidates.iter().enumerate() {
        let (outgoing, made) = match request(candidate).await {
            Ok(made) => made,
            Err(error) => {
                note(&mut tries, candidate, TryOutcome::NotSent, Instant::now());
                unanswered = AttemptError::Request(error);
                continue;
            }
        };
        match ask(transport, candidate, outgoing, &mut tries).await {
            Ok(response) => {
                let is_final = is_final(response.status());
                answered = Some(AttemptAnswer {
                    candidate: index,
                    made,
                    response,
                });
                if is_final {
                    break;
                }
            }
            Err(error) => unanswered = AttemptError::Backend(error),
        }
    }
    AttemptReport {
        outcome: answered.ok_or(unanswered),
        tries,
    }
}

/// Asks one backend, as often as it may be asked. For its circuit that is one request, however often it was repeated.
async fn ask(
    transport: &Transport,
    candidate: &Candidate,
    outgoing: Outgoing,
    tries: &mut Vec<Try>,
) -> Result<Response<Body>, BackendError> {
    let backend = &candidate.backend;
    let asked = Instant::now();
    let permit = backend.circuit.admit(asked).await.map_err(|refused| {
        note(tries, candidate, TryOutcome::CircuitOpen, asked);
        left_alone(candidate, refused)
    })?;
    let mut repetition = 0;
    let (sent, happened) = loop {
        let started = Instant::now();
        let sent = transport.send(backend, outgoing.clone()).await;
        let happened = happened(&sent);
        note(tries, candidate, happened, started);
        if repetition >= backend.retries || !may_be_asked_again(&sent) {
            break (sent, happened);
        }
        drop(sent);
        tokio::time::sleep(backoff(repetition, fastrand::f64())).await;
        repetition += 1;
    };
    if counts_against_the_backend(happened) {
        permit.fail();
    } else if happened != TryOutcome::NotSent {
        permit.succeed();
    }
    sent.map_err(|error| BackendError::Failed {
        backend: backend.name.clone(),
        error,
    })
}

fn left_alone(candidate: &Candidate, refused: CircuitOpen) -> BackendError {
    let wait = refused.retry_after.max(PROBE_RETRY_AFTER);
    let whole = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    BackendError::CircuitOpen {
        backend: candidate.backend.name.clone(),
        retry_after: Duration::from_secs(whole),
    }
}

fn note(tries: &mut Vec<Try>, candidate: &Candidate, happened: TryOutcome, started: Instant) {
    let ms = (started.elapsed().as_secs_f64() * 1e4).round() / 10.0;
    let backend = candidate.backend.name.clone();
    if counts_against_the_backend(happened) || matches!(happened, TryOutcome::CircuitOpen | TryOutcome::NotSent) {
        tracing::info!(%backend, %happened, ms, "a backend did not answer");
    }
    tries.push(Try { backend, happened, ms });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, headers: &[(&'static str, &str)]) -> Result<Response<Body>, SendError> {
        let mut response = Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        Ok(response.body(Body::empty()).unwrap())
    }

    fn failures() -> [SendError; 3] {
        let (authority, reason) = ("h:1".to_owned(), "r".to_owned());
        let after = Duration::from_secs(1);
        [
            SendError::Connect {
                authority: authority.clone(),
                reason: reason.clone(),
            },
            SendError::Broken {
                authority: authority.clone(),
                reason,
            },
            SendError::FirstByte { authority, after },
        ]
    }

    /// What a try leads to: final, whether the same backend is asked again, whether it counts against it.
    fn judged(sent: Result<Response<Body>, SendError>) -> (bool, bool, bool) {
        let is_final = sent.as_ref().is_ok_and(|response| is_final(response.status()));
        (
            is_final,
            may_be_asked_again(&sent),
            counts_against_the_backend(happened(&sent)),
        )
    }

    #[test]
    fn every_answer_and_every_failure_is_judged() {
        for status in [200, 206, 302, 400, 401, 403, 404, 408, 413, 422, 501] {
            assert_eq!(judged(answer(status, &[])), (true, false, false), "{status}");
        }
        assert_eq!(judged(answer(429, &[])), (false, false, false));
        for status in [500, 529] {
            assert_eq!(judged(answer(status, &[])), (false, false, true), "{status}");
        }
        for status in [502, 503, 504] {
            assert_eq!(judged(answer(status, &[])), (false, true, true), "{status}");
            for header in [
                ("retry-after", "1"),
                ("retry-after-ms", "10"),
                ("x-should-retry", "false"),
            ] {
                assert_eq!(
                    judged(answer(status, &[header])),
                    (false, false, true),
                    "{status} {header:?}"
                );
            }
            assert_eq!(
                judged(answer(status, &[("x-should-retry", "true")])),
                (false, true, true)
            );
        }
        let [connect, broken, first_byte] = failures();
        assert_eq!(judged(Err(connect)), (false, true, true));
        assert_eq!(judged(Err(broken)), (false, true, true));
        assert_eq!(judged(Err(first_byte)), (false, false, true));
    }

    #[test]
    fn pauses_grow_are_spread_and_end() {
        for (repetition, jitter, ms) in [
            (0, 0.0, 50),
            (0, 1.0, 100),
            (1, 1.0, 200),
            (2, 0.0, 200),
            (40, 1.0, 2_000),
        ] {
            assert_eq!(
                backoff(repetition, jitter),
                Duration::from_millis(ms),
                "{repetition} {jitter}"
            );
        }
    }
}
