//! The accounting of one request: its receipt when the answer begins, its metrics when the answer is over.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use axum::body::Body;
use http::{HeaderValue, Response};
use muninn_backend::access::Caller;
use muninn_backend::metrics::{Active, FinishedRequest};
use muninn_backend::{Conversation, UnderWay};
use muninn_core::{ObservedAnswer, millis};
use muninn_ledger::{Outcome, Placement, Receipt, Trial};
use muninn_wire::convert::request::Dropped;
use muninn_wire::{CacheLife, WireFormat};
use parking_lot::Mutex;
use tokio::task::JoinHandle;

use super::answer_body::{AnswerBody, Source};
use super::answer_end::{AnswerEnd, AnswerSummary};
use super::exchange_result::ExchangeResult;
use super::refusal_log::Client;
use super::{Worker, bookkeeping, reply};

/// The account of one request, shared by the handler and the answer's body.
pub(super) struct Account {
    worker: Worker,
    caller: Caller,
    client: Client,
    format: WireFormat,
    started: Instant,
    learned: Arc<ObservedAnswer>,
    added: Duration,
    outcome: Outcome,
    injected_tokens: u32,
    conversation: Option<Conversation>,
    /// Written and taken when the backend's answer begins.
    receipt: Mutex<Option<Receipt>>,
    answered: OnceLock<Answered>,
    /// The receipt that the end of the answer completes, and the task that writes it without that: the tokens of a
    /// conversation in a trial, the losses of a converted stream.
    unfinished: Mutex<Option<(Receipt, JoinHandle<()>)>>,
    /// Counts the request as active until the account is dropped.
    _active: Active,
}

struct Answered {
    backend: String,
    spoken: WireFormat,
    status: u16,
    streamed: bool,
    _under_way: Option<UnderWay>,
}

impl Account {
    /// Opens the account of a request that arrived at `started` and is ready to be sent. `learned`: its answer for the
    /// learner.
    pub(super) fn open(
        worker: &Worker,
        (caller, client): (Caller, Client),
        active: Active,
        format: WireFormat,
        (started, learned): (Instant, Arc<ObservedAnswer>),
        (conversation, mut receipt): (Option<Conversation>, Receipt),
    ) -> Arc<Account> {
        let added = started.elapsed();
        receipt.ms = millis(added);
        Arc::new(Account {
            worker: worker.clone(),
            caller,
            client,
            format,
            started,
            learned,
            added,
            outcome: receipt.outcome,
            injected_tokens: receipt.tokens,
            conversation,
            receipt: Mutex::new(Some(receipt)),
            answered: OnceLock::new(),
            unfinished: Mutex::default(),
            _active: active,
        })
    }

    /// Records the backend that answered and writes the receipt in the background.
    pub(super) fn answered(&self, result: &mut ExchangeResult) {
        let status = result.head.status.as_u16();
        let receipt = self.receipt.lock().take();
        let Some(mut receipt) = receipt else { return };
        if let Some(by) = &result.by {
            receipt.backend.clone_from(&by.backend);
            receipt.backend_key = by.key;
            receipt.spoken = (by.spoken != self.format).then(|| Receipt::format_name(by.spoken).to_owned());
            receipt.placement = receipt.placement.map(|chosen| if by.is_first { chosen } else { Placement::Moved });
        }
        // If none answered, the client's error is about the last one.
        if let (None, Some(last)) = (&result.by, result.tries.last()) {
            receipt.backend.clone_from(&last.backend);
            receipt.backend_key = last.key;
        }
        receipt.status = Some(status);
        if let Source::Ready { end, .. } = &mut result.source {
            result.dropped.append(std::mem::take(&mut end.dropped));
        }
        receipt.dropped = counted(&result.dropped);
        if result.tries.len() > 1 {
            receipt.tries.clone_from(&result.tries);
        }
        let metrics = &self.worker.app.metrics;
        let spoken = result.by.as_ref().map_or(self.format, |by| by.spoken);
        for pair in result.tries.windows(2) {
            if pair[0].backend == pair[1].backend {
                metrics.retried(&pair[0].backend);
            } else {
                metrics.fell_back(&pair[0].backend);
            }
        }
        for (field, _) in result.dropped.iter() {
            metrics.dropped_field(self.format, spoken, field);
        }
        let answered = Answered {
            backend: receipt.backend.clone(),
            spoken,
            status,
            _under_way: result.by.as_mut().and_then(|by| by.under_way.take()),
            streamed: matches!(result.source, Source::Events { .. } | Source::Converted { .. }),
        };
        self.answered.set(answered).ok();
        let (app, client) = (Arc::clone(&self.worker.app), self.client.clone());
        let is_unfinished = receipt.trial.is_some() || matches!(result.source, Source::Converted { .. });
        let unfinished = is_unfinished.then(|| receipt.clone());
        let kept = self.worker.bookkeeping.spawn(async move { bookkeeping::keep(&app, receipt, status, &client) });
        *self.unfinished.lock() = unfinished.map(|receipt| (receipt, kept));
    }

