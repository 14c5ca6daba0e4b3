//! The three conversation endpoints: read, plan, send, stream the answer.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use axum::body::Body;
use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt};
use http::request::Parts;
use http::{Response, header};
use muninn_backend::access::{Caller, Forbidden};
use muninn_backend::metrics::Active;
use muninn_backend::{Candidate, Conversation, NoRoute, Target};
use muninn_core::{
    self, App, ObservedAnswer, ObservedConversation, ObservedRequest, Observing, Plan, PlanRequest, ProgressReceiver,
    ProgressSender, Settings, SummarizerChoice,
};
use muninn_ledger::{Outcome, Receipt, ReceiptsOf};
use muninn_session::identify;
use muninn_wire::answer::Answer;
use muninn_wire::convert::AnswerContext;
use muninn_wire::error::{ErrorKind, Failure};
use muninn_wire::{CacheLife, Insertion, Prompt, Text, WireFormat};

use super::account::Account;
use super::answer_body::{AnswerBody, Source, failure_event};
use super::answer_end::AnswerEnd;
use super::body::{self, RequestBody};
use super::exchange::Exchange;
use super::exchange_result::{ExchangeResult, panicked};
use super::refusal_log::Client;
use super::{Worker, refusal, reply};

/// The newest receipts among which a conversation's place is looked for.
const RECENT_RECEIPTS: usize = 256;

/// Handles one conversation request.
pub(super) async fn converse(worker: Worker, format: WireFormat, mut parts: Parts, body: Body) -> Response<Body> {
    let settings = worker.app.settings();
    let caller = Caller::of(&parts.extensions);
    let active = worker.app.metrics.started();
    let RequestBody { body, uncounted } = match body::read(&worker, &mut parts, body, format).await {
        Ok(received) => received,
        Err(refusal) => return refusal,
    };
    let incoming = Arc::new(Incoming {
        learned: worker.app.learner.new_answer(),
        worker,
        settings,
        caller,
        format,
        parts: Arc::new(parts),
        uncounted,
        id: ulid::Ulid::generate().to_string(),
        started: Instant::now(),
    });
    let (progress, mut receiver) = ProgressSender::new();
    let mut preparing = prepare_anywhere(Arc::clone(&incoming), body.clone(), progress).boxed();
    let prepared = tokio::select! {
        biased;
        prepared = &mut preparing => prepared,
        line = incoming.first_line(&body, &mut receiver) => {
            return incoming.stream_progress(preparing, active, (line, receiver));
        }
    };
    drop(preparing);
    // A future that is moved is copied as a whole, so large ones are boxed where they are made.
    incoming.answer(prepared, active).boxed().await
}

/// A received request with its settings and caller.
struct Incoming {
    worker: Worker,
    settings: Arc<Settings>,
    caller: Caller,
    format: WireFormat,
    parts: Arc<Parts>,
    /// The body for the learner.
    uncounted: Bytes,
    learned: Arc<ObservedAnswer>,
    id: String,
    started: Instant,
}

type Prepared = Result<(Route, Receipt), Refusal>;

impl Incoming {
    /// The line with which a stream begins while a model explores; it is not ready without one. Only an exploring model reports
    /// progress, and it takes long enough to be worth a stream. While the model is silent, an empty line makes the stream begin,
    /// which then sends keep-alives.
    async fn first_line(&self, body: &Bytes, progress: &mut ProgressReceiver) -> String {
        if progress.next().await.is_none() || !self.wants_stream(body).await {
            return std::future::pending().await;
        }
        match tokio::time::timeout(self.settings.config.limits.keep_alive, progress.next()).await {
            Ok(Some(line)) => line,
            Ok(None) => std::future::pending().await,
            Err(_) => String::new(),
        }
    }

    async fn wants_stream(&self, body: &Bytes) -> bool {
        let (format, length, body) = (self.format, body.len(), body.clone());
        let work = async move { Prompt::parse(format, &body).is_ok_and(|prompt| prompt.stream()) };
        self.worker.shared.large.run(length, work).await.unwrap_or(false)
    }

