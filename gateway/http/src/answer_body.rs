//! The body of an answer to the client: passed through or converted, kept alive during silence, and always ended with an
//! event of its wire format.

#[cfg(test)]
mod tests;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use axum::body::Body;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http_body::{Body as _, Frame, SizeHint};
use tokio::time::Sleep;
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::answer_end::{AnswerEnd, AnswerSummary};
use super::exploring;

use muninn_backend::access::{Caller, Denied};
use muninn_core::{AnswerRecorder, ObservedAnswer, ProgressReceiver};
use muninn_wire::convert::{AnswerContext, AnswerConverter};
use muninn_wire::error::{ErrorKind, Failure};
use muninn_wire::{Aligner, EndWatch, UsageWatch, WireFormat};

/// The error of a stream beyond [`MAX_SILENT_BYTES`].
const SILENT: &str = "it sent more than 32 MB without an event";
/// The time in which a backend must end its answer after the last event.
const TRAILING_TIMEOUT: Duration = Duration::from_secs(1);
/// The most bytes it may send in that time: the stream's end marker and some comments.
const MAX_TRAILING_BYTES: usize = 64 << 10;
/// The most bytes of a stream without an event for the client: comments, or events that convert to nothing. Thinking that
/// a conversion drops stays below it.
const MAX_SILENT_BYTES: usize = 32 << 20;

/// The source of an answer's bytes.
pub(super) enum Source {
    /// The client has its response head; the backend has not answered yet.
    Waiting(BoxFuture<'static, Source>),
    /// A model explores; the client sees its progress.
    Exploring {
        /// The next progress line.
        line: String,
        /// The receiver of further lines.
        progress: ProgressReceiver,
        /// The request's id.
        id: String,
        /// The answer.
        next: BoxFuture<'static, Source>,
    },
    /// A complete answer, or a stream that cannot be parsed: passed through.
    Untouched {
        /// The backend's body.
        body: Body,
        /// What it costs.
        watch: UsageWatch,
    },
    /// A stream of events in the client's own format: passed through in whole events.
    Events {
        /// The backend's body.
        body: Body,
        /// Splits the bytes at the ends of events.
        aligner: Aligner,
        /// Detects the last event.
        ending: EndWatch,
        /// Whether the backend's framing marks the end of the body; otherwise only the last event does.
        framed: bool,
        /// What it costs.
        watch: UsageWatch,
        /// The bytes since the last event.
        silent_bytes: usize,
    },
    /// A stream of events in another format.
    Converted {
        /// The backend's body.
        body: Body,
        /// Converts its events to the client's format.
        converter: Box<AnswerConverter>,
        /// The bytes since the client's last event.
        silent_bytes: usize,
    },
    /// Complete text: the gateway's own events, or a converted answer.
    Ready {
        /// The text that is not sent yet.
        text: String,
        /// Usage and losses of the answer.
        end: AnswerEnd,
    },
    /// The answer is over.
    Ended(AnswerEnd),
}

pub(super) struct AnswerBody {
    source: Source,
    format: WireFormat,
    silence: Option<KeepAliveTimer>,
    started: Instant,
    first_byte: Option<Duration>,
    /// Copies the bytes for the learner.
    recorder: Option<AnswerRecorder>,
    /// Ready when the caller's key is revoked.
    revoked: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
    /// Called once, when the answer is over.
    ended: Option<Box<dyn FnOnce(AnswerSummary) + Send>>,
}

/// Fires after a silent period. The timer is reset only when it fires, not for each event.
struct KeepAliveTimer {
    bound: Duration,
    since: Instant,
    timer: Pin<Box<Sleep>>,
}

impl AnswerBody {
    /// `silence`: the silent time after which the client gets a keep-alive; `None` if the answer is no stream of events.
    /// `ended` is called when the answer is over.
    pub(super) fn new(
        source: Source,
        format: WireFormat,
        silence: Option<Duration>,
        started: Instant,
        ended: impl FnOnce(AnswerSummary) + Send + 'static,
    ) -> AnswerBody {
        AnswerBody {
            source,
            format,
            silence: silence.map(|bound| KeepAliveTimer {
                bound,
                since: Instant::now(),
                timer: Box::pin(tokio::time::sleep(bound)),
            }),
            started,
            first_byte: None,
            recorder: None,
            revoked: None,
            ended: Some(Box::new(ended)),
        }
    }

