//! The responses format over a WebSocket, as Codex asks for it.
//!
//! Each `response.create` becomes a request over HTTP with all items of the conversation, and takes the way of one: through
//! the gate, with the same blocks, to any backend. The events of its answer become frames. The connection keeps the newest
//! response with its items, because the client then sends only the items that are new.

use std::pin::pin;
use std::time::Duration;

use axum::body::Body;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{FromRequestParts, Request};
use eventsource_stream::Eventsource;
use futures_util::{FutureExt, StreamExt};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, header};
use http_body_util::{BodyExt, Limited};
use muninn_backend::access::{Caller, Denied, Door};
use muninn_wire::WireFormat;
use muninn_wire::error::ErrorKind;
use muninn_wire::frames::{self, AnswerItems, ClientFrame, Create, FrameError, Kept};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::body_memory::Reservation;
use super::converse::converse;
use super::{Worker, gate, headers, reply};

/// The most WebSockets that one worker serves at a time.
const MOST_SOCKETS: usize = 64;

/// The most bytes of a frame. Clients send a longer one over HTTP.
const MOST_FRAME_BYTES: usize = 4 << 20;

/// The most bytes that all WebSockets together keep between requests.
const MOST_KEPT_BYTES: usize = 128 << 20;

/// The time without a frame after which a connection is closed. The client then opens another one.
const IDLE: Duration = Duration::from_secs(3600);

/// The most bytes of an error's body.
const MOST_ERROR_BYTES: usize = 1 << 20;

/// The answer's header in which Codex reads how long a frame may be.
const MOST_BYTES: HeaderName = HeaderName::from_static("x-codex-websocket-max-message-bytes");

/// The value of `openai-beta` that asks for a WebSocket.
const BETA: &str = "responses_websockets";

/// Opens a WebSocket, or refuses it with the status after which clients use HTTP.
pub(super) async fn open(worker: Worker, request: Request) -> Response<Body> {
    let refused = |reason: &str| reply::error(WireFormat::Responses, ErrorKind::UpgradeRefused, reason);
    if worker.sockets.len() >= MOST_SOCKETS {
        return refused("too many WebSockets are open");
    }
    let most = worker.app.settings().config.limits.body_bytes.min(MOST_FRAME_BYTES);
    let mut parts = request.into_parts().0;
    let upgrade = match WebSocketUpgrade::from_request_parts(&mut parts, &()).await {
        Ok(upgrade) => upgrade.max_message_size(most).max_frame_size(most),
        Err(rejection) => return refused(&rejection.to_string()),
    };
    as_of_http(&mut parts.headers);
    let held = worker.sockets.token();
    let connection = Connection { worker, parts, kept: None };
    let mut response = upgrade.on_upgrade(async move |socket| {
        connection.serve(socket).await;
        drop(held);
    });
    response.headers_mut().insert(MOST_BYTES, HeaderValue::from(most));
    response
}

/// Makes the headers of an upgrade those of a request.
fn as_of_http(headers: &mut HeaderMap) {
    headers::drop_hop_by_hop(headers);
    let of_upgrade: Vec<HeaderName> =
        headers.keys().filter(|name| name.as_str().starts_with("sec-websocket-")).cloned().collect();
    for name in of_upgrade {
        headers.remove(name);
    }
    let betas = headers.get("openai-beta").and_then(|value| value.to_str().ok()).map(|value| {
        let kept = value.split(',').map(str::trim).filter(|beta| !beta.starts_with(BETA));
        kept.collect::<Vec<_>>().join(", ")
    });
    match betas.as_deref() {
        Some("") => drop(headers.remove("openai-beta")),
        Some(betas) => drop(HeaderValue::from_str(betas).map(|betas| headers.insert("openai-beta", betas))),
        None => {}
    }
    headers.insert(header::CONTENT_TYPE, reply::JSON);
    headers.insert(header::ACCEPT, reply::EVENT_STREAM);
}

/// A WebSocket whose client may use the gateway.
struct Connection {
    worker: Worker,
    /// The head of each request over it.
    parts: Parts,
    /// The newest response, with the memory that it takes.
    kept: Option<(Kept, Reservation)>,
}

