//! The paths of the API that are no conversation (embeddings, completions, files and all that may come): forwarded as
//! they are, to the backend that would get a conversation about the same model.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::Request;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderValue, Method, Response, header};

use super::answer_body::{AnswerBody, Source};
use super::door::forbid;
use super::{App, body, headers, reply};
use crate::access::{Caller, Forbidden};
use crate::backend::{Backend, Outgoing, Target, apply_credentials};
use crate::metrics::Forwarded;
use crate::wire::error::ErrorKind;
use crate::wire::{Members, Text, UsageWatch, WireFormat};

/// Paths whose model is looked at before: all that a restricted key gets.
const SEEN: [&str; 2] = ["/v1/embeddings", "/v1/completions"];

/// Forwards a request.
pub(super) async fn passed_on(app: App, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let format = WireFormat::of_path(parts.uri.path());
    let caller = Caller::of(&parts.extensions);
    if caller.is_restricted() && !(parts.method == Method::POST && SEEN.contains(&parts.uri.path())) {
        let (key, path) = (caller.name().to_owned(), parts.uri.path().to_owned());
        body::drain(body).await;
        return forbid(&app, format, &caller, &Forbidden::Unseen { key, path });
    }
    let settings = app.shared.settings();
    let body = match body::read(body, &parts.headers, &settings.config.limits).await {
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
    let allowed = |backend: &str| caller.may_use_backend(backend);
    match settings
        .router
        .route_for(format, &model, &parts.headers, &allowed)
        .await
    {
        Ok(Target::Candidates(candidates)) => match candidates.first() {
            Some(candidate) => forward(&app, caller, &parts, format, &candidate.backend, body).await,
            None => reply::error(format, ErrorKind::NoBackend, "no backend is known"),
        },
        Ok(Target::Context) => {
            let message = format!("muninn/context does not answer at {}", parts.uri.path());
            reply::error(format, ErrorKind::NotFound, &message)
        }
        Err(error) => {
            let mut response = reply::error(format, error.kind(), &error.to_string());
            response
                .headers_mut()
                .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
            response
        }
    }
}

/// Sends a request as it is and passes on what comes back; it is written down once the answer is over.
async fn forward(
    app: &App,
    caller: Caller,
    parts: &Parts,
    format: WireFormat,
    backend: &Backend,
    body: Bytes,
) -> Response<Body> {
    let started = Instant::now();
    let mut headers = headers::for_backend(&parts.headers);
    apply_credentials(&mut headers, backend, format);
    let path = parts.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let outgoing = Outgoing {
        method: parts.method.clone(),
        path: path.to_owned(),
        headers,
        body,
    };
    let sent = app.transport.send(backend, outgoing).await;
    let mut response = match sent {
        Ok(response) => response,
        Err(error) => {
            let message = format!("backend `{}`: {error}", backend.name);
            return reply::error(format, error.kind(), &message);
        }
    };
    headers::for_client(response.headers_mut());
    let (shared, backend) = (Arc::clone(&app.shared), backend.name.clone());
    let status = response.status().as_u16();
    response.map(|body| {
        let source = Source::Untouched {
            body,
            watch: UsageWatch::default(),
        };
        Body::new(AnswerBody::new(source, format, None, started, move |end| {
            let key = caller.name();
            shared.forwarded(&Forwarded {
                key,
                backend: &backend,
                status,
                usage: end.usage,
            });
        }))
    })
}
