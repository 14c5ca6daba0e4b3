//! The three conversation endpoints: read, plan, send, stream back.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use bytes::Bytes;
use futures_util::future::FutureExt;
use http::request::Parts;
use http::{HeaderMap, Response, header};

use super::account::Account;
use super::answer_body::Source;
use super::exchange::{Exchange, Exchanged};
use super::turn::{Plan, new_receipt, plan};
use super::{App, Settings, Shared, body, context_model, reply};
use crate::access::{Caller, Forbidden};
use crate::backend::{Candidate, NoRoute, Target};
use crate::store::Receipt;
use crate::wire::answer::Answer;
use crate::wire::error::ErrorKind;
use crate::wire::{Insertion, Prompt, Text, WireFormat};

/// Bodies above this are looked into on a thread of their own, so that other streams of this worker go on.
const LARGE: usize = 1 << 20;

/// Answers one request of a conversation.
pub(super) async fn converse(app: App, format: WireFormat, parts: Parts, body: Body) -> Response<Body> {
    let settings = app.shared.settings();
    let caller = Caller::of(&parts.extensions);
    let active = app.shared.metrics.started();
    let body = match body::read(body, &parts.headers, &settings.config.limits).await {
        Ok(body) => body,
        Err(error) => return reply::error(format, error.kind, &error.message),
    };
    let started = Instant::now();
    let (route, receipt) = match prepare_anywhere(&app, &settings, &caller, format, &parts.headers, body).await {
        Ok(prepared) => prepared,
        Err(refusal) => return refusal.response(&app, &caller, format),
    };
    let (id, outcome) = (receipt.id.clone(), receipt.outcome);
    let account = Account::open(&app, caller, active, format, started, receipt);
    let mut response = match route {
        Route::Context(answer, streamed) => {
            let exchanged = Exchanged::of_ourselves(reply::answer(format, &answer, streamed), format);
            account.answered(&exchanged);
            account.response(exchanged, settings.config.limits.keep_alive)
        }
        Route::Backend(Ready {
            body,
            insertions,
            model,
            streamed,
            candidates,
        }) => {
            let silence = settings.config.limits.keep_alive;
            let id = id.clone();
            let exchange = Exchange {
                app,
                parts,
                format,
                body,
                insertions,
                model,
                streamed,
                id,
                candidates,
            };
            if streamed {
                stream(exchange, account, silence).await
            } else {
                whole(exchange, account, silence).await
            }
        }
    };
    reply::label(&mut response, &id, outcome);
    response
}

/// Waits for a whole answer for as long as the backend takes.
async fn whole(exchange: Exchange, account: Arc<Account>, silence: std::time::Duration) -> Response<Body> {
    let exchanged = exchange.run().await;
    account.answered(&exchanged);
    account.response(exchanged, silence)
}

/// Waits for a stream. Its head is held back until the backend's own has come, so that an error can still be one; after
/// a while of silence the client hears that somebody is there, and what goes wrong then is said in the stream.
async fn stream(exchange: Exchange, account: Arc<Account>, silence: std::time::Duration) -> Response<Body> {
    let (format, context) = (exchange.format, exchange.answer_context());
    let mut running = exchange.run().boxed();
    if let Ok(exchanged) = tokio::time::timeout(silence, &mut running).await {
        account.answered(&exchanged);
        return account.response(exchanged, silence);
    }
    let waiting = Arc::clone(&account);
    let later = running.map(move |exchanged| {
        waiting.answered(&exchanged);
        exchanged.into_events(format, context)
    });
    let mut response = Response::new(account.body(Source::Waiting(later.boxed()), Some(silence)));
    response.headers_mut().insert(header::CONTENT_TYPE, reply::EVENT_STREAM);
    response.headers_mut().insert(header::CACHE_CONTROL, reply::NO_CACHE);
    response
}

enum Route {
    Context(Box<Answer>, bool),
    Backend(Ready),
}

/// A request that is ready to be sent.
struct Ready {
    body: Bytes,
    insertions: Vec<Insertion>,
    model: Option<std::ops::Range<usize>>,
    streamed: bool,
    candidates: Vec<Candidate>,
}

/// A request that is answered by an error of ours.
struct Refusal {
    kind: ErrorKind,
    message: String,
}

impl Refusal {
    fn response(&self, app: &App, caller: &Caller, format: WireFormat) -> Response<Body> {
        tracing::info!(status = self.kind.status().as_u16(), "refused: {}", self.message);
        app.shared
            .metrics
            .failed(caller.name(), format, self.kind.status().as_u16());
        if self.kind == ErrorKind::Permission {
            app.shared.metrics.refused(caller.name(), self.kind);
        }
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

/// Prepares a request here, or on another thread where its body is large.
async fn prepare_anywhere(
    app: &App,
    settings: &Arc<Settings>,
    caller: &Caller,
    format: WireFormat,
    client: &HeaderMap,
    body: Bytes,
) -> Result<(Route, Receipt), Refusal> {
    if body.len() <= LARGE {
        return prepare(&app.shared, settings, caller, format, client, body).await;
    }
    let (shared, settings, caller, client, runtime) = (
        Arc::clone(&app.shared),
        Arc::clone(settings),
        caller.clone(),
        client.clone(),
        tokio::runtime::Handle::current(),
    );
    let work = move || runtime.block_on(prepare(&shared, &settings, &caller, format, &client, body));
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
        Err(Refusal {
            kind: ErrorKind::Server,
            message: format!("Muninn failed: {error}"),
        })
    })
}

/// From the client's body to what is sent for it.
async fn prepare(
    shared: &Arc<Shared>,
    settings: &Settings,
    caller: &Caller,
    format: WireFormat,
    client: &HeaderMap,
    body: Bytes,
) -> Result<(Route, Receipt), Refusal> {
    let prompt = Prompt::parse(format, &body).map_err(|error| Refusal {
        kind: ErrorKind::InvalidRequest,
        message: error.to_string(),
    })?;
    let model = prompt.model().map(Text::decode).unwrap_or_default();
    caller.check_model(deep::meant(settings, &model).0, &prompt.members)?;
    let receipt = new_receipt(shared, caller, format, id, &model);
    let streamed = prompt.stream();
    let (plain, asked) = deep::meant(settings, &model);
    let allowed = |backend: &str| caller.may_use_backend(backend);
    let mut candidates = match settings.router.route_for(format, plain, client, &allowed).await? {
        Target::Context => {
            let (answer, receipt) = context_model::answer(shared, settings, caller, client, &prompt, receipt).await;
            return Ok((Route::Context(Box::new(answer), streamed), receipt));
        }
        Target::Candidates(candidates) => candidates,
    };
    if asked {
        deep::rename(&mut candidates, plain);
    }
    // What is added must fit whoever answers in the end.
    let window = candidates
        .iter()
        .filter_map(|candidate| candidate.backend.context_window)
        .min();
    let Plan {
        insertions,
        mut receipt,
        ..
    } = plan(
        shared,
        Asked {
            put_back: settings.config.test.replay,
            caller,
            headers: client,
            prompt: &prompt,
            window,
            deep: deep::choose(shared, settings, caller, client, asked, (&candidates, plain)),
            progress,
        },
        receipt,
    )
    .await;
    receipt.backend = candidates
        .first()
        .map(|candidate| candidate.backend.name.clone())
        .unwrap_or_default();
    let model = prompt.model_span();
    drop(prompt);
    Ok((
        Route::Backend(Ready {
            body,
            insertions,
            model,
            streamed,
            candidates,
        }),
        receipt,
    ))
}
