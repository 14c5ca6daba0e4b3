//! The body of an answer on its way to the client: passed on or converted, kept alive while nothing comes, and always
//! brought to an end that its wire format knows.

#[cfg(test)]
mod tests;

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use axum::body::Body;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http_body::{Body as _, Frame, SizeHint};
use tokio::time::Sleep;

use super::exploring;

use crate::app::ProgressReceiver;
use crate::wire::convert::answer::Usage;
use crate::wire::convert::{AnswerContext, AnswerConverter};
use crate::wire::error::{ErrorKind, Failure};
use crate::wire::{Aligner, Ending, UsageWatch, WireFormat};

/// What is said of a stream beyond [`MOST_SILENT_BYTES`].
const SILENT: &str = "it sent more than 32 MB without an event";
/// How long a backend may take to end its answer after the answer's last event.
const AFTER_THE_END: Duration = Duration::from_secs(1);
/// What it may send in that time: the mark at the end of a stream, and some comments.
const MOST_AFTER_THE_END: usize = 64 << 10;
/// A stream may send so many bytes without an event for the client: comments, or events that convert to nothing. A long
/// thought that a conversion leaves out has less; beyond it nothing is coming.
const MOST_SILENT_BYTES: usize = 32 << 20;

/// Where the bytes of an answer come from.
pub(super) enum Source {
    /// The backend has not answered yet, and the client has its head already.
    Waiting(BoxFuture<'static, Source>),
    /// A model explores for it; the client sees what it does.
    Exploring {
        /// A line of it that is to be shown.
        line: String,
        /// Where the next come from.
        watching: ProgressReceiver,
        /// The request's id.
        id: String,
        /// The answer.
        next: BoxFuture<'static, Source>,
    },
    /// A whole answer, or a stream that cannot be looked into: passed on as it is.
    Untouched {
        /// The backend's body.
        body: Body,
        /// What it costs.
        watch: UsageWatch,
    },
    /// A stream of events in the client's own format: whole events, otherwise untouched.
    Events {
        /// The backend's body.
        body: Body,
        /// Cuts it where events end.
        aligner: Aligner,
        /// Whether its last event has come.
        ending: Ending,
        /// Whether the backend says where its body ends; otherwise only the last event tells.
        framed: bool,
        /// What it costs.
        watch: UsageWatch,
        /// Bytes since its last event.
        silent_bytes: usize,
    },
    /// A stream of events in another format.
    Converted {
        /// The backend's body.
        body: Body,
        /// Makes the client's events of it.
        converter: Box<AnswerConverter>,
        /// Bytes since the client's last event.
        silent_bytes: usize,
    },
    /// Events of our own, or converted ones that are all there.
    Ready {
        /// What is left to be sent.
        text: String,
        /// What it cost.
        usage: Usage,
    },
    /// Nothing is left.
    Ended(Usage),
}

/// What was seen of an answer that is over, whether read to its end or left by its client.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct End {
    /// From the request to the first byte of the answer, where one came.
    pub first_byte: Option<Duration>,
    /// What the backend counted.
    pub usage: Usage,
}

/// The body of one answer.
pub(super) struct AnswerBody {
    source: Source,
    format: WireFormat,
    silence: Option<Silence>,
    started: Instant,
    first_byte: Option<Duration>,
    /// Told once, when the answer is over.
    ended: Option<Box<dyn FnOnce(End) + Send>>,
}

/// Tells when nothing was sent for a while. The timer is only set anew when it goes off, not for each event.
struct Silence {
    bound: Duration,
    since: Instant,
    timer: Pin<Box<Sleep>>,
}

impl AnswerBody {
    /// `silence` is how long a stream may be silent before the client gets a sign of life; `None` for what is no stream
    /// of events. `ended` is told when the answer is over.
    pub(super) fn new(
        source: Source,
        format: WireFormat,
        silence: Option<Duration>,
        started: Instant,
        ended: impl FnOnce(End) + Send + 'static,
    ) -> AnswerBody {
        AnswerBody {
            source,
            format,
            silence: silence.map(|bound| Silence {
                bound,
                since: Instant::now(),
                timer: Box::pin(tokio::time::sleep(bound)),
            }),
            started,
            first_byte: None,
            ended: Some(Box::new(ended)),
        }
    }

