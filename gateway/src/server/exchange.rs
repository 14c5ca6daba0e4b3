//! One request on its way to a backend, and what came back: the same bytes where the backend speaks the client's format,
//! converted ones where it does not.

use axum::body::Body;
use bytes::Bytes;
use futures_util::future::FutureExt;
use http::request::Parts;
use http::{HeaderMap, Method, Response, StatusCode, Version, header, response};

use super::answer_body::{AnswerBody, Source, failure_event};
use super::{App, headers, reply};
use crate::backend::{Attempted, CONTEXT_MODEL, Candidate, Outgoing, Try, Unanswered, apply_credentials, attempt};
use crate::inject::splice;
use crate::wire::convert::answer::Usage;
use crate::wire::convert::request::Dropped;
use crate::wire::convert::{self, AnswerContext, AnswerConverter};
use crate::wire::error::{self, ErrorKind, Failure};
use crate::wire::failure;
use crate::wire::overflow::overflow;
use crate::wire::{Aligner, Ending, Insertion, Text, UsageWatch, WireFormat};

/// A backend's error is read this far; more of it is no message.
const LONGEST_ERROR: usize = 1 << 20;
/// A whole answer is converted in memory. None comes near this.
const LONGEST_ANSWER: usize = 64 << 20;

/// A request that is ready to go, to any of its candidates.
pub(super) struct Exchange {
    /// This worker's connections, and what all share.
    pub app: App,
    /// The client's head.
    pub parts: Parts,
    /// The client's wire format.
    pub format: WireFormat,
    /// The client's body.
    pub body: Bytes,
    /// What is put into it.
    pub insertions: Vec<Insertion>,
    /// Where the model's name stands in it.
    pub model: Option<std::ops::Range<usize>>,
    /// Whether the client asked for a stream.
    pub streamed: bool,
    /// The request's id.
    pub id: String,
    /// Where it may go, first choice first.
    pub candidates: Vec<Candidate>,
}

/// What became of it.
pub(super) struct Exchanged {
    /// The answer's head.
    pub head: response::Parts,
    /// The answer's body.
    pub source: Source,
    /// Who answered, and in which format; absent where nobody did.
    pub by: Option<(String, WireFormat)>,
    /// What a conversion had to leave out.
    pub dropped: Dropped,
    /// What was tried before, and how it went.
    pub tries: Vec<Try>,
}

impl Exchange {
    /// Sends it and waits for the head of an answer. Dropping the future cancels it at the backend too.
    pub(super) async fn run(self) -> Exchanged {
        // One for each candidate that was asked: the answer that counts need not be the last one's.
        let mut converted = Vec::new();
        let Attempted { outcome, tries } = attempt(&self.app.transport, &self.candidates, |candidate| {
            let made = self.outgoing(candidate);
            let (outgoing, how) =
                made.map_or_else(|failure| (Err(failure), None), |(outgoing, how)| (Ok(outgoing), how));
            converted.push(how);
            outgoing
        })
        .await;
        let answered = match outcome {
            Ok(answered) => answered,
            Err(unanswered) => return self.unanswered(unanswered, tries),
        };
        let candidate = &self.candidates[answered.candidate];
        let (dropped, context) = converted.swap_remove(answered.candidate).unzip();
        let (head, source) = self.answer(candidate, context, answered.response).await;
        Exchanged {
            head,
            source,
            by: Some((candidate.backend.name.clone(), candidate.format)),
            dropped: dropped.unwrap_or_default(),
            tries,
        }
    }

    fn unanswered(&self, unanswered: Unanswered<Failure>, tries: Vec<Try>) -> Exchanged {
        let (failure, retry_after) = match unanswered {
            Unanswered::Request(failure) => (failure, None),
            Unanswered::Backend(error) => {
                let failure = Failure {
                    kind: error.kind(),
                    message: error.to_string(),
                };
                (failure, error.retry_after())
            }
        };
        let mut response = self.failed(failure.kind.status(), &failure);
        if let Some(wait) = retry_after {
            response
                .headers_mut()
                .insert(header::RETRY_AFTER, wait.as_secs().into());
        }
        let (head, source) = whole(response);
        Exchanged {
            head,
            source,
            by: None,
            dropped: Dropped::default(),
            tries,
        }
    }

