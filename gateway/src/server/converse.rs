//! The three conversation endpoints: read, plan, send, stream back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Response};
use muninn_context_engine::{Limits, render, tokens};

use super::turn::{Plan, millis, new_receipt, not_for_this_key, plan};
use super::{App, Settings, Shared, body, headers, reply};
use crate::access::{Caller, Forbidden};
use crate::backend::{Backend, CONTEXT_MODEL, NoRoute, Target, apply_credentials};
use crate::inject::splice;
use crate::metrics::{Active, Finished, observed};
use crate::session::newest_human_turn;
use crate::store::{Outcome, Receipt, ReceiptItem};
use crate::wire::answer::Answer;
use crate::wire::error::ErrorKind;
use crate::wire::{Prompt, Text, WireFormat};

/// Bodies above this are looked into on a thread of their own, so that other streams of this worker go on.
const LARGE: usize = 1 << 20;
/// What the built-in model may pack, and how long it may take: there is nobody to keep waiting behind it.
const CONTEXT_MODEL_TOKENS: u32 = 3_600;
const CONTEXT_MODEL_PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);

/// Answers one request of a conversation.
pub(super) async fn converse(app: App, format: WireFormat, parts: Parts, body: Body) -> Response<Body> {
    let settings = app.shared.settings();
    let caller = Caller::of(&parts.extensions);
    let active = app.shared.metrics.started();
    let announced = parts
        .headers
        .get(http::header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse().ok());
    let body = match body::read(body, announced, &settings.config.limits).await {
        Ok(body) => body,
        Err(error) => return reply::error(format, error.kind, &error.message),
    };
    let started = Instant::now();
    let prepared = if body.len() > LARGE {
        let (shared, settings, caller, client, runtime) = (
            Arc::clone(&app.shared),
            Arc::clone(&settings),
            caller.clone(),
            parts.headers.clone(),
            tokio::runtime::Handle::current(),
        );
        let work = tokio::task::spawn_blocking(move || {
            runtime.block_on(prepare(&shared, &settings, &caller, format, &client, body))
        });
        match work.await {
            Ok(prepared) => prepared,
            Err(error) => {
                return reply::error(format, ErrorKind::BadGateway, &format!("Muninn failed: {error}"));
            }
        }
    } else {
        prepare(&app.shared, &settings, &caller, format, &parts.headers, body).await
    };
    let (body, route, mut receipt) = match prepared {
        Ok(prepared) => prepared,
        Err(refusal) => {
            if refusal.kind == ErrorKind::Permission {
                app.shared.metrics.refused(caller.name(), refusal.kind);
            }
            return refusal.response(format);
        }
    };
    let added = started.elapsed();
    receipt.ms = millis(added);
    let mut response = match route {
        Route::Context(answer, streamed) => reply::answer(format, &answer, streamed),
        Route::Backend(backend) => forward(&app, &parts, format, &backend, body).await,
    };
    reply::label(&mut response, &receipt.id, receipt.outcome);
    let response = observe(&app, caller, active, (started, added), (format, &receipt), response);
    let (shared, status) = (Arc::clone(&app.shared), response.status().as_u16());
    // Once this task has written the answer's head: the client does not wait for our bookkeeping.
    app.bookkeeping.spawn(async move { keep(&shared, receipt, status) });
    response
}

enum Route {
    Context(Box<Answer>, bool),
    Backend(Arc<Backend>),
}

/// A request that is answered by an error of ours.
struct Refusal {
    kind: ErrorKind,
    message: String,
}

impl Refusal {
    fn response(&self, format: WireFormat) -> Response<Body> {
        tracing::info!(status = self.kind.status().as_u16(), "refused: {}", self.message);
        reply::error(format, self.kind, &self.message)
    }
}

impl From<NoRoute> for Refusal {
    fn from(error: NoRoute) -> Self {
        Refusal {
            kind: error.kind(),
            message: error.to_string(),
        }
    }
}

impl From<Forbidden> for Refusal {
    fn from(error: Forbidden) -> Self {
        Refusal {
            kind: ErrorKind::Permission,
            message: error.to_string(),
        }
    }
}

