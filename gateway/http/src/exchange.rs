//! Sending one request to a backend and reading its answer. The bytes pass unchanged if the backend speaks the client's
//! format, and are converted otherwise.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use http::request::Parts;
use http::{HeaderMap, HeaderName, Method, Response, StatusCode, Version, header, response};
use http_body_util::BodyExt;
use muninn_backend::{AttemptError, AttemptReport, Candidate, Conversation, Outgoing, apply_credentials, attempt};
use muninn_ledger::Try;
use muninn_wire::convert::request::Dropped;
use muninn_wire::convert::{
    self, AnswerContext, AnswerConverter, BodyForm, Opening, Reframer, completed_response, without_end,
};
use muninn_wire::error::{ErrorKind, Failure};
use muninn_wire::overflow::Overflow;
use muninn_wire::{Aligner, CacheLife, EndWatch, Insertion, Text, UsageWatch, WireFormat, failure, splice};

use super::answer_body::Source;
use super::answer_end::AnswerEnd;
use super::exchange_result::{
    AnsweredBy, ExchangeResult, LONGEST_ANSWER, bad_gateway, broken_off, is_encoded, panicked, unchanged, unreadable,
};
use super::headers::{self, is_events, is_framed, is_json};
use super::{Worker, coding, reply};

/// The header in which OpenAI names the model that answers.
const MODEL: HeaderName = HeaderName::from_static("openai-model");
/// The most bytes that are read of a backend's error.
const LONGEST_ERROR: usize = 1 << 20;

/// A request with the backends that it may be sent to.
pub(super) struct Exchange {
    /// The worker with its connections to backends.
    pub worker: Worker,
    /// The client's request head.
    pub parts: Arc<Parts>,
    /// The client's wire format.
    pub format: WireFormat,
    /// The client's body.
    pub body: Bytes,
    /// The insertions into the body.
    pub insertions: Vec<Insertion>,
    /// The byte range of the model's name in the body.
    pub model: Option<std::ops::Range<usize>>,
    /// Whether the client asked for a stream.
    pub streamed: bool,
    /// The request's id.
    pub id: String,
    /// Whether usage, events and errors of the answer are read. If so, the request asks for an answer without content
    /// coding, and an encoded one is decoded. Other answers, such as files, stay encoded.
    pub reads: bool,
    /// Whether a model answers. The form of its answer is judged by its first bytes.
    pub is_conversation: bool,
    /// The backends that it may be sent to, first choice first.
    pub candidates: Vec<Candidate>,
    /// The conversation, which stays where it is answered, and how long its prompt is cached there.
    pub conversation: Option<(Conversation, CacheLife)>,
}

/// What a conversion dropped, and the context for converting the answer back; `None` without conversion.
type Conversion = Option<(Dropped, AnswerContext)>;

impl Exchange {
    /// Sends the request and waits for the head of an answer. Dropping the future also cancels the backend's request.
    pub(super) async fn run(self) -> ExchangeResult {
        let attempted = attempt(&self.worker.transport, &self.candidates, |candidate| self.outgoing(candidate));
        let AttemptReport { outcome, tries } = attempted.await;
        let answered = match outcome {
            Ok(answered) => answered,
            Err(unanswered) => return self.unanswered(unanswered, tries),
        };
        let candidate = &self.candidates[answered.candidate];
        let (dropped, context) = answered.context.unzip();
        let (head, source) = self.answer(candidate, context, answered.response, answered.opening).await;
        if let Some((conversation, life)) = &self.conversation
            && head.status.is_success()
        {
            conversation.keep(&candidate.backend, *life, Instant::now());
        }
        ExchangeResult {
            head,
            source,
            by: Some(AnsweredBy {
                backend: candidate.backend.name.clone(),
                spoken: candidate.format,
                key: candidate.backend.key_number,
                is_first: answered.candidate == 0,
                under_way: Some(answered.under_way),
            }),
            dropped: dropped.unwrap_or_default(),
            tries,
        }
    }

