//! The three conversation endpoints: read, plan, send, stream back.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Response};
use muninn_context_engine::{Limits, render, tokens};

use super::turn::{Mode, Plan, millis, new_receipt, plan};
use super::{App, Settings, Shared, body, headers, reply};
use crate::backend::{CONTEXT_MODEL, Candidate, NoRoute, Outgoing, Target, Unanswered, apply_credentials, attempt};
use crate::inject::splice;
use crate::session::newest_human_turn;
use crate::store::{Outcome, Receipt, ReceiptItem};
use crate::wire::answer::Answer;
use crate::wire::error::ErrorKind;
use crate::wire::{Insertion, Prompt, Text, WireFormat};

/// Bodies above this are looked into on a thread of their own, so that other streams of this worker go on.
const LARGE: usize = 1 << 20;
/// What the built-in model may pack, and how long it may take: there is nobody to keep waiting behind it.
const CONTEXT_MODEL_TOKENS: u32 = 3_600;
const CONTEXT_MODEL_PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);

/// Answers one request of a conversation.
pub(super) async fn converse(app: App, format: WireFormat, parts: Parts, body: Body) -> Response<Body> {
    let settings = app.shared.settings();
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
        let (shared, settings, client, runtime) = (
            Arc::clone(&app.shared),
            Arc::clone(&settings),
            parts.headers.clone(),
            tokio::runtime::Handle::current(),
        );
        let work =
            tokio::task::spawn_blocking(move || runtime.block_on(prepare(&shared, &settings, format, &client, body)));
        match work.await {
            Ok(prepared) => prepared,
            Err(error) => {
                return reply::error(format, ErrorKind::BadGateway, &format!("Muninn failed: {error}"));
            }
        }
    } else {
        prepare(&app.shared, &settings, format, &parts.headers, body).await
    };
    let (route, mut receipt) = match prepared {
        Ok(prepared) => prepared,
        Err(refusal) => return refusal.response(format),
    };
    receipt.ms = millis(started.elapsed());
    let mut response = match route {
        Route::Context(answer, streamed) => reply::answer(format, &answer, streamed),
        Route::Backends(bodies) => {
            let Bodies {
                candidates,
                body,
                insertions,
                mut renames,
            } = bodies;
            let body_for = || {
                let rename = renames.next().flatten();
                splice(body.clone(), insertions.iter().cloned().chain(rename).collect())
            };
            let (response, backend) = forward(&app, &parts, format, &candidates, body_for).await;
            receipt.backend = backend;
            response
        }
    };
    reply::label(&mut response, &receipt.id, receipt.outcome);
    let (shared, status) = (Arc::clone(&app.shared), response.status().as_u16());
    // Once this task has written the answer's head: the client does not wait for our bookkeeping.
    app.bookkeeping.spawn(async move { keep(&shared, receipt, status) });
    response
}

enum Route {
    Context(Box<Answer>, bool),
    Backends(Bodies),
}