/// Watches an answer to its end, and then writes the request down.
fn observe(
    app: &App,
    caller: Caller,
    active: Active,
    (started, added): (Instant, Duration),
    (format, receipt): (WireFormat, &Receipt),
    response: Response<Body>,
) -> Response<Body> {
    let (shared, backend) = (Arc::clone(&app.shared), receipt.backend.clone());
    let (outcome, injected_tokens) = (receipt.outcome, receipt.tokens);
    let (head, body) = response.into_parts();
    let status = head.status.as_u16();
    let streamed = head
        .headers
        .get(http::header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    let body = observed(body, &head.headers, started, move |end| {
        shared.finished(&Finished {
            key: caller.name(),
            format,
            backend: &backend,
            spoken: format,
            status,
            streamed,
            first_byte: end.first_byte,
            added,
            usage: end.usage,
            outcome,
            injected_tokens,
        });
        drop(active);
    });
    Response::from_parts(head, body)
}

/// From the client's body to the backend's.
async fn prepare(
    shared: &Arc<Shared>,
    settings: &Settings,
    caller: &Caller,
    format: WireFormat,
    client: &HeaderMap,
    body: Bytes,
) -> Result<(Bytes, Route, Receipt), Refusal> {
    let invalid = |message: String| Refusal {
        kind: ErrorKind::InvalidRequest,
        message,
    };
    let prompt = Prompt::parse(format, &body).map_err(|error| invalid(error.to_string()))?;
    let model = prompt.model().map(Text::decode).unwrap_or_default();
    caller.check_model(&model, &prompt.members)?;
    let receipt = new_receipt(shared, caller, format, &model);
    let target = settings.router.route(format, &model, client).await?;
    let (backend, rename) = match target {
        Target::Context => {
            let (answer, receipt) = answer_with_context(shared, settings, caller, &prompt, receipt).await;
            let streamed = prompt.stream();
            return Ok((Bytes::new(), Route::Context(Box::new(answer), streamed), receipt));
        }
        Target::Backend { backend, rename } => (backend, rename),
    };
    caller.check_backend(&backend.name)?;
    let Plan {
        mut insertions,
        mut receipt,
        ..
    } = plan(
        shared,
        settings.config.test.replay,
        caller,
        client,
        &prompt,
        backend.context_window,
        receipt,
    )
    .await;
    insertions.extend(rename.and_then(|name| prompt.rename_model(&name)));
    receipt.backend = backend.name.clone();
    drop(model);
    drop(prompt);
    Ok((splice(body, insertions), Route::Backend(backend), receipt))
}

/// Sends a body to a backend and passes on what comes back.
pub(super) async fn forward(
    app: &App,
    parts: &Parts,
    format: WireFormat,
    backend: &Backend,
    body: Bytes,
) -> Response<Body> {
    let mut headers = headers::for_backend(&parts.headers);
    apply_credentials(&mut headers, backend, format);
    let path = parts.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    match app
        .transport
        .send(parts.method.clone(), &backend.url, path, headers, body)
        .await
    {
        Ok(mut response) => {
            headers::for_client(response.headers_mut());
            response
        }
        Err(error) => reply::error(
            format,
            ErrorKind::BadGateway,
            &format!("backend `{}`: {error}", backend.name),
        ),
    }
}

/// The built-in model: the pack itself, as Markdown.
async fn answer_with_context(
    shared: &Arc<Shared>,
    settings: &Settings,
    caller: &Caller,
    prompt: &Prompt<'_>,
    mut receipt: Receipt,
) -> (Answer, Receipt) {
    CONTEXT_MODEL.clone_into(&mut receipt.backend);
    let question = newest_human_turn(prompt).map(|turn| turn.question).unwrap_or_default();
    let input_tokens = u32::try_from(question.len() / 4).unwrap_or(u32::MAX);
    receipt.first_words = super::turn::first_words(&question);
    let refused =
        (!caller.may_use_root(&shared.repository.root)).then(|| not_for_this_key(caller, &shared.repository.root));
    let exploration = if refused.is_some() {
        None
    } else {
        let shared = Arc::clone(shared);
        let explore = move || {
            let limits = Limits {
                tokens: CONTEXT_MODEL_TOKENS,
                deadline: Instant::now() + CONTEXT_MODEL_PATIENCE,
            };
            let exploration = shared.repository.engine.as_ref()?.explore(&question, &limits);
            let text = render::markdown(&exploration.items);
            let cost = tokens::count(&text);
            Some((exploration, text, cost))
        };
        tokio::task::spawn_blocking(explore).await.ok().flatten()
    };
    let mut text = String::new();
    let mut output_tokens = 0;
    match exploration {
        Some((exploration, packed, cost)) if !exploration.items.is_empty() => {
            receipt.items = exploration.items.iter().map(ReceiptItem::from).collect();
            receipt.tokens = cost;
            receipt.explore_ms = millis(exploration.elapsed);
            receipt.reason = exploration.reason;
            receipt.outcome = match exploration.completeness {
                muninn_context_engine::Completeness::Full => Outcome::Injected,
                muninn_context_engine::Completeness::Partial => Outcome::Partial,
            };
            text = packed;
            output_tokens = cost;
        }
        Some((exploration, ..)) => {
            receipt.explore_ms = millis(exploration.elapsed);
            receipt.reason = exploration.reason;
        }
        None => receipt.reason = refused.or_else(|| shared.repository.problem.clone()),
    }
    let answer = Answer {
        id: receipt.id.clone(),
        model: CONTEXT_MODEL.to_owned(),
        created: jiff::Timestamp::now().as_second(),
        pieces: super::notice::around(settings, text, receipt.reason.as_deref()),
        input_tokens,
        output_tokens,
    };
    (answer, receipt)
}

/// What is left to do for a request that is on its way.
fn keep(shared: &Arc<Shared>, receipt: Receipt, status: u16) {
    log(&receipt, status);
    shared.keep_index_fresh(&receipt.worktree);
    if let Some(store) = &shared.store {
        store.note_receipt(receipt);
    }
}

/// One line per request: what came of it and the id to ask `why` about. No word of the prompt, and no code.
fn log(receipt: &Receipt, status: u16) {
    tracing::info!(
        id = %receipt.id,
        outcome = receipt.outcome.name(),
        items = receipt.items.len(),
        tokens = receipt.tokens,
        replayed = receipt.replayed.blocks,
        ms = receipt.ms,
        status,
        backend = %receipt.backend,
        "{}", receipt.format
    );
}
