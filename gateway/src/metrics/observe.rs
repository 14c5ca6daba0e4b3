//! Watching an answer go by: when its first byte came, and what tokens its backend counted.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::Body;
use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use http_body::{Frame, SizeHint};

use super::{Usage, UsageReader};

/// What was seen of an answer that is over: sent to its end, broken off, or left by its client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct End {
    /// From `started` to the first byte of the body, where one came.
    pub first_byte: Option<Duration>,
    /// The tokens that the backend counted, as far as they were seen.
    pub usage: Usage,
}

/// Lets a body through as it is and calls `ended` once, when it is over or dropped. `headers` are the answer's own: one
/// that is compressed is let through unread.
pub fn observed(body: Body, headers: &HeaderMap, started: Instant, ended: impl FnOnce(End) + Send + 'static) -> Body {
    let encoded = headers
        .get(CONTENT_ENCODING)
        .is_some_and(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity"));
    Body::new(Observed {
        body,
        reader: (!encoded).then(UsageReader::default),
        started,
        first_byte: None,
        ended: Some(Box::new(ended)),
    })
}

struct Observed {
    body: Body,
    reader: Option<UsageReader>,
    started: Instant,
    first_byte: Option<Duration>,
    ended: Option<Box<dyn FnOnce(End) + Send>>,
}

impl http_body::Body for Observed {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(data) = frame.data_ref()
        {
            let this = &mut *self;
            this.first_byte.get_or_insert_with(|| this.started.elapsed());
            if let Some(reader) = &mut this.reader {
                reader.read(data);
            }
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The end of a body is its drop: a server does not poll one again whose length it has seen.
impl Drop for Observed {
    fn drop(&mut self) {
        if let Some(ended) = self.ended.take() {
            ended(End {
                first_byte: self.first_byte,
                usage: self.reader.as_ref().map(UsageReader::usage).unwrap_or_default(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    async fn seen(coding: Option<&str>, read: bool) -> End {
        let mut headers = HeaderMap::new();
        if let Some(coding) = coding {
            headers.insert(CONTENT_ENCODING, coding.parse().unwrap());
        }
        let (sender, receiver) = channel();
        let body = Body::from(r#"{"usage":{"prompt_tokens":3,"completion_tokens":2}}"#);
        let body = observed(body, &headers, Instant::now(), move |end| sender.send(end).unwrap());
        if read {
            let bytes = axum::body::to_bytes(body, 1_000).await.unwrap();
            assert!(bytes.starts_with(br#"{"usage""#));
        } else {
            drop(body);
        }
        let end = receiver.try_recv().unwrap();
        assert!(receiver.try_recv().is_err(), "once");
        end
    }

    #[tokio::test]
    async fn a_body_goes_by_unchanged_and_its_end_is_told_once() {
        let end = seen(None, true).await;
        assert_eq!((end.usage.input, end.usage.output), (3, 2));
        assert!(end.first_byte.is_some());
        assert_eq!(seen(Some("gzip"), true).await.usage, Usage::default());
        assert_eq!(seen(None, false).await, End::default());
    }
}
