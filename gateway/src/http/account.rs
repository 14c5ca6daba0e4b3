//! What is written down of one request: its receipt when its answer begins, its numbers when the answer is over.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Body;
use http::{HeaderValue, Response};

use super::answer_body::{AnswerBody, End, Source};
use super::exchanged::Exchanged;
use super::refusal::Client;
use super::{Worker, bookkeeping, reply};
use crate::app::millis;
use crate::metrics::{Active, Finished};
use crate::store::{Outcome, Receipt};
use crate::wire::WireFormat;

/// One request's account; shared by whoever waits for its answer and the answer's body.
pub(super) struct Account {
    worker: Worker,
    client: Client,
    format: WireFormat,
    started: Instant,
    added: Duration,
    outcome: Outcome,
    injected_tokens: u32,
    /// Kept until it is known who answers.
    receipt: Mutex<Option<Receipt>>,
    answered: OnceLock<Answered>,
    /// Counts the request as active as long as the account lives.
    _active: Active,
}

struct Answered {
    backend: String,
    spoken: WireFormat,
    status: u16,
    streamed: bool,
}

impl Account {
    /// Opens the account of a request that came at `started` and is ready to go now.
    pub(super) fn open(
        worker: &Worker,
        client: Client,
        active: Active,
        format: WireFormat,
        started: Instant,
        mut receipt: Receipt,
    ) -> Arc<Account> {
        let added = started.elapsed();
        receipt.ms = millis(added);
        Arc::new(Account {
            worker: worker.clone(),
            client,
            format,
            started,
            added,
            outcome: receipt.outcome,
            injected_tokens: receipt.tokens,
            receipt: Mutex::new(Some(receipt)),
            answered: OnceLock::new(),
            _active: active,
        })
    }

    /// Notes who answered, and keeps the receipt. The client does not wait for that.
    pub(super) fn answered(&self, exchanged: &Exchanged) {
        let status = exchanged.head.status.as_u16();
        let receipt = self.receipt.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut receipt) = receipt else { return };
        if let Some((backend, spoken)) = &exchanged.by {
            receipt.backend.clone_from(backend);
            receipt.spoken = (*spoken != self.format).then(|| Receipt::format_name(*spoken).to_owned());
        }
        receipt.dropped = exchanged
            .dropped
            .iter()
            .map(|(name, count)| (name.to_owned(), count))
            .collect();
        if exchanged.tries.len() > 1 {
            receipt.tries.clone_from(&exchanged.tries);
        }
        let metrics = &self.worker.app.metrics;
        let spoken = exchanged.by.as_ref().map_or(self.format, |(_, spoken)| *spoken);
        for pair in exchanged.tries.windows(2) {
            if pair[0].backend == pair[1].backend {
                metrics.retried(&pair[0].backend);
            } else {
                metrics.fell_back(&pair[0].backend);
            }
        }
        for (field, _) in exchanged.dropped.iter() {
            metrics.dropped_field(self.format, spoken, field);
        }
        let answered = Answered {
            backend: receipt.backend.clone(),
            spoken,
            status,
            streamed: matches!(exchanged.source, Source::Events { .. } | Source::Converted { .. }),
        };
        let _first_answer_counts = self.answered.set(answered);
        let (app, client) = (Arc::clone(&self.worker.app), self.client.clone());
        self.worker
            .bookkeeping
            .spawn(async move { bookkeeping::keep(&app, receipt, status, &client) });
    }

    /// Makes a source the client's body. `silence` is how long a stream of events may say nothing.
    pub(super) fn body(self: Arc<Self>, source: Source, silence: Option<Duration>) -> Body {
        let (format, started) = (self.format, self.started);
        Body::new(AnswerBody::new(source, format, silence, started, move |end| {
            self.ended(end);
        }))
    }

    /// Makes an answer the client's response.
    pub(super) fn response(self: Arc<Self>, mut exchanged: Exchanged, silence: Duration) -> Response<Body> {
        let silence = exchanged.is_events().then_some(silence);
        let dropped: Vec<&str> = exchanged.dropped.iter().map(|(name, _)| name).collect();
        if let Ok(names) = HeaderValue::try_from(dropped.join(", "))
            && !dropped.is_empty()
        {
            exchanged.head.headers.insert(reply::DROPPED, names);
        }
        let body = self.body(exchanged.source, silence);
        Response::from_parts(exchanged.head, body)
    }

    /// Writes down the numbers of an answer that is over.
    pub(super) fn ended(&self, end: End) {
        // A client that leaves before anybody answered has been given nothing that could be counted.
        let Some(answered) = self.answered.get() else { return };
        self.worker.app.finished(&Finished {
            key: &self.client.key,
            format: self.format,
            backend: &answered.backend,
            spoken: answered.spoken,
            status: answered.status,
            streamed: answered.streamed,
            first_byte: end.first_byte,
            added: self.added,
            usage: end.usage,
            outcome: self.outcome,
            injected_tokens: self.injected_tokens,
        });
    }
}