    /// The next bytes from the source; empty ones say that there was something, and nothing to send.
    fn poll_source(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, axum::Error>>> {
        let (bytes, next) = match &mut self.source {
            Source::Waiting(answer) => (Bytes::new(), Some(ready!(answer.as_mut().poll(context)))),
            Source::Exploring {
                line,
                watching,
                id,
                next,
            } => {
                if !line.is_empty() {
                    let event = exploring::event(self.format, id, "", &std::mem::take(line));
                    return Poll::Ready(Some(Ok(Bytes::from(event))));
                }
                match watching.poll(context) {
                    Poll::Ready(Some(more)) => {
                        *line = more;
                        (Bytes::new(), None)
                    }
                    Poll::Ready(None) | Poll::Pending => (Bytes::new(), Some(ready!(next.as_mut().poll(context)))),
                }
            }
            Source::Ready { text, usage } => (Bytes::from(std::mem::take(text)), Some(Source::Ended(*usage))),
            Source::Ended(_) => return Poll::Ready(None),
            Source::Untouched { body, watch } => match ready!(poll_data(body, context)) {
                Some(Ok(bytes)) => {
                    watch.see(&bytes);
                    (bytes, None)
                }
                Some(Err(error)) => {
                    self.source = Source::Ended(watch.usage());
                    return Poll::Ready(Some(Err(error)));
                }
                None => (Bytes::new(), Some(Source::Ended(watch.usage()))),
            },
            Source::Events {
                body,
                aligner,
                ending,
                framed,
                watch,
                silent_bytes,
            } => match ready!(poll_data(body, context)) {
                Some(Ok(bytes)) => {
                    watch.see(&bytes);
                    let events = aligner.push(bytes);
                    ending.see(&events);
                    let is_event = !aligner.is_between_events() || Ending::has_event(&events);
                    *silent_bytes = if is_event { 0 } else { *silent_bytes + events.len() };
                    if *silent_bytes > MOST_SILENT_BYTES {
                        let broke = || broken_off(self.format, self.first_byte.is_some(), SILENT).into_bytes();
                        let end = if ending.is_over() { Vec::new() } else { broke() };
                        (Bytes::from(end), Some(Source::Ended(watch.usage())))
                    } else {
                        (events, None)
                    }
                }
                Some(Err(error)) => {
                    let end = if ending.is_over() {
                        Some(Vec::new())
                    } else {
                        // The rest of an event is of no use to anybody; that it broke is.
                        let broke =
                            || broken_off(self.format, self.first_byte.is_some(), &error.to_string()).into_bytes();
                        aligner.is_between_events().then(broke)
                    };
                    let next = Source::Ended(watch.usage());
                    match end {
                        Some(end) => (Bytes::from(end), Some(next)),
                        None => {
                            self.source = next;
                            return Poll::Ready(Some(Err(error)));
                        }
                    }
                }
                None if *framed => (aligner.rest(), Some(Source::Ended(watch.usage()))),
                None => {
                    let end = ending.completed(&aligner.rest());
                    let next = Source::Ended(watch.usage());
                    let error = axum::Error::new("the connection was closed before the last event");
                    if end.is_none() && !aligner.is_between_events() {
                        self.source = next;
                        return Poll::Ready(Some(Err(error)));
                    }
                    let broke = || broken_off(self.format, self.first_byte.is_some(), &error.to_string()).into_bytes();
                    (Bytes::from(end.unwrap_or_else(broke)), Some(next))
                }
            },
            Source::Converted {
                body,
                converter,
                silent_bytes,
            } => match ready!(poll_data(body, context)) {
                Some(Ok(bytes)) => {
                    let mut text = converter.push(&bytes);
                    *silent_bytes = if text.is_empty() {
                        *silent_bytes + bytes.len()
                    } else {
                        0
                    };
                    let mut next = None;
                    if converter.ended() {
                        read_out(std::mem::take(body));
                        next = Some(Source::Ended(converter.usage()));
                    } else if *silent_bytes > MOST_SILENT_BYTES {
                        text = converter.finish(Some(SILENT));
                        next = Some(Source::Ended(converter.usage()));
                    }
                    (Bytes::from(text), next)
                }
                Some(Err(error)) => {
                    let text = converter.finish(Some(&error.to_string()));
                    (Bytes::from(text), Some(Source::Ended(converter.usage())))
                }
                None => (
                    Bytes::from(converter.finish(None)),
                    Some(Source::Ended(converter.usage())),
                ),
            },
        };
        if let Some(next) = next {
            self.source = next;
        }
        Poll::Ready(Some(Ok(bytes)))
    }

    /// A sign of life, where it is time for one and a place for it.
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
                return Poll::Ready(sign_of_life(self.format));
            }
        }
    }

    fn sent(&mut self, bytes: Bytes) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let Some(silence) = &mut self.silence {
            silence.since = Instant::now();
        }
        self.first_byte.get_or_insert_with(|| self.started.elapsed());
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }
}