    /// The request as one candidate gets it.
    fn outgoing(&self, candidate: &Candidate) -> Result<(Outgoing, Option<(Dropped, AnswerContext)>), Failure> {
        let mut insertions = self.insertions.clone();
        if let (Some(name), Some(span)) = (&candidate.rename, &self.model) {
            insertions.push(Insertion {
                at: span.start,
                bytes: serde_json::Value::from(name.as_str()).to_string(),
                replaces: span.len(),
            });
        }
        let body = splice(self.body.clone(), insertions);
        let mut headers = headers::for_backend(&self.parts.headers);
        let native = candidate.format == self.format;
        if !native {
            headers::for_other_format(&mut headers, candidate.format);
        }
        apply_credentials(&mut headers, &candidate.backend, candidate.format);
        if native {
            let path = self
                .parts
                .uri
                .path_and_query()
                .map_or("/", http::uri::PathAndQuery::as_str);
            return Ok((
                Outgoing {
                    method: self.parts.method.clone(),
                    path: path.to_owned(),
                    headers,
                    body,
                },
                None,
            ));
        }
        let invalid = |message: String| Failure {
            kind: ErrorKind::InvalidRequest,
            message,
        };
        let text = std::str::from_utf8(&body).map_err(|error| invalid(error.to_string()))?;
        let converted =
            convert::request(self.format, candidate.format, text).map_err(|error| invalid(error.to_string()))?;
        let asked = self.answer_context();
        let context = AnswerContext {
            id: asked.id,
            created: asked.created,
            // A route may have renamed the model; the answer names the one that was asked for.
            model: self.model.as_ref().map_or(converted.context.model, |_| asked.model),
            ..converted.context
        };
        let outgoing = Outgoing {
            method: Method::POST,
            path: candidate.format.path().to_owned(),
            headers,
            body: Bytes::from(converted.body),
        };
        Ok((outgoing, Some((converted.dropped, context))))
    }

    /// What an answer that is made here says of itself.
    pub(super) fn answer_context(&self) -> AnswerContext {
        let model = self
            .model
            .clone()
            .and_then(|span| Text::of(std::str::from_utf8(self.body.get(span)?).ok()?));
        AnswerContext {
            id: self.id.clone(),
            created: jiff::Timestamp::now().as_second(),
            model: model.map(|model| model.decode().into_owned()).unwrap_or_default(),
            ..AnswerContext::default()
        }
    }

    /// From a backend's answer to the client's. `context` is there where the request was converted.
    async fn answer(
        &self,
        candidate: &Candidate,
        context: Option<AnswerContext>,
        response: Response<Body>,
    ) -> (response::Parts, Source) {
        let (mut head, body) = response.into_parts();
        let framed = is_framed(&head);
        headers::for_client(&mut head.headers);
        if !head.status.is_success() {
            return self.error(candidate, context.is_some(), head, body).await;
        }
        let Some(context) = context else {
            let watch = UsageWatch::default();
            let source = if is_events(&head.headers) && !is_encoded(&head.headers) {
                // More may be said in it than the backend says.
                head.headers.remove(header::CONTENT_LENGTH);
                Source::Events {
                    body,
                    aligner: Aligner::default(),
                    ending: Ending::new(self.format),
                    framed,
                    watch,
                }
            } else {
                Source::Untouched { body, watch }
            };
            return (head, source);
        };
        let converter = Box::new(AnswerConverter::new(candidate.format, self.format, context));
        if is_encoded(&head.headers) {
            return whole(self.failed(StatusCode::BAD_GATEWAY, &unreadable(&head.headers)));
        }
        headers::for_converted(&mut head.headers);
        // A 204 has no body, and a converted answer always has one.
        head.status = StatusCode::OK;
        if self.streamed && !is_json(&head.headers) {
            head.headers.insert(header::CONTENT_TYPE, reply::EVENT_STREAM);
            head.headers.insert(header::CACHE_CONTROL, reply::NO_CACHE);
            return (head, Source::Converted { body, converter });
        }
        self.convert_whole(head, body, converter).await
    }

    async fn convert_whole(
        &self,
        mut head: response::Parts,
        body: Body,
        mut converter: Box<AnswerConverter>,
    ) -> (response::Parts, Source) {
        let failed = |failure: &Failure| whole(self.failed(StatusCode::BAD_GATEWAY, failure));
        let broken = |message: String| Failure {
            kind: ErrorKind::BadGateway,
            message,
        };
        let bytes = match axum::body::to_bytes(body, LONGEST_ANSWER).await {
            Ok(bytes) => bytes,
            Err(error) => return failed(&broken(format!("the backend's answer broke off: {error}"))),
        };
        let Ok(text) = std::str::from_utf8(&bytes) else {
            return failed(&broken("the backend's answer is not UTF-8".to_owned()));
        };
        if self.streamed {
            let text = converter.whole_as_stream(text);
            head.headers.insert(header::CONTENT_TYPE, reply::EVENT_STREAM);
            return (
                head,
                Source::Ready {
                    text,
                    usage: converter.usage(),
                },
            );
        }
        match converter.whole(text) {
            Ok(text) => {
                head.headers.insert(header::CONTENT_TYPE, reply::JSON);
                (
                    head,
                    Source::Ready {
                        text,
                        usage: converter.usage(),
                    },
                )
            }
            Err(failure) => failed(&failure),
        }
    }

