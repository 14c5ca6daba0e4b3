//! Which path is answered by what.

use axum::body::Body;
use axum::extract::{Extension, Request, State};
use axum::routing::{any, get};
use http::{HeaderValue, Method, Response, StatusCode, header};
use serde_json::json;

use super::door::{door, forbid};
use super::{App, body, converse::converse, converse::forward, reply};
use crate::access::{Caller, Forbidden};
use crate::backend::{CONTEXT_MODEL, Target, list_models, render_models};
use crate::metrics::CONTENT_TYPE;
use crate::wire::error::ErrorKind;
use crate::wire::{Dialect, Members, Text, WireFormat};

/// Paths that are forwarded as they are, but whose model is looked at before: all that a restricted key gets of them.
const SEEN: [&str; 3] = ["/v1/messages/count_tokens", "/v1/embeddings", "/v1/completions"];

/// The whole service.
pub(super) fn service(app: App) -> axum::Router {
    axum::Router::new()
        .route(
            "/v1/chat/completions",
            any(|State(app), request| conversation(app, WireFormat::Chat, request)),
        )
        .route(
            "/v1/messages",
            any(|State(app), request| conversation(app, WireFormat::Messages, request)),
        )
        .route(
            "/v1/responses",
            any(|State(app), request| conversation(app, WireFormat::Responses, request)),
        )
        .route("/v1/models", get(models))
        .route("/healthz", get(health))
        .route("/metrics", get(metrics))
        .route("/", get(root))
        .fallback(other)
        .layer(axum::middleware::from_fn_with_state(app.clone(), door))
        .with_state(app)
}

async fn conversation(app: App, format: WireFormat, request: Request) -> Response<Body> {
    let upgrade = request
        .headers()
        .get(header::UPGRADE)
        .is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"websocket"));
    if upgrade {
        return reply::error(
            format,
            ErrorKind::UpgradeRefused,
            "WebSockets are not spoken here; use POST with `stream: true`",
        );
    }
    if request.method() != Method::POST {
        return passed_on(app, request).await;
    }
    let (parts, body) = request.into_parts();
    converse(app, format, parts, body).await
}

async fn root() -> &'static str {
    "muninn\n"
}

async fn metrics(State(app): State<App>) -> Response<Body> {
    let mut response = Response::new(Body::from(app.shared.metrics.render()));
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE));
    response
}

/// How it is doing, for those who may see the repository; that it lives, for everybody.
async fn health(State(app): State<App>, caller: Option<Extension<Caller>>) -> Response<Body> {
    let repository = &app.shared.repository;
    let Some(caller) = caller.filter(|Extension(caller)| caller.may_use_root(&repository.root)) else {
        return reply::json(StatusCode::OK, json!({"status": "ok"}).to_string());
    };
    let mut worktrees = app.shared.repositories.all();
    worktrees.retain(|worktree| caller.may_use_root(&worktree.root));
    let worktrees: Vec<_> = worktrees
        .iter()
        .map(|worktree| json!({"root": worktree.root, "index": worktree.index()}))
        .collect();
    let ledger = app.shared.store_problem.as_deref().unwrap_or("ok");
    let health = json!({
        "status": "ok", "version": env!("CARGO_PKG_VERSION"), "root": repository.root, "index": repository.index(), "worktrees": worktrees, "ledger": ledger,
    });
    reply::json(StatusCode::OK, health.to_string())
}

async fn models(State(app): State<App>, request: Request) -> Response<Body> {
    let headers = request.headers();
    let dialect = if headers.contains_key("anthropic-version") {
        Dialect::Anthropic
    } else {
        Dialect::OpenAi
    };
    let caller = Caller::of(request.extensions());
    let mut models = list_models(&app.shared.settings().router, &app.transport, headers).await;
    models.retain(|(model, backend)| {
        caller.may_use_model(model) && (model == CONTEXT_MODEL || caller.may_use_backend(backend))
    });
    reply::json(StatusCode::OK, render_models(&models, dialect).to_string())
}

async fn other(State(app): State<App>, request: Request) -> Response<Body> {
    if request.uri().path().starts_with("/v1/") {
        return passed_on(app, request).await;
    }
    let format = WireFormat::of_path(request.uri().path());
    let message = format!("there is nothing at {}; the API is under /v1/", request.uri().path());
    reply::error(format, ErrorKind::NotFound, &message)
}

/// Any other path of the API: forwarded as it is, to the backend that would get a conversation about the same model.
async fn passed_on(app: App, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let format = WireFormat::of_path(parts.uri.path());
    let caller = Caller::of(&parts.extensions);
    if caller.is_restricted() && !(parts.method == Method::POST && SEEN.contains(&parts.uri.path())) {
        let (key, path) = (caller.name().to_owned(), parts.uri.path().to_owned());
        body::drain(body).await;
        return forbid(&app, format, &caller, &Forbidden::Unseen { key, path });
    }
    let announced = parts
        .headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse().ok());
    let settings = app.shared.settings();
    let body = match body::read(body, announced, &settings.config.limits).await {
        Ok(body) => body,
        Err(error) => return reply::error(format, error.kind, &error.message),
    };
    let members = std::str::from_utf8(&body)
        .ok()
        .and_then(|body| Members::of(body.trim_ascii()))
        .unwrap_or_default();
    let model = members.text("model").map(Text::decode).unwrap_or_default().into_owned();
    if let Err(forbidden) = caller.check_model(&model, &members) {
        return forbid(&app, format, &caller, &forbidden);
    }
    drop(members);
    let target = settings.router.route(format, &model, &parts.headers).await;
    if let Ok(Target::Backend { backend, .. }) = &target
        && let Err(forbidden) = caller.check_backend(&backend.name)
    {
        return forbid(&app, format, &caller, &forbidden);
    }
    match target {
        Ok(Target::Backend { backend, .. }) => forward(&app, &parts, format, &backend, body).await,
        Ok(Target::Context) => reply::error(
            format,
            ErrorKind::NotFound,
            &format!("muninn/context does not answer at {}", parts.uri.path()),
        ),
        Err(error) => {
            let mut response = reply::error(format, error.kind(), &error.to_string());
            response
                .headers_mut()
                .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
            response
        }
    }
}