/// A WebSocket that is over.
struct Closed;

impl Connection {
    async fn serve(mut self, mut socket: WebSocket) {
        let stopping = self.worker.app.supervisor.stopping().clone();
        let revoked = Caller::of(&self.parts.extensions).revocation().cloned().unwrap_or_default();
        let mut waiting: Option<Utf8Bytes> = None;
        loop {
            let frame = match waiting.take() {
                Some(frame) if !stopping.is_cancelled() => Some(frame),
                _ => tokio::select! {
                    biased;
                    () = stopping.cancelled() => return close(socket, close_code::AWAY, "the gateway stops").await,
                    () = revoked.cancelled() => {
                        return close(socket, close_code::POLICY, &Denied::Revoked.to_string()).await;
                    }
                    received = tokio::time::timeout(IDLE, socket.recv()) => match received {
                        Ok(Some(Ok(Message::Text(frame)))) => Some(frame),
                        Ok(Some(Ok(Message::Binary(_)))) => {
                            return close(socket, close_code::UNSUPPORTED, "frames are texts").await;
                        }
                        Ok(Some(Ok(Message::Ping(_) | Message::Pong(_)))) => None,
                        Ok(Some(Ok(Message::Close(_)) | Err(_)) | None) => return,
                        Err(_) => return close(socket, close_code::AWAY, "the connection was idle").await,
                    },
                },
            };
            let Some(frame) = frame else { continue };
            if self.answer(&mut socket, &mut waiting, &frame).await.is_err() {
                return;
            }
        }
    }

    /// Answers one frame.
    async fn answer(
        &mut self,
        socket: &mut WebSocket,
        waiting: &mut Option<Utf8Bytes>,
        frame: &str,
    ) -> Result<(), Closed> {
        let read = ClientFrame::read(frame).and_then(|frame| match frame {
            ClientFrame::Create(create) => {
                let items = create.conversation(self.kept.as_ref().map(|(kept, _)| kept))?;
                Ok(Some((create, items)))
            }
            ClientFrame::Interrupt => Ok(None),
        });
        match read {
            Ok(Some((create, items))) if create.generates() => self.respond(socket, waiting, &create, items).await,
            Ok(Some((create, items))) => {
                let id = format!("resp_{}", ulid::Ulid::generate().to_string().to_lowercase());
                for frame in frames::without_output(&id, &create.model(), jiff::Timestamp::now().as_second()) {
                    send(socket, frame).await?;
                }
                self.keep(Some(Kept { id, items }));
                Ok(())
            }
            // The response was over before the interruption arrived.
            Ok(None) => Ok(()),
            Err(error) => {
                // As at the vendor, a response whose continuation failed is not kept.
                if matches!(error, FrameError::NotKept(_)) {
                    self.kept = None;
                }
                send(socket, error.frame()).await
            }
        }
    }

    /// Keeps a response, if there is memory for it. The client sends all its items again otherwise.
    fn keep(&mut self, kept: Option<Kept>) {
        self.kept = None;
        let mut reservation = self.worker.shared.socket_memory.reserve_nothing();
        if let Some(kept) = kept.filter(|kept| reservation.grow(kept.items.len(), MOST_KEPT_BYTES)) {
            self.kept = Some((kept, reservation));
        }
    }