    /// The same body, whose bytes are copied for the learner if it wants this answer.
    pub(super) fn recorded(mut self, answer: &Arc<ObservedAnswer>) -> AnswerBody {
        self.recorder = Some(answer.recorder(self.silence.is_some()));
        self
    }

    /// The same body, which ends when the caller's key is revoked.
    pub(super) fn for_caller(mut self, caller: &Caller) -> AnswerBody {
        let revoked = caller.revocation().cloned();
        self.revoked = revoked.map(|revoked| Box::pin(revoked.cancelled_owned()));
        self
    }

    /// The end of an answer whose caller may not have it any longer. The source is dropped, and with it the connection to the
    /// backend.
    fn revoke(&mut self) -> Poll<Option<Result<Bytes, axum::Error>>> {
        let failure = Failure { kind: Denied::Revoked.kind(), message: Denied::Revoked.to_string() };
        let begun = self.first_byte.is_some();
        let (events, end) = match &mut self.source {
            Source::Ended(_) => return Poll::Ready(None),
            Source::Ready { text, end } => (Some(std::mem::take(text)), std::mem::take(end)),
            Source::Waiting(_) | Source::Exploring { .. } => {
                (Some(failure_event(self.format, failure)), AnswerEnd::default())
            }
            Source::Untouched { watch, .. } => (None, watch.usage().into()),
            Source::Events { aligner, ending, watch, .. } => {
                let is_between = aligner.is_between_events();
                let events = if ending.is_over() {
                    Some(String::new())
                } else {
                    is_between.then(|| last_events(self.format, begun, failure))
                };
                (events, watch.usage().into())
            }
            Source::Converted { converter, .. } => (Some(converter.fail(failure)), AnswerEnd::of(converter)),
        };
        self.source = Source::Ended(end);
        Poll::Ready(Some(match events {
            Some(events) => Ok(Bytes::from(events)),
            // Nothing can be added to these bytes, so the connection is aborted.
            None => Err(axum::Error::new(Denied::Revoked)),
        }))
    }

