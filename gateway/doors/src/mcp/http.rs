//! The endpoint `/mcp` of a gateway.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::routing::{MethodRouter, any_service};
use http::{HeaderValue, Method, Response, StatusCode, header};
use muninn_core::App;
use muninn_wire::lenient;
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;

use super::Offer;
use super::lines::{INVALID_REQUEST, PARSE_ERROR, refusal, refused_message};
use super::server::McpServer;
use super::source::Source;

/// The most bytes of a request.
const MAX_BODY_BYTES: usize = 1 << 20;
/// The most bytes of an error of the SDK.
const MAX_ERROR_BYTES: usize = 16 << 10;
/// What the SDK asks of clients.
const ACCEPTED: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The service of the endpoint. Host, origin and access key are checked by the server that mounts it.
pub fn service(app: &Arc<App>, offer: &Offer) -> MethodRouter {
    let server = McpServer::new(offer.clone(), Source::Network(Arc::clone(app)));
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MAX_BODY_BYTES)
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_cancellation_token(app.supervisor.stopping().clone());
    let service = any_service(StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(NeverSessionManager::default()),
        config,
    ));
    service.layer(from_fn(read))
}

/// Reads a message leniently, and writes errors as the protocol does. Answers are JSON, which each client of the protocol takes,
/// whatever it says that it accepts.
async fn read(request: Request, next: Next) -> Response<Body> {
    let (mut parts, body) = request.into_parts();
    parts.headers.insert(header::ACCEPT, ACCEPTED);
    if parts.method != Method::POST {
        return in_protocol(next.run(Request::from_parts(parts, body)).await).await;
    }
    let Ok(bytes) = to_bytes(body, MAX_BODY_BYTES).await else {
        let message = format!("a message has at most {MAX_BODY_BYTES} bytes");
        return refused(StatusCode::PAYLOAD_TOO_LARGE, &refusal(INVALID_REQUEST, &message, Value::Null));
    };
    let text = match lenient(&bytes) {
        Ok(text) => text.into_owned(),
        Err(error) => {
            return refused(StatusCode::BAD_REQUEST, &refusal(PARSE_ERROR, &error.to_string(), Value::Null));
        }
    };
    if let Err(error) = serde_json::from_str::<ClientJsonRpcMessage>(&text)
        && let Some(answer) = refused_message(&text, &error)
    {
        return refused(StatusCode::BAD_REQUEST, &answer);
    }
    parts.headers.insert(header::CONTENT_TYPE, JSON);
    parts.headers.insert(header::CONTENT_LENGTH, text.len().into());
    in_protocol(next.run(Request::from_parts(parts, Body::from(text))).await).await
}

fn refused(status: StatusCode, answer: &Value) -> Response<Body> {
    let mut response = Response::new(Body::from(answer.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}

/// An error that the SDK writes as plain text becomes one of the protocol.
async fn in_protocol(response: Response<Body>) -> Response<Body> {
    let is_json = response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| *kind == JSON);
    if !response.status().is_client_error() || is_json {
        return response;
    }
    let (mut head, body) = response.into_parts();
    let text = to_bytes(body, MAX_ERROR_BYTES).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    let message = if text.is_empty() { head.status.to_string() } else { text };
    let body = refusal(INVALID_REQUEST, &message, Value::Null).to_string();
    head.headers.insert(header::CONTENT_TYPE, JSON);
    head.headers.insert(header::CONTENT_LENGTH, body.len().into());
    Response::from_parts(head, Body::from(body))
}