    fn open(&self, route: &Route, receipt: Receipt, active: Active) -> Arc<Account> {
        let conversation = match route {
            Route::Backend(ready) => ready.conversation.as_ref().map(|(conversation, _)| conversation.clone()),
            Route::Context(..) => None,
        };
        Account::open(
            &self.worker,
            (self.caller.clone(), Client::of(&self.parts)),
            active,
            self.format,
            (self.started, Arc::clone(&self.learned)),
            (conversation, receipt),
        )
    }

    fn exchange(&self, ready: PreparedRequest) -> Exchange {
        Exchange {
            worker: self.worker.clone(),
            parts: Arc::clone(&self.parts),
            format: self.format,
            body: ready.body,
            insertions: ready.insertions,
            model: ready.model,
            streamed: ready.streamed,
            id: self.id.clone(),
            reads: true,
            is_conversation: true,
            candidates: ready.candidates,
            conversation: ready.conversation,
        }
    }

    /// Answers a prepared request.
    async fn answer(self: Arc<Self>, prepared: Prepared, active: Active) -> Response<Body> {
        let (route, receipt) = match prepared {
            Ok(prepared) => prepared,
            Err(refusal) => return refusal.response(&self.worker, &Client::of(&self.parts), self.format),
        };
        let outcome = receipt.outcome;
        let silence = self.settings.config.limits.keep_alive;
        let account = self.open(&route, receipt, active);
        let mut response = match route {
            Route::Context(answer, streamed) => {
                let mut result = ExchangeResult::built_in(reply::answer(self.format, &answer, streamed), self.format);
                account.answered(&mut result);
                account.response(result, silence)
            }
            Route::Backend(ready) if ready.streamed => stream(self.exchange(ready), account, silence).await,
            Route::Backend(ready) => whole(self.exchange(ready), account, silence).await,
        };
        reply::label(&mut response, self.format, &self.id, outcome.name());
        response
    }

    /// Begins a stream that shows the progress of an exploration. Later errors are events of the stream.
    fn stream_progress(
        self: Arc<Self>,
        preparing: BoxFuture<'static, Prepared>,
        active: Active,
        (line, receiver): (String, ProgressReceiver),
    ) -> Response<Body> {
        let (format, id, silence) = (self.format, self.id.clone(), self.settings.config.limits.keep_alive);
        let (started, learned, caller) = (self.started, Arc::clone(&self.learned), self.caller.clone());
        let known = Arc::new(OnceLock::<Arc<Account>>::new());
        let account = Arc::clone(&known);
        let answer = async move {
            let (route, receipt) = match preparing.await {
                Ok(prepared) => prepared,
                Err(refusal) => return refusal.events(&self.worker, &Client::of(&self.parts), format),
            };
            let opened = self.open(&route, receipt, active);
            let opened = account.get_or_init(|| opened);
            let (mut result, context) = match route {
                Route::Context(answer, _) => {
                    let answer = reply::answer(format, &answer, true);
                    (ExchangeResult::built_in(answer, format), AnswerContext::default())
                }
                Route::Backend(ready) => {
                    let exchange = self.exchange(ready);
                    let context = exchange.answer_context();
                    (exchange.run().await, context)
                }
            };
            opened.answered(&mut result);
            result.into_events(&self.worker.shared, format, context)
        };
        let source = Source::Exploring { line, progress: receiver, id: id.clone(), next: answer.boxed() };
        let body = AnswerBody::new(source, format, Some(silence), started, move |end| {
            if let Some(account) = known.get() {
                account.finish(end);
            }
        });
        let mut response = Response::new(Body::new(body.recorded(&learned).for_caller(&caller)));
        response.headers_mut().insert(header::CONTENT_TYPE, reply::EVENT_STREAM);
        response.headers_mut().insert(header::CACHE_CONTROL, reply::NO_CACHE);
        reply::label(&mut response, format, &id, "exploring");
        response
    }
}

/// Waits for the whole answer.
async fn whole(exchange: Exchange, account: Arc<Account>, silence: std::time::Duration) -> Response<Body> {
    let mut result = exchange.run().await;
    account.answered(&mut result);
    account.response(result, silence)
}

