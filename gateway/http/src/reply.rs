//! Responses that the gateway writes: errors in the client's wire format, and the built-in model's answers.

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderName, HeaderValue, Response, StatusCode, header};
use muninn_session::CONTEXT;
use muninn_wire::WireFormat;
use muninn_wire::answer::Answer;
use muninn_wire::error::{self, ErrorKind};
use serde_json::json;

/// The response header with the request's id.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-muninn-request-id");
/// The response header with the backend that answered.
pub(super) const BACKEND: HeaderName = HeaderName::from_static("x-muninn-backend");
/// The response header with the fields that a conversion dropped or changed.
pub(super) const DROPPED: HeaderName = HeaderName::from_static("x-muninn-dropped");
/// The response header that marks a token count as an estimate.
pub(super) const TOKEN_COUNT: HeaderName = HeaderName::from_static("x-muninn-token-count");
pub(super) const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");
pub(super) const JSON: HeaderValue = HeaderValue::from_static("application/json");
pub(super) const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");
pub(super) const NO_CACHE: HeaderValue = HeaderValue::from_static("no-cache");

/// Marks a response with which the gateway refuses a request.
#[derive(Clone, Copy)]
pub(super) struct Refused;

/// An error in the client's wire format. It refuses the request, unless there is just nothing at its path.
pub(super) fn error(format: WireFormat, kind: ErrorKind, message: &str) -> Response<Body> {
    let mut response = error_with(kind.status(), format, kind, message, None);
    if response.status().is_client_error() && kind != ErrorKind::NotFound {
        response.extensions_mut().insert(Refused);
    }
    response
}

/// The same about the request of an id, with another status than the kind's own.
pub(super) fn error_with(
    status: StatusCode,
    format: WireFormat,
    kind: ErrorKind,
    message: &str,
    request: Option<&str>,
) -> Response<Body> {
    marked(json(status, error::body(format, kind, message, request)), kind)
}

/// Tells clients what to do after an error of this kind.
fn marked(mut response: Response<Body>, kind: ErrorKind) -> Response<Body> {
    match kind {
        ErrorKind::UpgradeRefused => {
            response.headers_mut().insert(header::UPGRADE, HeaderValue::from_static("HTTP/1.1"));
        }
        // A key does not become a valid one, and an account is not filled up by asking. Claude Code repeats a 401 for three minutes without this header.
        ErrorKind::Authentication | ErrorKind::Permission | ErrorKind::Billing => {
            response.headers_mut().insert(SHOULD_RETRY, HeaderValue::from_static("false"));
        }
        _ => {}
    }
    response
}

/// An error in the form of a path: that of the wiki's API, or that of the path's wire format.
pub(super) fn refusal(path: &str, kind: ErrorKind, message: &str) -> Response<Body> {
    if path.starts_with("/api/") {
        return marked(json(kind.status(), json!({"error": message}).to_string()), kind);
    }
    error(WireFormat::of_path(path), kind, message)
}

pub(super) fn json(status: StatusCode, body: String) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}

/// The built-in model's answer.
pub(super) fn answer(format: WireFormat, answer: &Answer, streamed: bool) -> Response<Body> {
    if !streamed {
        return json(StatusCode::OK, answer.whole(format));
    }
    let events = answer.events(format).into_iter().map(|event| Ok::<_, std::convert::Infallible>(Bytes::from(event)));
    let mut response = Response::new(Body::from_stream(stream::iter(events)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, EVENT_STREAM);
    headers.insert(header::CACHE_CONTROL, NO_CACHE);
    response
}

/// Adds the headers with the request's id and the outcome. Where the backend gave the request no id, its vendor's header has
/// this one, too.
pub(super) fn label(response: &mut Response<Body>, format: WireFormat, id: &str, outcome: &'static str) {
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(id) {
        let vendors = match format {
            WireFormat::Messages => "request-id",
            WireFormat::Chat | WireFormat::Responses => "x-request-id",
        };
        headers.entry(vendors).or_insert_with(|| id.clone());
        headers.insert(REQUEST_ID, id);
    }
    headers.insert(CONTEXT, HeaderValue::from_static(outcome));
}