    /// The next bytes from the source. Empty bytes mean progress without output.
    fn poll_source(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, axum::Error>>> {
        let (bytes, next) = match &mut self.source {
            Source::Waiting(answer) => (Bytes::new(), Some(ready!(answer.as_mut().poll(context)))),
            Source::Exploring { line, progress, id, next } => {
                if !line.is_empty() {
                    let event = exploring::event(self.format, id, "", &std::mem::take(line));
                    return Poll::Ready(Some(Ok(Bytes::from(event))));
                }
                match progress.poll(context) {
                    Poll::Ready(Some(more)) => {
                        *line = more;
                        (Bytes::new(), None)
                    }
                    Poll::Ready(None) | Poll::Pending => (Bytes::new(), Some(ready!(next.as_mut().poll(context)))),
                }
            }
            Source::Ready { text, end } => {
                (Bytes::from(std::mem::take(text)), Some(Source::Ended(std::mem::take(end))))
            }
            Source::Ended(_) => return Poll::Ready(None),
            Source::Untouched { body, watch } => match ready!(poll_data(body, context)) {
                Some(Ok(bytes)) => {
                    watch.push(&bytes);
                    (bytes, None)
                }
                Some(Err(error)) => {
                    self.source = Source::Ended(watch.usage().into());
                    return Poll::Ready(Some(Err(error)));
                }
                None => (Bytes::new(), Some(Source::Ended(watch.usage().into()))),
            },
            Source::Events { body, aligner, ending, framed, watch, silent_bytes } => {
                match ready!(poll_data(body, context)) {
                    Some(Ok(bytes)) => {
                        watch.push(&bytes);
                        let events = aligner.push(bytes);
                        let is_event = ending.push(&events) || !aligner.is_between_events();
                        *silent_bytes = if is_event { 0 } else { *silent_bytes + events.len() };
                        if *silent_bytes > MAX_SILENT_BYTES {
                            let broke = || broken_off(self.format, self.first_byte.is_some(), SILENT).into_bytes();
                            let end = if ending.is_over() { Vec::new() } else { broke() };
                            (Bytes::from(end), Some(Source::Ended(watch.usage().into())))
                        } else {
                            (events, None)
                        }
                    }
                    Some(Err(error)) => {
                        let end = if ending.is_over() {
                            Some(Vec::new())
                        } else {
                            // An incomplete event cannot be finished, so the connection is aborted instead.
                            let broke =
                                || broken_off(self.format, self.first_byte.is_some(), &error.to_string()).into_bytes();
                            aligner.is_between_events().then(broke)
                        };
                        let next = Source::Ended(watch.usage().into());
                        match end {
                            Some(end) => (Bytes::from(end), Some(next)),
                            None => {
                                self.source = next;
                                return Poll::Ready(Some(Err(error)));
                            }
                        }
                    }
                    None if *framed => (aligner.rest(), Some(Source::Ended(watch.usage().into()))),
                    None => {
                        let end = ending.closing_bytes(&aligner.rest());
                        let next = Source::Ended(watch.usage().into());
                        let error = axum::Error::new("the connection was closed before the last event");
                        if end.is_none() && !aligner.is_between_events() {
                            self.source = next;
                            return Poll::Ready(Some(Err(error)));
                        }
                        let broke =
                            || broken_off(self.format, self.first_byte.is_some(), &error.to_string()).into_bytes();
                        (Bytes::from(end.unwrap_or_else(broke)), Some(next))
                    }
                }
            }
            Source::Converted { body, converter, silent_bytes } => match ready!(poll_data(body, context)) {
                Some(Ok(bytes)) => {
                    let mut text = converter.push(&bytes);
                    *silent_bytes = if text.is_empty() { *silent_bytes + bytes.len() } else { 0 };
                    let mut next = None;
                    if converter.ended() {
                        drain(std::mem::take(body));
                        next = Some(Source::Ended(AnswerEnd::of(converter)));
                    } else if *silent_bytes > MAX_SILENT_BYTES {
                        text = converter.finish(Some(SILENT));
                        next = Some(Source::Ended(AnswerEnd::of(converter)));
                    }
                    (Bytes::from(text), next)
                }
                Some(Err(error)) => {
                    let text = converter.finish(Some(&error.to_string()));
                    (Bytes::from(text), Some(Source::Ended(AnswerEnd::of(converter))))
                }
                None => (Bytes::from(converter.finish(None)), Some(Source::Ended(AnswerEnd::of(converter)))),
            },
        };
        if let Some(next) = next {
            self.source = next;
        }
        Poll::Ready(Some(Ok(bytes)))
    }

    /// A keep-alive, if the silence is long enough and the stream is between events.
    fn poll_silence(&mut self, context: &mut Context<'_>) -> Poll<&'static str> {
        let between_events = match &self.source {
            Source::Events { aligner, ending, .. } => aligner.is_between_events() && !ending.is_over(),
            Source::Untouched { .. } => false,
            _ => true,
        };
        let Some(silence) = &mut self.silence else {
            return Poll::Pending;
        };
        loop {
            ready!(silence.timer.as_mut().poll(context));
            let silent = silence.since.elapsed();
            let is_due = silent >= silence.bound;
            let wait = if is_due { silence.bound } else { silence.bound - silent };
            silence.timer.as_mut().reset(tokio::time::Instant::now() + wait);
            if is_due && between_events {
                silence.since = Instant::now();
                return Poll::Ready(keep_alive(self.format));
            }
        }
    }

    fn sent(&mut self, bytes: Bytes) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let Some(silence) = &mut self.silence {
            silence.since = Instant::now();
        }
        self.first_byte.get_or_insert_with(|| self.started.elapsed());
        if let Some(recorder) = &mut self.recorder {
            recorder.push(&bytes);
        }
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }
}

impl http_body::Body for AnswerBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = self.get_mut();
        loop {
            let is_revoked = this.revoked.as_mut().is_some_and(|revoked| revoked.as_mut().poll(context).is_ready());
            if is_revoked {
                this.revoked = None;
            }
            let polled = if is_revoked { this.revoke() } else { this.poll_source(context) };
            match polled {
                Poll::Ready(Some(Ok(bytes))) if bytes.is_empty() => {}
                Poll::Ready(Some(Ok(bytes))) => return this.sent(bytes),
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error))),
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => {
                    let keep_alive = ready!(this.poll_silence(context));
                    return Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(keep_alive.as_bytes())))));
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.source {
            Source::Untouched { body, .. } => body.is_end_stream(),
            Source::Ended(_) => true,
            _ => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            Source::Untouched { body, .. } => body.size_hint(),
            Source::Ready { text, .. } => SizeHint::with_exact(text.len() as u64),
            Source::Ended(_) => SizeHint::with_exact(0),
            _ => SizeHint::default(),
        }
    }
}

