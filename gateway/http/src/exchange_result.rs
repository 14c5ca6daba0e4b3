//! The result of an exchange, and its conversion to the client's response.

use std::sync::Arc;

use axum::body::Body;
use futures_util::future::FutureExt;
use http::{HeaderMap, Response, header, response};
use muninn_backend::access::Caller;
use muninn_backend::{CONTEXT_MODEL, UnderWay};
use muninn_ledger::Try;
use muninn_wire::convert::request::Dropped;
use muninn_wire::convert::{AnswerContext, AnswerConverter};
use muninn_wire::error::{ErrorKind, Failure};
use muninn_wire::{UsageWatch, WireFormat, failure};

use super::answer_body::{AnswerBody, Source, failure_event};
use super::answer_end::AnswerEnd;
use super::headers::is_events;
use super::{Shared, coding};

/// A backend that answered.
pub(super) struct AnsweredBy {
    /// Its name.
    pub backend: String,
    /// Its wire format.
    pub spoken: WireFormat,
    /// The number of the key that it was asked with, from 1, if it has several.
    pub key: Option<usize>,
    /// Whether it was the first that was asked.
    pub is_first: bool,
    /// Counts the request in the backend's load, until the answer is over.
    pub under_way: Option<UnderWay>,
}

/// The answer to a request, or the error that takes its place.
pub(super) struct ExchangeResult {
    /// The answer's head.
    pub head: response::Parts,
    /// The answer's body.
    pub source: Source,
    /// The backend that answered; `None` if none did.
    pub by: Option<AnsweredBy>,
    /// The fields that the conversion dropped.
    pub dropped: Dropped,
    /// All attempts, with their outcomes.
    pub tries: Vec<Try>,
}

impl ExchangeResult {
    /// The answer of the built-in model.
    pub(super) fn built_in(response: Response<Body>, format: WireFormat) -> ExchangeResult {
        let (head, source) = unchanged(response);
        let backend = CONTEXT_MODEL.to_owned();
        let by = Some(AnsweredBy { backend, spoken: format, key: None, is_first: true, under_way: None });
        ExchangeResult { head, source, by, dropped: Dropped::default(), tries: Vec::new() }
    }

    /// The answer as a response, without accounting.
    pub(super) fn into_response(self, format: WireFormat, caller: &Caller) -> Response<Body> {
        let body = AnswerBody::new(self.source, format, None, std::time::Instant::now(), |_| {});
        Response::from_parts(self.head, Body::new(body.for_caller(caller)))
    }

    /// Whether the answer is a stream of events.
    pub(super) fn is_events(&self) -> bool {
        is_events(&self.head.headers)
    }

    /// The answer as the rest of a stream whose response head is sent already: an error becomes an error event, and a
    /// complete answer becomes its events. The head promised a stream without content coding.
    pub(super) fn into_events(self, shared: &Arc<Shared>, format: WireFormat, context: AnswerContext) -> Source {
        let ExchangeResult { head, source, .. } = self;
        if is_encoded(&head.headers) {
            let failure =
                if head.status.is_success() { unreadable(&head.headers) } else { failure::read(head.status, "") };
            return Source::Ready { text: failure_event(format, failure), end: AnswerEnd::default() };
        }
        if is_events(&head.headers) && head.status.is_success() {
            return source;
        }
        let body = match source {
            Source::Untouched { body, .. } => body,
            source => return source,
        };
        let shared = Arc::clone(shared);
        let collected = async move {
            let events = |text: String, end| Source::Ready { text, end };
            let failed = |failure| events(failure_event(format, failure), AnswerEnd::default());
            let read = axum::body::to_bytes(body, LONGEST_ANSWER).await;
            let bytes = match read {
                Err(error) if head.status.is_success() => return failed(broken_off(&error)),
                read => read.unwrap_or_default(),
            };
            let length = bytes.len();
            let work = async move {
                let text = String::from_utf8_lossy(&bytes);
                if !head.status.is_success() {
                    return Err(failure::read(head.status, &text));
                }
                let mut converter = AnswerConverter::new(format, format, context);
                let events = converter.whole_as_stream(&text);
                Ok((events, AnswerEnd::of(&converter)))
            };
            match shared.large.run(length, work).await {
                Ok(Ok((text, end))) => events(text, end),
                Ok(Err(failure)) => failed(failure),
                Err(error) => failed(panicked(&error)),
            }
        };
        Source::Waiting(collected.boxed())
    }
}

pub(super) fn unchanged(response: Response<Body>) -> (response::Parts, Source) {
    let (head, body) = response.into_parts();
    (head, Source::Untouched { body, watch: UsageWatch::default() })
}

/// The most bytes of an answer that is converted as a whole, in memory. Real answers are far smaller.
pub(super) const LONGEST_ANSWER: usize = 64 << 20;

pub(super) fn broken_off(error: &axum::Error) -> Failure {
    bad_gateway(format!("the backend's answer broke off: {error}"))
}

pub(crate) fn bad_gateway(message: String) -> Failure {
    Failure { kind: ErrorKind::BadGateway, message }
}

pub(super) fn is_encoded(headers: &HeaderMap) -> bool {
    headers.get(header::CONTENT_ENCODING).is_some_and(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

pub(super) fn panicked(error: &tokio::task::JoinError) -> Failure {
    Failure { kind: ErrorKind::Server, message: format!("a bug in Muninn: {error}") }
}

/// The failure for an answer whose coding cannot be decoded.
pub(super) fn unreadable(headers: &HeaderMap) -> Failure {
    let coding = coding::codings(headers).err().map(|unknown| unknown.to_string()).unwrap_or_default();
    bad_gateway(format!("cannot decode the backend's answer: its coding is {coding}"))
}