    fn unanswered(&self, unanswered: AttemptError<Failure>, tries: Vec<Try>) -> ExchangeResult {
        let (failure, retry_after) = match unanswered {
            AttemptError::Request(failure) => (failure, None),
            AttemptError::Backend(error) => {
                let failure = Failure { kind: error.kind(), message: error.to_string() };
                (failure, error.retry_after())
            }
        };
        let mut response = self.failed(failure.kind.status_in(self.format), &failure);
        if let Some(wait) = retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, wait.as_secs().into());
        }
        let (head, source) = unchanged(response);
        ExchangeResult { head, source, by: None, dropped: Dropped::default(), tries }
    }

    /// The request for one candidate.
    fn outgoing(
        &self,
        candidate: &Candidate,
    ) -> impl Future<Output = Result<(Outgoing, Conversion), Failure>> + Send + use<> {
        let mut insertions = self.insertions.clone();
        if let (Some(name), Some(span)) = (&candidate.rename, &self.model) {
            insertions.push(Insertion {
                at: span.start,
                bytes: serde_json::Value::from(name.as_str()).to_string(),
                replaces: span.len(),
            });
        }
        let headers = self.headers_for(candidate);
        let (format, spoken) = (self.format, candidate.format);
        let (body, length, asked) = (self.body.clone(), self.body.len(), self.answer_context());
        // A route may rename the model; the answer names the model that the client asked for.
        let model = self.model.as_ref().map(|_| asked.model);
        let native = self.parts.uri.path_and_query();
        let (method, path) = if format == spoken {
            (self.parts.method.clone(), native.map_or("/", |path| path.as_str()).to_owned())
        } else {
            (Method::POST, spoken.path().to_owned())
        };
        let is_unchanged = format == spoken && insertions.is_empty();
        let is_judged = self.is_conversation;
        let shared = Arc::clone(&self.worker.shared);
        async move {
            let work = async move {
                let body = splice(body, insertions);
                if format == spoken {
                    return Ok((body, None));
                }
                let converted = convert_request(format, spoken, &body)?;
                Ok((Bytes::from(converted.body), Some((converted.dropped, converted.context))))
            };
            let bytes = if is_unchanged { 0 } else { length };
            let request = shared.large.run(bytes, work).await;
            let (mut body, how) = request.unwrap_or_else(|error| Err(panicked(&error)))?;
            if !is_unchanged {
                body = shared.body_memory.hold(body);
            }
            let how = how.map(|(dropped, context)| {
                let model = model.unwrap_or(context.model);
                let context = AnswerContext { id: asked.id, created: asked.created, model, ..context };
                (dropped, context)
            });
            let outgoing = Outgoing { method, path, headers, body, is_judged };
            Ok((outgoing, how))
        }
    }

    /// The request's headers for one candidate.
    fn headers_for(&self, candidate: &Candidate) -> HeaderMap {
        let mut headers = headers::for_backend(&self.parts.headers);
        let is_native = candidate.format == self.format;
        if !is_native {
            headers::for_other_format(&mut headers, candidate.format);
        }
        if self.reads || !is_native {
            headers::ask_for_identity(&mut headers);
        }
        apply_credentials(&mut headers, &candidate.backend, candidate.format);
        headers
    }

    /// The id, time and model of an answer that the gateway writes.
    pub(super) fn answer_context(&self) -> AnswerContext {
        let model = self.model.clone().and_then(|span| Text::of(std::str::from_utf8(self.body.get(span)?).ok()?));
        AnswerContext {
            id: self.id.clone(),
            created: jiff::Timestamp::now().as_second(),
            model: model.map(|model| model.decode().into_owned()).unwrap_or_default(),
            ..AnswerContext::default()
        }
    }

    /// Turns a backend's answer into the client's. `context` is present if the request was converted. An answer in another form
    /// than the client asked for is written anew, by a conversion from the client's format to itself.
    async fn answer(
        &self,
        candidate: &Candidate,
        context: Option<AnswerContext>,
        response: Response<Body>,
        opening: Opening,
    ) -> (response::Parts, Source) {
        let (mut head, mut body) = response.into_parts();
        let framed = is_framed(&head);
        // The version is that of the backend's connection. The client's has its own.
        head.version = Version::HTTP_11;
        headers::for_client(&mut head.headers);
        // Codex takes another model than it asked for as a sign of a flagged account.
        if candidate.rename.is_some() {
            head.headers.remove(MODEL);
        }
        let mut is_decoded = false;
        if self.reads || context.is_some() {
            let was_encoded = is_encoded(&head.headers);
            body = coding::decode_answer(&mut head.headers, body);
            is_decoded = was_encoded && !is_encoded(&head.headers);
        }
        if !head.status.is_success() {
            return self.error(candidate, context.is_some(), head, body).await;
        }
        let is_as_asked = match opening.form {
            BodyForm::Unknown => true,
            BodyForm::LooseEvents | BodyForm::JsonWithEnd => false,
            form => form.is_stream() == self.streamed,
        };
        let is_passed_on = context.is_none() && is_as_asked;
        if let Some(failure) = opening.failure.filter(|_| !is_passed_on || opening.form == BodyForm::Unknown) {
            return unchanged(self.refused(candidate, failure));
        }
        if is_passed_on {
            return self.as_asked(head, body, opening.form, framed, is_decoded).await;
        }
        if is_encoded(&head.headers) {
            return unchanged(self.failed(StatusCode::BAD_GATEWAY, &unreadable(&head.headers)));
        }
        let context = match context {
            Some(context) => context,
            None if self.streamed && opening.form == BodyForm::LooseEvents => {
                headers::for_converted(&mut head.headers);
                // Lines of JSON have no last event, which is then written.
                return self.as_asked(head, reframed(self.format, body), BodyForm::Events, false, is_decoded).await;
            }
            None if !self.streamed => match self.own_whole(&mut head, &mut body, opening.form).await {
                Ok(Some(source)) => return (head, source),
                Ok(None) => self.own_context(),
                Err(failure) => return unchanged(self.failed(StatusCode::BAD_GATEWAY, &failure)),
            },
            None => self.own_context(),
        };
        let converter = Box::new(AnswerConverter::new(candidate.format, self.format, context));
        let is_stream = match opening.form {
            BodyForm::Unknown => self.streamed && !is_json(&head.headers),
            form => form.is_stream(),
        };
        headers::for_converted(&mut head.headers);
        // A converted answer always has a body, which a 204 must not have.
        head.status = StatusCode::OK;
        if self.streamed && is_stream {
            head.headers.insert(header::CONTENT_TYPE, reply::EVENT_STREAM);
            head.headers.insert(header::CACHE_CONTROL, reply::NO_CACHE);
            let source = Source::Converted { body, converter, silent_bytes: 0 };
            return (head, source);
        }
        self.convert_whole(head, body, is_stream, converter).await
    }

    /// The context of an answer that is written anew in the client's format.
    fn own_context(&self) -> AnswerContext {
        let AnswerContext { id, created, model, .. } = self.answer_context();
        let body = std::str::from_utf8(&self.body).unwrap_or_default();
        AnswerContext { id, created, model, ..convert::own_context(self.format, body) }
    }

    /// Reads a whole answer whose form alone is wrong, and takes it as the backend wrote it; `None` if it has to be written anew.
    /// `body` then has what was read.
    async fn own_whole(
        &self,
        head: &mut response::Parts,
        body: &mut Body,
        form: BodyForm,
    ) -> Result<Option<Source>, Failure> {
        let read = axum::body::to_bytes(std::mem::take(body), LONGEST_ANSWER).await;
        let bytes = read.map_err(|error| broken_off(&error))?;
        let whole = match form {
            BodyForm::JsonWithEnd => std::str::from_utf8(&bytes).ok().map(|text| without_end(text).to_owned()),
            _ if self.format == WireFormat::Responses => completed_response(&bytes),
            _ => None,
        };
        let Some(whole) = whole else {
            *body = Body::from(bytes);
            return Ok(None);
        };
        headers::for_converted(&mut head.headers);
        head.headers.insert(header::CONTENT_TYPE, reply::JSON);
        Ok(Some(Source::Untouched { body: Body::from(whole), watch: UsageWatch::default() }))
    }

    /// The error with which a backend answered under a status of success.
    fn refused(&self, candidate: &Candidate, mut failure: Failure) -> Response<Body> {
        if let Some(overflow) = Overflow::parse(&failure.message) {
            failure.kind = ErrorKind::ContextOverflow;
            failure.message = overflow.message(self.format, candidate.backend.context_window);
        }
        self.failed(failure.kind.status_in(self.format), &failure)
    }

    /// An answer in the client's format and in the form that it asked for.
    async fn as_asked(
        &self,
        mut head: response::Parts,
        mut body: Body,
        form: BodyForm,
        is_framed: bool,
        is_decoded: bool,
    ) -> (response::Parts, Source) {
        let is_stream = form == BodyForm::Events || form == BodyForm::Unknown && is_events(&head.headers);
        if is_stream && !is_encoded(&head.headers) {
            // Keep-alives and error events may be added.
            head.headers.remove(header::CONTENT_LENGTH);
            if !is_events(&head.headers) {
                head.headers.insert(header::CONTENT_TYPE, reply::EVENT_STREAM);
            }
            let source = Source::Events {
                body,
                aligner: Aligner::default(),
                ending: EndWatch::new(self.format),
                framed: is_framed,
                watch: UsageWatch::default(),
                silent_bytes: 0,
            };
            return (head, source);
        }
        if is_decoded {
            match read_ahead(body).await {
                Ok(read) => body = read,
                Err(error) => return unchanged(self.failed(StatusCode::BAD_GATEWAY, &broken_off(&error))),
            }
        }
        if form == BodyForm::Json && is_events(&head.headers) {
            head.headers.insert(header::CONTENT_TYPE, reply::JSON);
        }
        (head, Source::Untouched { body, watch: UsageWatch::default() })
    }

    async fn convert_whole(
        &self,
        mut head: response::Parts,
        body: Body,
        is_stream: bool,
        mut converter: Box<AnswerConverter>,
    ) -> (response::Parts, Source) {
        let failed = |failure: &Failure| unchanged(self.failed(StatusCode::BAD_GATEWAY, failure));
        let bytes = match axum::body::to_bytes(body, LONGEST_ANSWER).await {
            Ok(bytes) => bytes,
            Err(error) => return failed(&broken_off(&error)),
        };
        let (streamed, length) = (self.streamed, bytes.len());
        let work = async move {
            if is_stream {
                let text = converter.stream_as_whole(&bytes)?;
                return Ok((text, AnswerEnd::of(&converter)));
            }
            let Ok(text) = std::str::from_utf8(&bytes) else {
                return Err(bad_gateway("the backend's answer is not UTF-8".to_owned()));
            };
            let text = without_end(text);
            let text = if streamed { converter.whole_as_stream(text) } else { converter.whole(text)? };
            Ok((text, AnswerEnd::of(&converter)))
        };
        let converted = self.worker.shared.large.run(length, work).await;
        match converted.unwrap_or_else(|error| Err(panicked(&error))) {
            Ok((text, end)) => {
                let kind = if streamed { reply::EVENT_STREAM } else { reply::JSON };
                head.headers.insert(header::CONTENT_TYPE, kind);
                if streamed {
                    head.headers.insert(header::CACHE_CONTROL, reply::NO_CACHE);
                }
                (head, Source::Ready { text, end })
            }
            Err(failure) => failed(&failure),
        }
    }

    /// Turns a backend's error into the client's. An error in the client's own format is passed through, unless it says
    /// in other words than the format's vendor that the prompt is too long: it is then written in the form that makes clients
    /// compact. A redirect of a conversation is an error: a client that follows it would show its key to another host.
    async fn error(
        &self,
        candidate: &Candidate,
        converted: bool,
        mut head: response::Parts,
        body: Body,
    ) -> (response::Parts, Source) {
        let is_error = head.status.is_client_error() || head.status.is_server_error();
        let is_passed_on = !converted && (is_error || !self.is_conversation);
        if is_encoded(&head.headers) && is_passed_on {
            return (head, Source::Untouched { body, watch: UsageWatch::default() });
        }
        let is_readable = !is_encoded(&head.headers);
        let read = axum::body::to_bytes(body, LONGEST_ERROR).await;
        let (is_whole, bytes) = (read.is_ok(), read.unwrap_or_default());
        let text = String::from_utf8_lossy(if is_readable { &bytes } else { b"" });
        let overflow = head.status.is_client_error().then(|| Overflow::parse(&text)).flatten();
        let is_understood = head.status == StatusCode::BAD_REQUEST && Overflow::is_in_words_of(self.format, &text);
        if is_passed_on && is_whole && (overflow.is_none() || is_understood) {
            let text = Source::Untouched { body: Body::from(bytes), watch: UsageWatch::default() };
            return (head, text);
        }
        let mut failure = failure::read(head.status, &text);
        let mut status = if is_error {
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
        if failure.kind == ErrorKind::Billing {
            status = failure.kind.status_in(self.format);
        }
        // The backend's headers are kept: they say whether and when to retry.
        let mut response = self.failed(status, &failure);
        headers::for_converted(&mut head.headers);
        let mut fresh = std::mem::take(response.headers_mut());
        if head.headers.contains_key(reply::SHOULD_RETRY) {
            fresh.remove(reply::SHOULD_RETRY);
        }
        *response.headers_mut() = head.headers;
        response.headers_mut().extend(fresh);
        unchanged(response)
    }

    fn failed(&self, status: StatusCode, failure: &Failure) -> Response<Body> {
        let id = (!self.id.is_empty()).then_some(&*self.id);
        reply::error_with(status, self.format, failure.kind, &failure.message, id)
    }
}

