//! Answers of backends that send without end.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{StreamExt, stream};
use http_body_util::BodyExt;
use muninn_backend::FairBody;

use super::*;

const FORMATS: [WireFormat; 3] = [WireFormat::Chat, WireFormat::Messages, WireFormat::Responses];
const DONE: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap().block_on(future)
}

/// A backend's body that begins like this and continues with endless comments, and the number of bytes read of it.
fn flood(begin: &'static str) -> (Body, Arc<AtomicUsize>) {
    let read = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&read);
    let comment = Bytes::from(format!(": {}\n\n", "x".repeat(64 << 10)));
    let begin = stream::iter((!begin.is_empty()).then(|| Bytes::from_static(begin.as_bytes())));
    let pieces = begin.chain(stream::repeat(comment)).map(move |piece| {
        counted.fetch_add(piece.len(), Ordering::Relaxed);
        Ok::<_, Infallible>(piece)
    });
    (Body::new(FairBody::new(Body::from_stream(pieces))), read)
}

fn converted(body: Body, to: WireFormat) -> Source {
    let from = if to == WireFormat::Chat { WireFormat::Messages } else { WireFormat::Chat };
    Source::Converted {
        body,
        converter: Box::new(AnswerConverter::new(from, to, AnswerContext::default())),
        silent_bytes: 0,
    }
}

fn native(body: Body, format: WireFormat) -> Source {
    Source::Events {
        body,
        aligner: Aligner::default(),
        ending: EndWatch::new(format),
        framed: false,
        watch: UsageWatch::default(),
        silent_bytes: 0,
    }
}

async fn text_of(source: Source, format: WireFormat, silence: Option<Duration>) -> String {
    let body = AnswerBody::new(source, format, silence, Instant::now(), |_| {});
    let bytes = body.collect().await.unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn flood_without_events_gets_keep_alives_and_ends_in_an_error() {
    for format in FORMATS {
        run(async {
            let (body, read) = flood("");
            let text = text_of(converted(body, format), format, Some(Duration::from_millis(1))).await;
            assert!(text.contains("without an event"), "{format:?}: {text}");
            assert!(text.starts_with(keep_alive(format)), "{format:?}: {text}");
            let read = read.load(Ordering::Relaxed);
            assert!(read <= MAX_SILENT_BYTES + (128 << 10), "{read}");
        });
    }
}

#[test]
fn native_flood_ends_in_an_error_unless_it_follows_the_last_event() {
    run(async {
        for (begin, failed) in [("", true), ("data: {}\n\n", true), (DONE, false)] {
            let (body, read) = flood(begin);
            let text = text_of(native(body, WireFormat::Chat), WireFormat::Chat, None).await;
            assert!(text.starts_with(begin));
            assert_eq!(text.contains("without an event"), failed, "{begin}");
            let read = read.load(Ordering::Relaxed);
            assert!(read <= MAX_SILENT_BYTES + (128 << 10), "{read}");
        }
    });
}

#[test]
fn flood_after_the_last_event_is_read_up_to_the_limit() {
    run(async {
        let (body, read) = flood(DONE);
        let dropped = Arc::clone(&read);
        let text = text_of(converted(body, WireFormat::Messages), WireFormat::Messages, None).await;
        assert!(text.contains("message_stop"), "{text}");
        // The body holds one count, until it is dropped.
        drop(read);
        while Arc::strong_count(&dropped) > 1 {
            tokio::task::yield_now().await;
        }
        let read = dropped.load(Ordering::Relaxed);
        assert!(read <= DONE.len() + MAX_TRAILING_BYTES + (128 << 10), "{read}");
    });
}
