//! The routes, each with its row in the table of doors.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::routing::{any, get, post};
use futures_util::FutureExt;
use http::{HeaderValue, Method, Response, StatusCode, header};
use muninn_backend::access::{Caller, Door};
use muninn_backend::metrics::CONTENT_TYPE;
use muninn_backend::{ModelPage, list_models, own_model, render_models};
use muninn_wire::error::ErrorKind;
use muninn_wire::{Dialect, WireFormat};
use serde_json::json;

use super::admission::admit_request;
use super::converse::converse;
use super::count::count_tokens;
use super::forward::{CHECKED_PATHS, forward};
use super::gate::{self, ELSEWHERE, Route};
use super::{Mount, Worker, reply, websocket, wiki};

/// The whole service.
pub(super) fn service(worker: Worker, mounts: Vec<Mount>) -> axum::Router {
    let mounted = mounts.into_iter().map(|(path, door, service)| Route::new(path, door, service.with_state(())));
    let routes = routes().into_iter().chain(mounted).collect();
    let routes = gate::router(&worker, routes).with_state(worker.clone());
    // Admission may rewrite the path, so it must run before the routes are matched: a layer of the inner router would run
    // after.
    axum::Router::new().fallback_service(routes).layer(axum::middleware::from_fn_with_state(worker, admit_request))
}

/// The routes of this server without those of other modules.
fn routes() -> Vec<Route> {
    let mut routes = vec![
        Route::new(
            "/v1/chat/completions",
            Door::Converse,
            any(|State(worker), request| conversation(worker, WireFormat::Chat, request)),
        ),
        Route::new(
            "/v1/messages",
            Door::Converse,
            any(|State(worker), request| conversation(worker, WireFormat::Messages, request)),
        ),
        Route::new(
            "/v1/responses",
            Door::Converse,
            any(|State(worker), request| conversation(worker, WireFormat::Responses, request)),
        ),
        Route::new(
            "/v1/messages/count_tokens",
            Door::CountTokens,
            post(|State(worker), request| count_tokens(worker, WireFormat::Messages, request)),
        ),
        Route::new(
            "/v1/responses/input_tokens",
            Door::CountTokens,
            post(|State(worker), request| count_tokens(worker, WireFormat::Responses, request)),
        ),
        Route::new("/v1/models", Door::ListModels, get(models)),
        Route::new("/v1/", Door::Forward, any(other)),
        Route::new("/v1/{*path}", Door::Forward, any(other)),
        Route::new("/healthz", Door::Liveness, get(health)),
        Route::new("/metrics", Door::Metrics, get(metrics)),
        Route::new("/", Door::Elsewhere, get(root)),
        Route::new(ELSEWHERE, Door::Elsewhere, any(nothing)),
    ];
    let checked = CHECKED_PATHS.map(|path| Route::new(path, Door::Complete, any(other)));
    routes.extend(checked);
    routes.extend(wiki::routes());
    routes
}

async fn conversation(worker: Worker, format: WireFormat, request: Request) -> Response<Body> {
    if gate::is_upgrade(&request) {
        return match format {
            WireFormat::Responses => websocket::open(worker, request).await,
            _ => reply::error(format, ErrorKind::UpgradeRefused, "only /v1/responses is served over a WebSocket"),
        };
    }
    if request.method() != Method::POST {
        return forward(worker, request).await;
    }
    let (parts, body) = request.into_parts();
    converse(worker, format, parts, body).boxed().await
}

async fn root() -> &'static str {
    "muninn\n"
}

async fn metrics(State(worker): State<Worker>) -> Response<Body> {
    worker.app.metrics.body_bytes(worker.shared.body_memory.held());
    let settings = worker.app.settings();
    for report in settings.router.circuits().await {
        worker.app.metrics.circuit(&report.backend, report.state);
    }
    for task in worker.app.supervisor.report() {
        worker.app.metrics.task(&task);
    }
    let mut response = Response::new(Body::from(worker.app.metrics.render()));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE));
    response
}

/// `ok`, with the state of the gateway for callers who may see it.
async fn health(State(worker): State<Worker>, request: Request) -> Response<Body> {
    if !gate::gets_details(&worker, &Caller::of(request.extensions())).await {
        return reply::json(StatusCode::OK, json!({"status": "ok"}).to_string());
    }
    let workspace = &worker.app.workspace;
    let worktrees = worker.app.workspaces.all();
    let worktrees: Vec<_> =
        worktrees.iter().map(|worktree| json!({"root": worktree.root, "index": worktree.index()})).collect();
    let ledger = worker.app.ledger_health().await;
    let health = json!({
        "status": "ok", "version": env!("CARGO_PKG_VERSION"), "root": workspace.root, "index": workspace.index(), "worktrees": worktrees, "ledger": ledger,
        "embedder": workspace.embedder().report(),
        "tasks": worker.app.supervisor.report(),
        "added": worker.app.metrics.added_times(),
    });
    reply::json(StatusCode::OK, health.to_string())
}

async fn models(State(worker): State<Worker>, request: Request) -> Response<Body> {
    let (headers, dialect) = (request.headers(), dialect_of(&request));
    let page = match dialect {
        Dialect::OpenAi => ModelPage::default(),
        Dialect::Anthropic => match page_of(request.uri().query().unwrap_or_default()) {
            Some(page) => page,
            None => {
                return reply::error(
                    WireFormat::Messages,
                    ErrorKind::InvalidRequest,
                    "limit: it must be from 1 to 1000",
                );
            }
        },
    };
    let caller = Caller::of(request.extensions());
    let allowed = |backend: &str| caller.may_use_backend(backend);
    let mut models = list_models(&worker.app.settings().router, &worker.transport, headers, &allowed).await;
    models.retain(|model| caller.may_use_model(&model.id));
    reply::json(StatusCode::OK, render_models(&models, dialect, &page).to_string())
}

/// The page that a query asks for; `None` if its limit is none.
fn page_of(query: &str) -> Option<ModelPage> {
    let mut page = ModelPage::default();
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        match &*name {
            "limit" => page.limit = Some(value.parse().ok().filter(|limit| (1..=1000).contains(limit))?),
            "after_id" => page.after_id = Some(value.into_owned()),
            "before_id" => page.before_id = Some(value.into_owned()),
            _ => {}
        }
    }
    Some(page)
}

fn dialect_of(request: &Request) -> Dialect {
    if request.headers().contains_key("anthropic-version") { Dialect::Anthropic } else { Dialect::OpenAi }
}

async fn other(State(worker): State<Worker>, request: Request) -> Response<Body> {
    // No backend knows the models that only the configuration names.
    let asked = request.uri().path().strip_prefix("/v1/models/").filter(|_| request.method() == Method::GET);
    if let Some(model) = asked.and_then(|id| own_model(&worker.app.settings().router, id))
        && Caller::of(request.extensions()).may(Door::Forward).is_ok()
    {
        return reply::json(StatusCode::OK, model.render(dialect_of(&request)).to_string());
    }
    forward(worker, request).await
}

async fn nothing(request: Request) -> Response<Body> {
    let path = request.uri().path();
    let message = format!("there is nothing at {path}; the API is under /v1/");
    reply::error(WireFormat::of_path(path), ErrorKind::NotFound, &message)
}

#[cfg(test)]
mod tests;