/// A stream whose events are written as clients read them.
fn reframed(format: WireFormat, body: Body) -> Body {
    let state = (body.into_data_stream(), Reframer::new(format), false);
    Body::from_stream(stream::unfold(state, async |(mut events, mut reframer, is_over)| {
        if is_over {
            return None;
        }
        let next = events.next().await;
        let is_last = !matches!(next, Some(Ok(_)));
        let written = match next {
            Some(Ok(bytes)) => reframer.push(&bytes).map_err(axum::Error::new),
            Some(Err(error)) => Err(error),
            None => reframer.end().map_err(axum::Error::new),
        };
        let is_over = is_last || written.is_err();
        Some((written.map(Bytes::from), (events, reframer, is_over)))
    }))
}

fn convert_request(from: WireFormat, to: WireFormat, body: &[u8]) -> Result<convert::Converted, Failure> {
    let invalid = |message: String| Failure { kind: ErrorKind::InvalidRequest, message };
    let text = std::str::from_utf8(body).map_err(|error| invalid(error.to_string()))?;
    convert::request(from, to, text).map_err(|error| invalid(error.to_string()))
}

/// Reads up to 1 MiB of a decoded answer, in most cases all of it: corrupt data there still becomes an error status.
async fn read_ahead(mut body: Body) -> Result<Body, axum::Error> {
    let (mut chunks, mut length) = (Vec::new(), 0);
    while length < LONGEST_ERROR {
        match body.frame().await {
            Some(Ok(frame)) => {
                let data = frame.into_data().unwrap_or_default();
                length += data.len();
                chunks.push(data);
            }
            Some(Err(error)) => return Err(error),
            None => return Ok(Body::from(chunks.concat())),
        }
    }
    let read = stream::iter(chunks.into_iter().map(Ok));
    Ok(Body::from_stream(read.chain(body.into_data_stream())))
}
