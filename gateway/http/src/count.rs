//! Counting the tokens of a prompt with its replayed blocks: by the backend if it has an endpoint for it, else by an
//! estimate, which a response header marks as one.

use std::ops::Range;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderValue, Response, StatusCode};
use muninn_backend::access::{Caller, Forbidden};
use muninn_backend::{Candidate, Target};
use muninn_context_engine::tokens;
use muninn_core::Settings;
use muninn_wire::error::{ErrorKind, Failure};
use muninn_wire::{Insertion, Prompt, Text, WireFormat, convert, splice};
use serde_json::json;

use super::exchange::Exchange;
use super::exchange_result::panicked;
use super::refusal::forbid;
use super::refusal_log::Client;
use super::{Shared, Worker, body, reply};

/// Counts the tokens of a conversation's prompt.
pub(super) async fn count_tokens(worker: Worker, format: WireFormat, request: Request) -> Response<Body> {
    let settings = worker.app.settings();
    let (mut parts, body) = request.into_parts();
    let body = match body::read(&worker, &mut parts, body, format).await {
        Ok(received) => received.body,
        Err(refusal) => return refusal,
    };
    let parts = Arc::new(parts);
    let planned = {
        let (worker, parts, body) = (worker.clone(), Arc::clone(&parts), body.clone());
        let shared = Arc::clone(&worker.shared);
        let length = body.len();
        let planning = async move { plan(&worker, &settings, format, &parts, &body).await };
        shared.large.run(length, planning).await
    };
    let CountPlan { first, insertions, model } = match planned.unwrap_or_else(|error| Err(panicked(&error).into())) {
        Ok(planned) => planned,
        Err(CountRefusal::Forbidden(forbidden)) => return forbid(&worker, format, &Client::of(&parts), &forbidden),
        Err(CountRefusal::Failed(failure)) => return reply::error(format, failure.kind, &failure.message),
    };
    let shared = Arc::clone(&worker.shared);
    if let Some(candidate) = first.filter(|candidate| candidate.format == format) {
        let exchange = Exchange {
            parts,
            format,
            body: body.clone(),
            insertions: insertions.clone(),
            model,
            streamed: false,
            id: String::new(),
            reads: true,
            is_conversation: false,
            candidates: Vec::from([candidate]),
            conversation: None,
            worker,
        };
        if let Some(counted) = by_backend(exchange).await {
            return counted;
        }
    }
    estimated(&shared, format, body, insertions).await
}

/// The prompt to count, and the backend that may count it.
struct CountPlan {
    /// The backend that a conversation would go to.
    first: Option<Candidate>,
    insertions: Vec<Insertion>,
    model: Option<Range<usize>>,
}

enum CountRefusal {
    Forbidden(Forbidden),
    Failed(Failure),
}

impl From<Failure> for CountRefusal {
    fn from(failure: Failure) -> CountRefusal {
        CountRefusal::Failed(failure)
    }
}

async fn plan(
    worker: &Worker,
    settings: &Settings,
    format: WireFormat,
    parts: &Parts,
    body: &Bytes,
) -> Result<CountPlan, CountRefusal> {
    let failed = |kind, message: String| CountRefusal::Failed(Failure { kind, message });
    let caller = Caller::of(&parts.extensions);
    let prompt = Prompt::parse(format, body).map_err(|error| failed(ErrorKind::InvalidRequest, error.to_string()))?;
    let name = prompt.model().map(Text::decode).unwrap_or_default();
    let (plain, deep) = muninn_core::strip_deep_suffix(settings, &name);
    caller.check_model(plain, &prompt.members).map_err(CountRefusal::Forbidden)?;
    let allowed = |backend: &str| caller.may_use_backend(backend);
    let routed = settings.router.route_for(format, plain, &parts.headers, &allowed).await;
    let mut candidates = match routed.map_err(|error| failed(error.kind(), error.to_string()))? {
        Target::Candidates(candidates) => candidates,
        Target::Context => Vec::new(),
    };
    if deep {
        muninn_core::rename_candidates(&mut candidates, plain);
    }
    Ok(CountPlan {
        first: candidates.into_iter().next(),
        insertions: muninn_core::replay_only(&worker.app, &caller, &parts.headers, &prompt).await,
        model: prompt.model_span(),
    })
}

/// The backend's own count, `None` if it has no such endpoint.
async fn by_backend(exchange: Exchange) -> Option<Response<Body>> {
    let (format, caller) = (exchange.format, Caller::of(&exchange.parts.extensions));
    let result = exchange.run().await;
    let unknown = [StatusCode::NOT_FOUND, StatusCode::METHOD_NOT_ALLOWED, StatusCode::NOT_IMPLEMENTED];
    if unknown.contains(&result.head.status) {
        return None;
    }
    Some(result.into_response(format, &caller))
}

async fn estimated(shared: &Shared, format: WireFormat, body: Bytes, insertions: Vec<Insertion>) -> Response<Body> {
    let length = body.len();
    let work = async move {
        let body = splice(body, insertions);
        let text = std::str::from_utf8(&body).unwrap_or_default();
        convert::estimate(format, text, tokens::count)
    };
    match shared.large.run(length, work).await {
        Ok(Ok(count)) => {
            let counted = match format {
                WireFormat::Responses => json!({"object": "response.input_tokens", "input_tokens": count}),
                WireFormat::Chat | WireFormat::Messages => json!({"input_tokens": count}),
            };
            let mut response = reply::json(StatusCode::OK, counted.to_string());
            response.headers_mut().insert(reply::TOKEN_COUNT, HeaderValue::from_static("estimate"));
            response
        }
        Ok(Err(error)) => reply::error(format, ErrorKind::InvalidRequest, &error.to_string()),
        Err(error) => {
            let failure = panicked(&error);
            reply::error(format, failure.kind, &failure.message)
        }
    }
}
