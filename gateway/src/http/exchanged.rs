//! What came of a request that was sent, and how it goes on to the client.

use std::sync::Arc;

use axum::body::Body;
use futures_util::future::FutureExt;
use http::{Response, response};

use super::Shared;
use super::answer_body::{AnswerBody, Source, failure_event};
use super::exchange::{LONGEST_ANSWER, broken_off, is_encoded, panicked, unreadable};
use super::headers::is_events;
use crate::backend::CONTEXT_MODEL;
use crate::store::Try;
use crate::wire::convert::answer::Usage;
use crate::wire::convert::request::Dropped;
use crate::wire::convert::{AnswerContext, AnswerConverter};
use crate::wire::failure;
use crate::wire::{UsageWatch, WireFormat};

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
    pub(super) fn into_events(self, shared: &Arc<Shared>, format: WireFormat, context: AnswerContext) -> Source {
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
        let shared = Arc::clone(shared);
        let collected = async move {
            let events = |text: String, usage| Source::Ready { text, usage };
            let failed = |failure| events(failure_event(format, failure), Usage::default());
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
                Ok((converter.whole_as_stream(&text), converter.usage()))
            };
            match shared.large.run(length, work).await {
                Ok(Ok((text, usage))) => events(text, usage),
                Ok(Err(failure)) => failed(failure),
                Err(error) => failed(panicked(&error)),
            }
        };
        Source::Waiting(collected.boxed())
    }
}

pub(super) fn whole(response: Response<Body>) -> (response::Parts, Source) {
    let (head, body) = response.into_parts();
    (
        head,
        Source::Untouched {
            body,
            watch: UsageWatch::default(),
        },
    )
}
