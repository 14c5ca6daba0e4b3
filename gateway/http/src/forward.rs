//! Forwarding of other API paths, such as embeddings, completions and files, to the backend that would get a conversation
//! with the same model. The bodies are unchanged; only the conversation in a compaction gets its earlier blocks again.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::Request;
use http::{HeaderValue, Method, Response, header};
use muninn_backend::Target;
use muninn_backend::access::{Caller, Door, Forbidden};
use muninn_backend::metrics::ForwardedRequest;
use muninn_wire::error::ErrorKind;
use muninn_wire::{Members, Prompt, Text, WireFormat};

use super::answer_body::AnswerBody;
use super::exchange::Exchange;
use super::exchange_result::{ExchangeResult, panicked};
use super::refusal::forbid;
use super::refusal_log::Client;
use super::{Worker, body, gate, reply};

/// The paths whose model is checked; a restricted key may use no others.
pub(super) const CHECKED_PATHS: [&str; 3] = ["/v1/embeddings", "/v1/completions", COMPACTION];

/// The path at which a vendor shortens a conversation.
const COMPACTION: &str = "/v1/responses/compact";

pub(super) async fn forward(worker: Worker, request: Request) -> Response<Body> {
    let door = if request.method() == Method::POST && CHECKED_PATHS.contains(&request.uri().path()) {
        Door::Complete
    } else {
        Door::Forward
    };
    let caller = Caller::of(request.extensions());
    if let Err(closed) = caller.may(door) {
        return gate::refuse(&worker, request, &closed).await;
    }
    let (mut parts, body) = request.into_parts();
    let format = WireFormat::of_path(parts.uri.path());
    let settings = worker.app.settings();
    let body = match body::read(&worker, &mut parts, body, format).await {
        Ok(received) => received.body,
        Err(refusal) => return refusal,
    };
    let compacts = parts.uri.path() == COMPACTION;
    let asked = {
        let (worker, caller, body) = (worker.clone(), caller.clone(), body.clone());
        let (shared, length, headers) = (Arc::clone(&worker.shared), body.len(), parts.headers.clone());
        let reading = async move {
            let (model, span) = named_model(&caller, &body)?;
            let prompt = if compacts { Prompt::parse(format, &body).ok() } else { None };
            let insertions = match &prompt {
                Some(prompt) => muninn_core::replay_only(&worker.app, &caller, &headers, prompt).await,
                None => Vec::new(),
            };
            Ok((model, span, insertions))
        };
        shared.large.run(length, reading).await
    };
    let (model, model_span, insertions) = match asked {
        Ok(Ok(asked)) => asked,
        Ok(Err(forbidden)) => return forbid(&worker, format, &Client::of(&parts), &forbidden),
        Err(error) => {
            let failure = panicked(&error);
            return reply::error(format, failure.kind, &failure.message);
        }
    };
    let allowed = |backend: &str| caller.may_use_backend(backend);
    let routed = settings.router.route_for(format, &model, &parts.headers, &allowed).await;
    let mut candidates = match routed {
        Ok(Target::Candidates(candidates)) => candidates,
        Ok(Target::Context) => {
            let message = format!("muninn/context does not answer at {}", parts.uri.path());
            return reply::error(format, ErrorKind::NotFound, &message);
        }
        Err(error) => {
            let mut response = reply::error(format, error.kind(), &error.to_string());
            response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
            return response;
        }
    };
    if compacts {
        candidates.retain(|candidate| candidate.format == format);
        if candidates.is_empty() {
            let message = format!("no backend of `{model}` speaks the responses format, so none can compact");
            return reply::error(format, ErrorKind::NotFound, &message);
        }
    }
    // Only conversations can be converted, so every candidate gets the request unchanged.
    for candidate in &mut candidates {
        candidate.format = format;
    }
    // Usage is counted for these paths only; other answers, such as files, are not parsed.
    let reads = CHECKED_PATHS.contains(&parts.uri.path());
    let exchange = Exchange {
        worker: worker.clone(),
        parts: Arc::new(parts),
        format,
        body: body.clone(),
        insertions,
        model: model_span,
        streamed: false,
        id: String::new(),
        reads,
        is_conversation: false,
        candidates,
        conversation: None,
    };
    send_and_count(&worker, caller, exchange).await
}

/// The model that a body names, and its byte range.
fn named_model(caller: &Caller, body: &[u8]) -> Result<(String, Option<Range<usize>>), Forbidden> {
    let text = std::str::from_utf8(body).unwrap_or_default();
    let members = Members::of(text.trim_ascii()).unwrap_or_default();
    let name = members.text("model");
    let model = name.map(Text::decode).unwrap_or_default().into_owned();
    caller.check_model(&model, &members)?;
    Ok((model, name.map(|name| name.span_in(text))))
}

/// Sends the request and counts its usage once the answer is over.
async fn send_and_count(worker: &Worker, caller: Caller, exchange: Exchange) -> Response<Body> {
    let (started, format) = (Instant::now(), exchange.format);
    let ExchangeResult { head, source, by, .. } = exchange.run().await;
    let (app, status) = (Arc::clone(&worker.app), head.status.as_u16());
    let holder = caller.clone();
    let body = AnswerBody::new(source, format, None, started, move |summary| {
        if let Some(by) = &by {
            let key = caller.name();
            let usage = summary.end.usage;
            app.forwarded(&ForwardedRequest { key, backend: &by.backend, status, usage });
        }
    });
    Response::from_parts(head, Body::new(body.for_caller(&holder)))
}