/// An answer ends when its body is dropped: the server does not poll a body of known length to its end, and a client may leave.
impl Drop for AnswerBody {
    fn drop(&mut self) {
        let end = match &mut self.source {
            Source::Untouched { watch, .. } | Source::Events { watch, .. } => watch.usage().into(),
            Source::Converted { converter, .. } => AnswerEnd::of(converter),
            Source::Ready { end, .. } | Source::Ended(end) => std::mem::take(end),
            Source::Waiting(_) | Source::Exploring { .. } => AnswerEnd::default(),
        };
        if let Some(ended) = self.ended.take() {
            ended(AnswerSummary { first_byte: self.first_byte, end });
        }
    }
}

/// The next data of a body. Trailers are dropped: no client of these APIs reads them.
fn poll_data(body: &mut Body, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, axum::Error>>> {
    loop {
        match ready!(Pin::new(&mut *body).poll_frame(context)) {
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    return Poll::Ready(Some(Ok(data)));
                }
            }
            Some(Err(error)) => return Poll::Ready(Some(Err(error))),
            None => return Poll::Ready(None),
        }
    }
}

/// Reads the bytes after the last event in the background, so that the backend's connection can be reused. If the backend
/// does not stop, its connection is closed.
fn drain(mut body: Body) {
    let rest = async move {
        let mut read = 0;
        while let Some(Ok(bytes)) = std::future::poll_fn(|context| poll_data(&mut body, context)).await {
            read += bytes.len();
            if read > MAX_TRAILING_BYTES {
                return;
            }
        }
    };
    tokio::spawn(tokio::time::timeout(TRAILING_TIMEOUT, rest));
}

/// A keep-alive: an event if the format has one for it, else a comment.
fn keep_alive(format: WireFormat) -> &'static str {
    match format {
        WireFormat::Messages => "event: ping\ndata: {\"type\": \"ping\"}\n\n",
        WireFormat::Chat | WireFormat::Responses => ": keep-alive\n\n",
    }
}

/// The last event of a stream that broke off. `begun`: whether the client has seen its beginning.
fn broken_off(format: WireFormat, begun: bool, error: &str) -> String {
    let failure = Failure { kind: ErrorKind::Server, message: format!("the backend's stream broke off: {error}") };
    last_events(format, begun, failure)
}

/// A failure as the last events of a stream. `begun`: whether the client has seen its beginning.
fn last_events(format: WireFormat, begun: bool, failure: Failure) -> String {
    let mut events = failure_event(format, failure);
    if begun && format == WireFormat::Responses {
        // The stream began with the backend's `response.created`; a second one would begin another answer.
        let last = events.trim_end().rfind("\n\n").map_or(0, |end| end + 2);
        events.drain(..last);
    }
    events
}

/// A failure as the last events of a stream in this format.
pub(super) fn failure_event(format: WireFormat, failure: Failure) -> String {
    AnswerConverter::new(format, format, AnswerContext::default()).fail(failure)
}