/// What it takes to make the body for each candidate.
struct Bodies {
    candidates: Vec<Candidate>,
    body: Bytes,
    insertions: Vec<Insertion>,
    /// For each candidate, in order.
    renames: std::vec::IntoIter<Option<Insertion>>,
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

/// From the client's body to the backend's.
async fn prepare(
    shared: &Arc<Shared>,
    settings: &Settings,
    format: WireFormat,
    client: &HeaderMap,
    body: Bytes,
) -> Result<(Route, Receipt), Refusal> {
    let invalid = |message: String| Refusal {
        kind: ErrorKind::InvalidRequest,
        message,
    };
    let prompt = Prompt::parse(format, &body).map_err(|error| invalid(error.to_string()))?;
    let model = prompt.model().map(Text::decode).unwrap_or_default();
    let receipt = new_receipt(shared, format, &model);
    let target = settings.router.route(format, &model, client).await?;
    let candidates = match target {
        Target::Context => {
            let (answer, receipt) = answer_with_context(shared, settings, &prompt, receipt).await;
            let streamed = prompt.stream();
            return Ok((Route::Context(Box::new(answer), streamed), receipt));
        }
        Target::Candidates(candidates) => candidates,
    };
    let Plan {
        insertions, receipt, ..
    } = plan(
        shared,
        settings.config.test.replay,
        client,
        &prompt,
        candidates.first().and_then(|first| first.backend.context_window),
        Mode::of(client),
        receipt,
    )
    .await;
    let rename = |candidate: &Candidate| prompt.rename_model(candidate.rename.as_ref()?);
    let renames: Vec<_> = candidates.iter().map(rename).collect();
    drop(model);
    drop(prompt);
    let bodies = Bodies {
        candidates,
        body,
        insertions,
        renames: renames.into_iter(),
    };
    Ok((Route::Backends(bodies), receipt))
}

/// Sends a body to the first backend that answers, and passes on what comes back, with that backend's name.
pub(super) async fn forward(
    app: &App,
    parts: &Parts,
    format: WireFormat,
    candidates: &[Candidate],
    mut body_for: impl FnMut() -> Bytes,
) -> (Response<Body>, String) {
    let path = parts.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let attempted = attempt(&app.transport, candidates, |candidate| {
        let body = body_for();
        if candidate.format != format {
            return Err(Refusal {
                kind: ErrorKind::InvalidRequest,
                message: format!(
                    "backend `{}` does not speak {}, and Muninn does not convert between wire formats yet",
                    candidate.backend.name,
                    format.path()
                ),
            });
        }
        let mut headers = headers::for_backend(&parts.headers);
        apply_credentials(&mut headers, &candidate.backend, candidate.format);
        Ok(Outgoing {
            method: parts.method.clone(),
            path: path.to_owned(),
            headers,
            body,
        })
    })
    .await;
    let named = |index: Option<usize>| {
        let candidate = index.map_or(candidates.first(), |index| candidates.get(index));
        candidate
            .map(|candidate| candidate.backend.name.clone())
            .unwrap_or_default()
    };
    match attempted.outcome {
        Ok(answered) => {
            let mut response = answered.response;
            headers::for_client(response.headers_mut());
            (response, named(Some(answered.candidate)))
        }
        Err(Unanswered::Request(refusal)) => (refusal.response(format), named(None)),
        Err(Unanswered::Backend(error)) => {
            let mut response = reply::error(format, error.kind(), &error.to_string());
            if let Some(wait) = error.retry_after() {
                response
                    .headers_mut()
                    .insert(http::header::RETRY_AFTER, wait.as_secs().into());
            }
            (response, named(None))
        }
    }
}

/// The built-in model: the pack itself, as Markdown.
async fn answer_with_context(
    shared: &Arc<Shared>,
    settings: &Settings,
    prompt: &Prompt<'_>,
    mut receipt: Receipt,
) -> (Answer, Receipt) {
    CONTEXT_MODEL.clone_into(&mut receipt.backend);
    let question = newest_human_turn(prompt).map(|turn| turn.question).unwrap_or_default();
    let input_tokens = u32::try_from(question.len() / 4).unwrap_or(u32::MAX);
    receipt.first_words = super::turn::first_words(&question);
    let exploration = {
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
        None => receipt.reason = shared.repository.problem.clone(),
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
    if let Some(store) = &shared.store {
        store.note_receipt(receipt);
    }
    keep_index_fresh(shared);
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

/// Looks at the worktree again once the request is on its way, for the next one.
fn keep_index_fresh(shared: &Arc<Shared>) {
    if shared.repository.is_due() {
        let shared = Arc::clone(shared);
        tokio::task::spawn_blocking(move || {
            if let Err(error) = shared.repository.refresh(&()) {
                tracing::warn!(%error, "the index could not be brought up to date");
            }
        });
    }
}