    /// A backend's error. One in the client's own format stays as it is, unless it says that the prompt is too long:
    /// that is said in the words by which clients know to compact.
    async fn error(
        &self,
        candidate: &Candidate,
        converted: bool,
        mut head: response::Parts,
        body: Body,
    ) -> (response::Parts, Source) {
        if is_encoded(&head.headers) && !converted {
            return (
                head,
                Source::Untouched {
                    body,
                    watch: UsageWatch::default(),
                },
            );
        }
        let is_readable = !is_encoded(&head.headers);
        let read = axum::body::to_bytes(body, LONGEST_ERROR).await;
        let (is_whole, bytes) = (read.is_ok(), read.unwrap_or_default());
        let text = String::from_utf8_lossy(if is_readable { &bytes } else { b"" });
        let overflow = head.status.is_client_error().then(|| overflow(&text)).flatten();
        if overflow.is_none() && !converted && is_whole {
            let text = Source::Untouched {
                body: Body::from(bytes),
                watch: UsageWatch::default(),
            };
            return (head, text);
        }
        let mut failure = failure::read(head.status, &text);
        // A redirection of the backend is none of the client's: it leads around the conversion.
        let mut status = if head.status.is_client_error() || head.status.is_server_error() {
            head.status
        } else {
            head.headers.remove(header::LOCATION);
            failure.kind = ErrorKind::BadGateway;
            StatusCode::BAD_GATEWAY
        };
        if let Some(overflow) = overflow {
            failure.kind = ErrorKind::ContextOverflow;
            failure.message = overflow.message(self.format, candidate.backend.context_window);
            status = StatusCode::BAD_REQUEST;
        }
        // What tells a client whether and when to try again travels on.
        let mut response = self.failed(status, &failure);
        headers::for_converted(&mut head.headers);
        let fresh = std::mem::take(response.headers_mut());
        *response.headers_mut() = head.headers;
        response.headers_mut().extend(fresh);
        whole(response)
    }

    fn failed(&self, status: StatusCode, failure: &Failure) -> Response<Body> {
        reply::json(status, error::body(self.format, failure.kind, &failure.message))
    }
}

impl Exchanged {
    /// An answer of our own.
    pub(super) fn of_ourselves(response: Response<Body>, format: WireFormat) -> Exchanged {
        let (head, source) = whole(response);
        let by = Some((CONTEXT_MODEL.to_owned(), format));
        Exchanged {
            head,
            source,
            by,
            dropped: Dropped::default(),
            tries: Vec::new(),
        }
    }

    /// The answer as it is, of which nothing is written down.
    pub(super) fn into_response(self, format: WireFormat) -> Response<Body> {
        let body = AnswerBody::new(self.source, format, None, std::time::Instant::now(), |_| {});
        Response::from_parts(self.head, Body::new(body))
    }

    /// Whether it is a stream of events.
    pub(super) fn is_events(&self) -> bool {
        is_events(&self.head.headers)
    }

    /// The answer as the rest of a stream whose head is sent already: an error becomes the stream's own, and a whole
    /// answer the events that it would have been. The head has said that nothing is encoded.
    pub(super) fn into_events(self, format: WireFormat, context: AnswerContext) -> Source {
        let Exchanged { head, source, .. } = self;
        if is_encoded(&head.headers) {
            let failure = match head.status.is_success() {
                true => unreadable(&head.headers),
                false => failure::read(head.status, ""),
            };
            return Source::Ready {
                text: failure_event(format, failure),
                usage: Usage::default(),
            };
        }
        if is_events(&head.headers) && head.status.is_success() {
            return source;
        }
        let body = match source {
            Source::Untouched { body, .. } => body,
            source => return source,
        };
        let collected = async move {
            let bytes = axum::body::to_bytes(body, LONGEST_ANSWER).await.unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            if !head.status.is_success() {
                let text = failure_event(format, failure::read(head.status, &text));
                return Source::Ready {
                    text,
                    usage: Usage::default(),
                };
            }
            let mut converter = AnswerConverter::new(format, format, context);
            let text = converter.whole_as_stream(&text);
            Source::Ready {
                text,
                usage: converter.usage(),
            }
        };
        Source::Waiting(collected.boxed())
    }
}

fn whole(response: Response<Body>) -> (response::Parts, Source) {
    let (head, body) = response.into_parts();
    (
        head,
        Source::Untouched {
            body,
            watch: UsageWatch::default(),
        },
    )
}

/// Whether a response says where its body ends other than by the end of its connection.
fn is_framed(head: &response::Parts) -> bool {
    head.version > Version::HTTP_11
        || head.headers.contains_key(header::CONTENT_LENGTH)
        || head.headers.contains_key(header::TRANSFER_ENCODING)
}

fn is_events(headers: &HeaderMap) -> bool {
    content_type_is(headers, "text/event-stream")
}

fn is_json(headers: &HeaderMap) -> bool {
    content_type_is(headers, "application/json")
}

fn content_type_is(headers: &HeaderMap, name: &str) -> bool {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    value.is_some_and(|value| {
        value
            .split(';')
            .next()
            .is_some_and(|kind| kind.trim().eq_ignore_ascii_case(name))
    })
}

/// An answer that would have to be read here, and cannot be.
fn unreadable(headers: &HeaderMap) -> Failure {
    let coding = headers
        .get(header::CONTENT_ENCODING)
        .and_then(|value| value.to_str().ok());
    Failure {
        kind: ErrorKind::BadGateway,
        message: format!(
            "the backend's answer is encoded ({}) and cannot be read",
            coding.unwrap_or("?")
        ),
    }
}

fn is_encoded(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_ENCODING)
        .is_some_and(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity"))
}