impl http_body::Body for AnswerBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = self.get_mut();
        loop {
            match this.poll_source(context) {
                Poll::Ready(Some(Ok(bytes))) if bytes.is_empty() => {}
                Poll::Ready(Some(Ok(bytes))) => return this.sent(bytes),
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error))),
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => {
                    let sign = ready!(this.poll_silence(context));
                    return Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(sign.as_bytes())))));
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

/// The end of a body is its drop: a server does not poll one again whose length it has seen, and a client may leave.
impl Drop for AnswerBody {
    fn drop(&mut self) {
        let usage = match &self.source {
            Source::Untouched { watch, .. } | Source::Events { watch, .. } => watch.usage(),
            Source::Converted { converter, .. } => converter.usage(),
            Source::Ready { usage, .. } | Source::Ended(usage) => *usage,
            Source::Waiting(_) | Source::Exploring { .. } => Usage::default(),
        };
        if let Some(ended) = self.ended.take() {
            ended(End {
                first_byte: self.first_byte,
                usage,
            });
        }
    }
}

/// The next data of a body. Trailers are left out: no client of these APIs reads them.
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

/// Reads what may follow the last event, so that the backend's connection can be used again. The client does not wait.
/// A backend that goes on sending has its connection closed.
fn read_out(mut body: Body) {
    let rest = async move {
        let mut read = 0;
        while let Some(Ok(bytes)) = std::future::poll_fn(|context| poll_data(&mut body, context)).await {
            read += bytes.len();
            if read > MOST_AFTER_THE_END {
                return;
            }
        }
    };
    tokio::spawn(tokio::time::timeout(AFTER_THE_END, rest));
}

/// What says that we are still there: an event where the format has one for it, a comment otherwise.
fn sign_of_life(format: WireFormat) -> &'static str {
    match format {
        WireFormat::Messages => "event: ping\ndata: {\"type\": \"ping\"}\n\n",
        WireFormat::Chat | WireFormat::Responses => ": keep-alive\n\n",
    }
}

/// The last event of a stream that broke off. `begun` is whether the client has seen its beginning.
fn broken_off(format: WireFormat, begun: bool, error: &str) -> String {
    let failure = Failure {
        kind: ErrorKind::Server,
        message: format!("the backend's stream broke off: {error}"),
    };
    let mut events = failure_event(format, failure);
    if begun && format == WireFormat::Responses {
        // It began with the backend's own `response.created`; a second one would begin another answer.
        let last = events.trim_end().rfind("\n\n").map_or(0, |end| end + 2);
        events.drain(..last);
    }
    events
}

/// A failure as the last events of a stream in this format.
#[must_use]
pub(super) fn failure_event(format: WireFormat, failure: Failure) -> String {
    AnswerConverter::new(format, format, AnswerContext::default()).fail(failure)
}
