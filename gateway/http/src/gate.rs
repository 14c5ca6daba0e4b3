//! The gate of each route: whether the caller may use it, and until when.
//!
//! A route cannot be added without its row in the table of doors ([`Door`]), and [`router`] is the only place that adds
//! routes. The gate counts the request against the key's rate limit and asks the table. If a reload revokes the caller's
//! key, the gate drops the handler, and with it the request to a backend; an answer that has begun is ended by its body.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::routing::MethodRouter;
use http::{HeaderValue, Method, Response, StatusCode, header};
use http_body::{Frame, SizeHint};
use muninn_backend::access::{Caller, ClosedDoor, Denied, Door};
use muninn_wire::WireFormat;
use muninn_wire::error::ErrorKind;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::refusal_log::Client;
use super::{Worker, body, refusal, reply};

/// The path of a route that answers whatever no other one does.
pub(super) const ELSEWHERE: &str = "*";

/// A route of the server.
pub(super) struct Route {
    pub(super) path: &'static str,
    pub(super) door: Door,
    service: MethodRouter<Worker>,
}

impl Route {
    pub(super) fn new(path: &'static str, door: Door, service: MethodRouter<Worker>) -> Route {
        Route { path, door, service }
    }
}

/// The router of all routes. Routes of one path share it by their methods.
pub(super) fn router(worker: &Worker, routes: Vec<Route>) -> axum::Router<Worker> {
    let mut router = axum::Router::new();
    for Route { path, door, service } in routes {
        let gate = move |State(worker): State<Worker>, request: Request, next: Next| pass(worker, door, request, next);
        let service = service.layer(from_fn_with_state(worker.clone(), gate));
        router = match path {
            ELSEWHERE => router.fallback_service(service.with_state::<()>(worker.clone())),
            path => router.route(path, service),
        };
    }
    router
}

/// Answers a request if its caller may use the door, and for as long as it may.
async fn pass(worker: Worker, door: Door, request: Request, next: Next) -> Response<Body> {
    // A page of this machine may be a client of the protocol. Pages of other origins were refused before.
    let page = request.headers().get(header::ORIGIN).filter(|_| door == Door::Mcp).cloned();
    let Some(page) = page else {
        return pass_from(&worker, door, request, |request| next.run(request)).await;
    };
    let is_preflight =
        request.method() == Method::OPTIONS && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    // A browser asks without the key whether it may send the request.
    let mut response = if is_preflight {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST"));
        let asked = request.headers().get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned();
        headers.extend(asked.map(|asked| (header::ACCESS_CONTROL_ALLOW_HEADERS, asked)));
        response
    } else {
        pass_from(&worker, door, request, |request| next.run(request)).await
    };
    response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, page);
    response.headers_mut().append(header::VARY, HeaderValue::from_static("origin"));
    response
}

/// Answers a request by `next` if its caller may use the door, and for as long as it may.
pub(super) async fn pass_from<Answering>(
    worker: &Worker,
    door: Door,
    request: Request,
    next: impl FnOnce(Request) -> Answering,
) -> Response<Body>
where
    Answering: Future<Output = Response<Body>>,
{
    let caller = Caller::of(request.extensions());
    if door == Door::Converse && is_upgrade(&request) {
        // Each request over the WebSocket is counted by itself. A client that gets another status repeats the upgrade, or
        // gives up; after this one it asks over HTTP, and is told the reason.
        return match caller.may(door) {
            Ok(()) => next(request).await,
            Err(closed) => {
                reply::error(WireFormat::of_path(request.uri().path()), ErrorKind::UpgradeRefused, &closed.to_string())
            }
        };
    }
    if let Err(closed) = enter(worker, &caller, door).await {
        return refuse(worker, request, &closed).await;
    }
    // A request that the gateway itself refuses does not use up a limit.
    let next = async |request| {
        let response: Response<Body> = next(request).await;
        if response.extensions().get::<reply::Refused>().is_some() {
            caller.take_back(&*worker.app.counters);
        }
        response
    };
    let Some(revoked) = caller.revocation().cloned() else {
        return next(request).await;
    };
    let (uri, client) = (request.uri().clone(), Client::with(&caller, request.extensions()));
    tokio::select! {
        biased;
        response = next(request) => match door {
            // The other answers end by themselves, or are bodies that know how their format ends.
            Door::Mcp => response.map(|body| Body::new(UntilRevoked::new(body, revoked))),
            _ => response,
        },
        () = revoked.cancelled() => denial(worker, &client, uri.path(), &Denied::Revoked.into()),
    }
}

/// Whether the request asks for a WebSocket.
pub(super) fn is_upgrade(request: &Request) -> bool {
    let asked = request.headers().get(header::UPGRADE);
    request.method() == Method::GET && asked.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"websocket"))
}

/// Checks whether a caller may use a door, and counts its request.
async fn enter(worker: &Worker, caller: &Caller, door: Door) -> Result<(), ClosedDoor> {
    // A client may look as often as it likes whether the process runs.
    caller.may(door)?;
    if door != Door::Liveness {
        caller.admit(&*worker.app.counters, Instant::now()).await?;
    }
    Ok(())
}

/// Whether the caller of a request to [`Door::Liveness`] also gets what is behind [`Door::Details`]. Then it is counted.
pub(super) async fn gets_details(worker: &Worker, caller: &Caller) -> bool {
    caller.may(Door::Details).is_ok() && enter(worker, caller, Door::Details).await.is_ok()
}

/// Refuses a request whose caller may not use a door.
pub(super) async fn refuse(worker: &Worker, request: Request, closed: &ClosedDoor) -> Response<Body> {
    let client = Client::with(&Caller::of(request.extensions()), request.extensions());
    let uri = request.uri().clone();
    // A client that is still sending would see a broken connection instead of the error.
    body::drain(request.into_body()).await;
    denial(worker, &client, uri.path(), closed)
}

fn denial(worker: &Worker, client: &Client, path: &str, closed: &ClosedDoor) -> Response<Body> {
    let (kind, message) = (closed.kind(), closed.to_string());
    refusal::log(&worker.shared, client, kind, &message);
    worker.app.metrics.refused(&client.key, kind);
    let mut response = reply::refusal(path, kind, &message);
    let headers = response.headers_mut();
    if kind == ErrorKind::Authentication {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"muninn\""));
    }
    if let ClosedDoor::Denied(denied) = closed
        && let Some(seconds) = denied.retry_after()
    {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// A body that breaks off when its caller's key is revoked.
struct UntilRevoked {
    body: Body,
    revoked: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl UntilRevoked {
    fn new(body: Body, revoked: CancellationToken) -> UntilRevoked {
        UntilRevoked { body, revoked: Box::pin(revoked.cancelled_owned()) }
    }
}

impl http_body::Body for UntilRevoked {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.revoked.as_mut().poll(context).is_ready() {
            return Poll::Ready(Some(Err(axum::Error::new(Denied::Revoked))));
        }
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