    /// The client's body from a source. `silence`: the pause in a stream of events after which a keep-alive is sent.
    pub(super) fn body(self: Arc<Self>, source: Source, silence: Option<Duration>) -> Body {
        let (format, started, learned) = (self.format, self.started, Arc::clone(&self.learned));
        let caller = self.caller.clone();
        let body = AnswerBody::new(source, format, silence, started, move |summary| self.finish(summary));
        Body::new(body.recorded(&learned).for_caller(&caller))
    }

    /// The client's response from an answer.
    pub(super) fn response(self: Arc<Self>, mut result: ExchangeResult, silence: Duration) -> Response<Body> {
        let silence = result.is_events().then_some(silence);
        let dropped: Vec<&str> = result.dropped.iter().map(|(name, _)| name).collect();
        if let Ok(names) = HeaderValue::try_from(dropped.join(", "))
            && !dropped.is_empty()
        {
            result.head.headers.insert(reply::DROPPED, names);
        }
        if let Some(by) = &result.by
            && let Ok(name) = HeaderValue::try_from(by.backend.as_str())
        {
            result.head.headers.insert(reply::BACKEND, name);
        }
        let body = self.body(result.source, silence);
        Response::from_parts(result.head, body)
    }

    /// Counts a finished answer.
    pub(super) fn finish(&self, summary: AnswerSummary) {
        // A client that left before the backend answered got nothing to count.
        let Some(answered) = self.answered.get() else { return };
        if let (Some(conversation), Some(life)) = (&self.conversation, CacheLife::reported(&summary.end.usage)) {
            conversation.note_life(life);
        }
        let unfinished = self.unfinished.lock().take();
        let AnswerEnd { usage, dropped } = summary.end;
        for (field, _) in dropped.iter() {
            self.worker.app.metrics.dropped_field(self.format, answered.spoken, field);
        }
        if let (Some((mut receipt, kept)), Some(store)) = (unfinished, self.worker.app.store.clone())
            && (receipt.trial.is_some() || dropped.iter().next().is_some())
        {
            let tokens = [usage.input, usage.output].into_iter().flatten().reduce(u64::saturating_add);
            receipt.trial = receipt.trial.map(|trial| Trial { tokens, ..trial });
            receipt.dropped.extend(counted(&dropped));
            self.worker.bookkeeping.spawn(async move {
                kept.await.ok();
                store.note_receipt(receipt);
            });
        }
        self.worker.app.finished(&FinishedRequest {
            key: &self.client.key,
            format: self.format,
            backend: &answered.backend,
            backend_format: answered.spoken,
            status: answered.status,
            streamed: answered.streamed,
            first_byte: summary.first_byte,
            added: self.added,
            usage,
            outcome: self.outcome,
            injected_tokens: self.injected_tokens,
        });
    }
}

/// The dropped fields as a receipt has them.
fn counted(dropped: &Dropped) -> Vec<(String, u32)> {
    dropped.iter().map(|(name, count)| (name.to_owned(), count)).collect()
}
