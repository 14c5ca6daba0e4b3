//! How many tokens a prompt is, what was added to it included: by its backend where that counts, else by an estimate
//! that says that it is one.

use axum::body::Body;
use axum::extract::Request;
use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode};
use muninn_context_engine::tokens;
use serde_json::json;

use super::door::forbid;
use super::exchange::Exchange;
use super::turn::put_back_only;
use super::{App, body, deep, reply};
use crate::access::Caller;
use crate::backend::Target;
use crate::inject::splice;
use crate::wire::error::ErrorKind;
use crate::wire::{Insertion, Prompt, Text, WireFormat, convert};

/// Counts the tokens of a conversation's prompt.
pub(super) async fn count_tokens(app: App, format: WireFormat, request: Request) -> Response<Body> {
    let settings = app.shared.settings();
    let (parts, body) = request.into_parts();
    let caller = Caller::of(&parts.extensions);
    let body = match body::read(body, &parts.headers, &settings.config.limits).await {
        Ok(body) => body,
        Err(error) => return reply::error(format, error.kind, &error.message),
    };
    let prompt = match Prompt::parse(format, &body) {
        Ok(prompt) => prompt,
        Err(error) => return reply::error(format, ErrorKind::InvalidRequest, &error.to_string()),
    };
    let name = prompt.model().map(Text::decode).unwrap_or_default();
    let (plain, deep) = deep::meant(&settings, &name);
    if let Err(forbidden) = caller.check_model(plain, &prompt.members) {
        return forbid(&app, format, &caller, &forbidden);
    }
    let allowed = |backend: &str| caller.may_use_backend(backend);
    let candidates = match settings.router.route_for(format, plain, &parts.headers, &allowed).await {
        Ok(Target::Candidates(mut candidates)) => {
            if deep {
                deep::rename(&mut candidates, plain);
            }
            candidates
        }
        Ok(Target::Context) => Vec::new(),
        Err(error) => return reply::error(format, error.kind(), &error.to_string()),
    };
    let insertions = put_back_only(&app.shared, &caller, &parts.headers, &prompt);
    let model = prompt.model_span();
    drop((name, prompt));
    let first = candidates
        .into_iter()
        .next()
        .filter(|candidate| candidate.format == format);
    if let Some(candidate) = first {
        let exchange = Exchange {
            parts,
            format,
            body: body.clone(),
            insertions: insertions.clone(),
            model,
            streamed: false,
            id: String::new(),
            candidates: Vec::from([candidate]),
            app,
        };
        if let Some(counted) = by_backend(exchange).await {
            return counted;
        }
    }
    estimated(format, body, insertions).await
}

/// The backend's own count, `None` where it has no such path.
async fn by_backend(exchange: Exchange) -> Option<Response<Body>> {
    let format = exchange.format;
    let exchanged = exchange.run().await;
    let unknown = [
        StatusCode::NOT_FOUND,
        StatusCode::METHOD_NOT_ALLOWED,
        StatusCode::NOT_IMPLEMENTED,
    ];
    if unknown.contains(&exchanged.head.status) {
        return None;
    }
    Some(exchanged.into_response(format))
}

async fn estimated(format: WireFormat, body: Bytes, insertions: Vec<Insertion>) -> Response<Body> {
    let work = tokio::task::spawn_blocking(move || {
        let body = splice(body, insertions);
        let text = std::str::from_utf8(&body).unwrap_or_default();
        convert::estimate(format, text, tokens::count)
    });
    match work.await {
        Ok(Ok(count)) => {
            let counted = match format {
                WireFormat::Responses => json!({"object": "response.input_tokens", "input_tokens": count}),
                WireFormat::Chat | WireFormat::Messages => json!({"input_tokens": count}),
            };
            let mut response = reply::json(StatusCode::OK, counted.to_string());
            response
                .headers_mut()
                .insert(reply::TOKEN_COUNT, HeaderValue::from_static("estimate"));
            response
        }
        Ok(Err(error)) => reply::error(format, ErrorKind::InvalidRequest, &error.to_string()),
        Err(error) => reply::error(format, ErrorKind::Server, &format!("Muninn failed: {error}")),
    }
}