/// Waits for a stream. The response head waits for the backend's head, so that an error gets its own status. After
/// `silence` the stream begins with keep-alives, and later errors are events of the stream.
async fn stream(exchange: Exchange, account: Arc<Account>, silence: std::time::Duration) -> Response<Body> {
    let (format, context) = (exchange.format, exchange.answer_context());
    let shared = Arc::clone(&exchange.worker.shared);
    let mut running = exchange.run().boxed();
    if let Ok(mut result) = tokio::time::timeout(silence, &mut running).await {
        account.answered(&mut result);
        return account.response(result, silence);
    }
    let waiting = Arc::clone(&account);
    let later = running.map(move |mut result| {
        waiting.answered(&mut result);
        result.into_events(&shared, format, context)
    });
    let mut response = Response::new(account.body(Source::Waiting(later.boxed()), Some(silence)));
    response.headers_mut().insert(header::CONTENT_TYPE, reply::EVENT_STREAM);
    response.headers_mut().insert(header::CACHE_CONTROL, reply::NO_CACHE);
    response
}

enum Route {
    Context(Box<Answer>, bool),
    Backend(PreparedRequest),
}

/// A request to send.
struct PreparedRequest {
    body: Bytes,
    insertions: Vec<Insertion>,
    model: Option<std::ops::Range<usize>>,
    streamed: bool,
    candidates: Vec<Candidate>,
    conversation: Option<(Conversation, CacheLife)>,
}

/// An error with which the gateway itself answers a request.
struct Refusal {
    kind: ErrorKind,
    message: String,
}

impl Refusal {
    fn response(&self, worker: &Worker, client: &Client, format: WireFormat) -> Response<Body> {
        refusal::log(&worker.shared, client, self.kind, &self.message);
        let metrics = &worker.app.metrics;
        metrics.failed(&client.key, format, self.kind.status().as_u16());
        if self.kind == ErrorKind::Permission {
            metrics.refused(&client.key, self.kind);
        }
        reply::error(format, self.kind, &self.message)
    }

    /// The error as events, for a client whose stream has begun.
    fn events(self, worker: &Worker, client: &Client, format: WireFormat) -> Source {
        drop(self.response(worker, client, format));
        let failure = Failure { kind: self.kind, message: self.message };
        Source::Ready { text: failure_event(format, failure), end: AnswerEnd::default() }
    }
}

impl From<Failure> for Refusal {
    fn from(Failure { kind, message }: Failure) -> Self {
        Refusal { kind, message }
    }
}

impl From<NoRoute> for Refusal {
    fn from(error: NoRoute) -> Self {
        Refusal { kind: error.kind(), message: error.to_string() }
    }
}

impl From<Forbidden> for Refusal {
    fn from(error: Forbidden) -> Self {
        Refusal { kind: ErrorKind::Permission, message: error.to_string() }
    }
}

/// Prepares a request, on another thread if its body is large.
async fn prepare_anywhere(incoming: Arc<Incoming>, body: Bytes, progress: ProgressSender) -> Prepared {
    let (shared, length) = (Arc::clone(&incoming.worker.shared), body.len());
    let preparing = async move { prepare(&incoming, body, progress).await }.boxed();
    let prepared = shared.large.run(length, preparing).await;
    prepared.unwrap_or_else(|error| Err(panicked(&error).into()))
}