    /// The request over HTTP that a frame stands for.
    fn request(&self, create: &Create<'_>, items: &str) -> Request {
        let mut request = Request::new(Body::from(create.body(items)));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.parts.uri.clone();
        *request.headers_mut() = self.parts.headers.clone();
        *request.extensions_mut() = self.parts.extensions.clone();
        for (name, value) in create.headers() {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
                request.headers_mut().insert(name, value);
            }
        }
        request
    }

    /// Answers a request with the frames of its response.
    async fn respond(
        &mut self,
        socket: &mut WebSocket,
        waiting: &mut Option<Utf8Bytes>,
        create: &Create<'_>,
        items: String,
    ) -> Result<(), Closed> {
        let request = self.request(create, &items);
        self.kept = None;
        let interrupted = CancellationToken::new();
        let response = {
            let worker = self.worker.clone();
            let mut answering = pin!(gate::pass_from(&self.worker, Door::Converse, request, |request| {
                let (parts, body) = request.into_parts();
                converse(worker, WireFormat::Responses, parts, body)
            }));
            loop {
                tokio::select! {
                    biased;
                    response = &mut answering => break response,
                    received = listen(socket, &interrupted), if waiting.is_none() => *waiting = received?,
                }
            }
        };
        let (head, body) = response.into_parts();
        if !head.status.is_success() {
            let body = Limited::new(body, MOST_ERROR_BYTES).collect().await;
            let body = body.map(http_body_util::Collected::to_bytes).unwrap_or_default();
            let shown = shown_headers(&head.headers, |name| {
                name == "retry-after" || name.starts_with("x-codex-") || name.starts_with("x-muninn-")
            });
            return send(socket, frames::answer_error(head.status.as_u16(), &body, shown)).await;
        }
        let shown = shown_headers(&head.headers, |name| name == "x-codex-turn-state" || name.starts_with("x-muninn-"));
        send(socket, frames::metadata(shown)).await?;
        let mut answer = AnswerItems::default();
        let mut events = body.into_data_stream().eventsource();
        while !answer.is_over() {
            tokio::select! {
                biased;
                () = interrupted.cancelled(), if !answer.id().is_empty() => break,
                event = events.next() => match event {
                    Some(Ok(event)) => {
                        if let Some(frame) = answer.frame(&event.data) {
                            send(socket, frame).await?;
                        }
                    }
                    // A revoked key, or an answer that broke off in the middle of an event.
                    Some(Err(_)) | None => break,
                },
                received = listen(socket, &interrupted), if waiting.is_none() => *waiting = received?,
            }
        }
        if interrupted.is_cancelled() && !answer.is_over() {
            send(socket, frames::interrupted(answer.id())).await?;
        } else if !answer.is_over() {
            let body = muninn_wire::error::body(
                WireFormat::Responses,
                ErrorKind::BadGateway,
                "the answer ended before its last event",
                None,
            );
            let status = ErrorKind::BadGateway.status().as_u16();
            return send(socket, frames::answer_error(status, body.as_bytes(), Value::Null)).await;
        }
        // The rest is read, so that the answer ends as over HTTP.
        if answer.is_over() {
            while events.next().now_or_never().flatten().is_some() {}
        }
        drop(events);
        self.keep(answer.kept(&items));
        Ok(())
    }
}

/// Waits for a frame while a response is written: the next request, which then waits, or the end of the response.
///
/// # Errors
/// [`Closed`] if the client has gone.
async fn listen(socket: &mut WebSocket, interrupted: &CancellationToken) -> Result<Option<Utf8Bytes>, Closed> {
    match socket.recv().await {
        Some(Ok(Message::Text(frame))) if matches!(ClientFrame::read(&frame), Ok(ClientFrame::Interrupt)) => {
            interrupted.cancel();
            Ok(None)
        }
        Some(Ok(Message::Text(frame))) => Ok(Some(frame)),
        Some(Ok(Message::Ping(_) | Message::Pong(_))) => Ok(None),
        Some(Ok(Message::Binary(_) | Message::Close(_)) | Err(_)) | None => Err(Closed),
    }
}

fn shown_headers(headers: &HeaderMap, is_shown: impl Fn(&str) -> bool) -> Value {
    let shown = headers.iter().filter(|(name, _)| is_shown(name.as_str()));
    let shown = shown.filter_map(|(name, value)| Some((name.to_string(), Value::from(value.to_str().ok()?))));
    Value::Object(shown.collect::<Map<_, _>>())
}

async fn send(socket: &mut WebSocket, frame: String) -> Result<(), Closed> {
    socket.send(Message::Text(frame.into())).await.map_err(|_| Closed)
}

async fn close(mut socket: WebSocket, code: u16, reason: &str) {
    socket.send(Message::Close(Some(CloseFrame { code, reason: reason.into() }))).await.ok();
}
