//! Which path is answered by what.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::routing::{any, get};
use http::{HeaderValue, Method, Response, StatusCode, header};
use muninn_context_engine::IndexStatus;
use serde_json::json;

use super::{App, body, converse::converse, converse::forward, guard, reply};
use crate::backend::{Target, list_models, render_models};
use crate::wire::error::ErrorKind;
use crate::wire::{Dialect, Members, Text, WireFormat};

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
        .route("/", get(root))
        .fallback(other)
        .layer(axum::middleware::from_fn(guarded))
        .with_state(app)
}

async fn guarded(request: Request, next: axum::middleware::Next) -> Response<Body> {
    match guard::refusal(request.headers(), request.uri()) {
        Some(reason) => {
            tracing::info!(status = 403, "refused: {reason}");
            reply::error(
                WireFormat::of_path(request.uri().path()),
                ErrorKind::Permission,
                &reason,
            )
        }
        None => next.run(request).await,
    }
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

async fn health(State(app): State<App>) -> Response<Body> {
    let repository = &app.shared.repository;
    let index = match repository.engine.as_ref().map(|engine| engine.status()) {
        None => json!({"state": "none", "reason": repository.problem}),
        Some(IndexStatus::Empty) => json!({"state": "empty"}),
        Some(IndexStatus::Indexing { done, total }) => {
            json!({"state": "indexing", "done": done, "total": total})
        }
        Some(IndexStatus::Ready {
            files,
            chunks,
            memories,
        }) => {
            json!({"state": "ready", "files": files, "chunks": chunks, "memories": memories})
        }
    };
    let ledger = app.shared.store_problem.as_deref().unwrap_or("ok");
    let health = json!({
        "status": "ok", "version": env!("CARGO_PKG_VERSION"), "root": repository.root, "index": index, "ledger": ledger,
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
    let models = list_models(&app.shared.settings().router, &app.transport, headers).await;
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
    let announced = parts
        .headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse().ok());
    let settings = app.shared.settings();
    let body = match body::read(body, announced, &settings.config.limits).await {
        Ok(body) => body,
        Err(error) => return reply::error(format, error.kind, &error.message),
    };
    let model = std::str::from_utf8(&body)
        .ok()
        .and_then(|body| Members::of(body.trim_ascii()))
        .and_then(|members| members.text("model").map(Text::decode).map(|model| model.into_owned()))
        .unwrap_or_default();
    match settings.router.route(format, &model, &parts.headers).await {
        Ok(Target::Candidates(candidates)) => {
            forward(&app, &parts, format, candidates.get(..1).unwrap_or_default(), || {
                body.clone()
            })
            .await
            .0
        }
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