/// Parses a client's body, routes the request and plans its context.
async fn prepare(incoming: &Incoming, body: Bytes, progress: ProgressSender) -> Prepared {
    let Incoming { worker, settings, caller, format, parts, id, .. } = incoming;
    let (app, format, client) = (&worker.app, *format, &parts.headers);
    let prompt = Prompt::parse(format, &body)
        .map_err(|error| Refusal { kind: ErrorKind::InvalidRequest, message: error.to_string() })?;
    let model = prompt.model().map(Text::decode).unwrap_or_default();
    caller.check_model(muninn_core::strip_deep_suffix(settings, &model).0, &prompt.members)?;
    let receipt = muninn_core::new_receipt(app, caller, format, id, &model);
    let streamed = prompt.stream();
    let (plain, has_suffix) = muninn_core::strip_deep_suffix(settings, &model);
    let allowed = |backend: &str| caller.may_use_backend(backend);
    let mut candidates = match settings.router.route_for(format, plain, client, &allowed).await? {
        Target::Context => {
            let (answer, receipt) =
                muninn_core::answer_with_context(app, settings, caller, client, &prompt, receipt).await;
            return Ok((Route::Context(Box::new(answer), streamed), receipt));
        }
        Target::Candidates(candidates) => candidates,
    };
    if has_suffix {
        muninn_core::rename_candidates(&mut candidates, plain);
    }
    let mut life = CacheLife::asked(&body);
    let (mut conversation, mut placement) = (None, None);
    let identity = identify(client, &prompt);
    if let Some(name) = identity.conversation() {
        let found = settings.router.conversation(caller.name(), &name, plain);
        if candidates.len() > 1 && !found.is_known() {
            restore_place(app, &found, (&name, life), &receipt, &candidates).await;
        }
        let now = Instant::now();
        life = life.max(found.life(now).unwrap_or_default());
        placement = found.place(&mut candidates, now);
        conversation = Some(found);
    }
    // The block must fit the smallest window of all candidates.
    let window = candidates.iter().filter_map(|candidate| candidate.backend.context_window).min();
    let prices = candidates.first().map(|candidate| candidate.backend.prices).unwrap_or_default();
    let Plan { insertions, mut receipt, .. } = muninn_core::plan(
        app,
        PlanRequest {
            caller,
            headers: client,
            prompt: &prompt,
            identity: &identity,
            window,
            prices: match life {
                CacheLife::FiveMinutes => prices,
                CacheLife::Hour => prices.for_an_hour(),
            },
            deep: muninn_core::choose_deep_lane(app, settings, caller, client, has_suffix, (&candidates, plain)),
            progress,
            with_preamble: true,
        },
        receipt,
    )
    .await;
    receipt.backend = candidates.first().map(|candidate| candidate.backend.name.clone()).unwrap_or_default();
    receipt.placement = placement;
    let model = prompt.model_span();
    let observed = ObservedConversation::of(&identity);
    drop(identity);
    drop(prompt);
    let is_conversation = receipt.side_request.is_none() && receipt.outcome != Outcome::Bypass;
    if is_conversation
        && let Some(conversation) = observed
        && let Some(workspace) = app.workspaces.opened(Path::new(&receipt.worktree))
    {
        app.learner.observe(ObservedRequest {
            body: incoming.uncounted.clone(),
            format,
            conversation,
            answer: Arc::clone(&incoming.learned),
            workspace,
            caller: caller.clone(),
            summarizer: SummarizerChoice::of(app, settings, caller),
            observing: Observing::Request,
            personal: app.personal.clone(),
            signals: app.signals_of(caller),
        });
    }
    Ok((
        Route::Backend(PreparedRequest {
            body,
            insertions,
            model,
            streamed,
            candidates,
            conversation: conversation.map(|conversation| (conversation, life)),
        }),
        receipt,
    ))
}

/// Keeps a conversation where its newest receipt says that it was answered, as after a restart.
async fn restore_place(
    app: &App,
    conversation: &Conversation,
    (name, life): (&str, CacheLife),
    receipt: &Receipt,
    candidates: &[Candidate],
) {
    let Some(store) = &app.store else { return };
    let receipts = store.receipts_of(ReceiptsOf::conversation(name, RECENT_RECEIPTS)).await.unwrap_or_default();
    let is_answered = |earlier: &&Receipt| {
        earlier.key == receipt.key
            && earlier.model == receipt.model
            && earlier.status.is_some_and(|status| (200..300).contains(&status))
    };
    let Some(newest) = receipts.iter().find(is_answered) else { return };
    let place = candidates.iter().map(|candidate| &candidate.backend);
    let place =
        place.into_iter().find(|backend| backend.name == newest.backend && backend.key_number == newest.backend_key);
    let age = newest.at.parse::<jiff::Timestamp>().map(|at| jiff::Timestamp::now().duration_since(at).unsigned_abs());
    if let (Some(backend), Ok(age)) = (place, age)
        && let Some(used) = Instant::now().checked_sub(age)
    {
        conversation.keep(backend, life, used);
    }
}
