//! Kinds of failures, and error bodies in each wire format. Clients decide by status and type what to show and whether
//! to retry.

use http::StatusCode;
use serde_json::json;

use super::WireFormat;

/// The kind of a failure. Each format has its own name for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// 400: the request is wrong.
    InvalidRequest,
    /// 400: the prompt is longer than the model's context window.
    ContextOverflow,
    /// 401: no credential, or a wrong one.
    Authentication,
    /// 402: the account at the vendor has no credit or no quota left. To ask again does not help.
    Billing,
    /// 403: the caller has no permission for this request.
    Permission,
    /// 404: there is no such path or model.
    NotFound,
    /// 408: the client stopped sending in the middle of its request.
    Timeout,
    /// 409: the request contradicts the state of what it is about.
    Conflict,
    /// 413: the body is too large.
    TooLarge,
    /// 415: the body's content coding is not supported.
    UnknownCoding,
    /// 426: the client asks for a protocol that Muninn does not support.
    UpgradeRefused,
    /// 429: too many requests.
    RateLimit,
    /// 500: the backend failed.
    Server,
    /// 502: the backend cannot be reached, broke off, or sent an invalid answer.
    BadGateway,
    /// 503: no backend is known, or none accepts requests now.
    NoBackend,
    /// 503: other requests use all the memory for bodies.
    NoMemory,
    /// 504: the backend took too long.
    BackendTimeout,
    /// 529: the backend is overloaded.
    Overloaded,
}

/// A failure of a backend or of Muninn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub kind: ErrorKind,
    /// A message that the client may show.
    pub message: String,
}

impl Failure {
    /// The failure of a backend's answer or event that is not valid JSON.
    pub(super) fn not_json() -> Self {
        Self { kind: ErrorKind::Server, message: "the backend sent something that is not valid JSON".to_owned() }
    }
}

impl ErrorKind {
    /// The HTTP status.
    pub fn status(self) -> StatusCode {
        match self {
            ErrorKind::InvalidRequest | ErrorKind::ContextOverflow => StatusCode::BAD_REQUEST,
            ErrorKind::Authentication => StatusCode::UNAUTHORIZED,
            ErrorKind::Billing => StatusCode::PAYMENT_REQUIRED,
            ErrorKind::Permission => StatusCode::FORBIDDEN,
            ErrorKind::NotFound => StatusCode::NOT_FOUND,
            ErrorKind::Timeout => StatusCode::REQUEST_TIMEOUT,
            ErrorKind::Conflict => StatusCode::CONFLICT,
            ErrorKind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            ErrorKind::UnknownCoding => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            ErrorKind::UpgradeRefused => StatusCode::UPGRADE_REQUIRED,
            ErrorKind::RateLimit => StatusCode::TOO_MANY_REQUESTS,
            ErrorKind::Server => StatusCode::INTERNAL_SERVER_ERROR,
            ErrorKind::BadGateway => StatusCode::BAD_GATEWAY,
            ErrorKind::NoBackend | ErrorKind::NoMemory => StatusCode::SERVICE_UNAVAILABLE,
            ErrorKind::BackendTimeout => StatusCode::GATEWAY_TIMEOUT,
            ErrorKind::Overloaded => StatusCode::from_u16(529).unwrap_or(StatusCode::SERVICE_UNAVAILABLE),
        }
    }

    /// The HTTP status in this format. OpenAI has none of its own for a used-up account.
    pub fn status_in(self, format: WireFormat) -> StatusCode {
        match (self, format) {
            (ErrorKind::Billing, WireFormat::Chat | WireFormat::Responses) => StatusCode::TOO_MANY_REQUESTS,
            _ => self.status(),
        }
    }

    /// The kind of a backend's HTTP status.
    pub fn of_status(status: StatusCode) -> ErrorKind {
        match status.as_u16() {
            401 => ErrorKind::Authentication,
            402 => ErrorKind::Billing,
            403 => ErrorKind::Permission,
            404 | 405 => ErrorKind::NotFound,
            408 => ErrorKind::Timeout,
            409 => ErrorKind::Conflict,
            413 => ErrorKind::TooLarge,
            429 => ErrorKind::RateLimit,
            502 => ErrorKind::BadGateway,
            503 | 529 => ErrorKind::Overloaded,
            504 => ErrorKind::BackendTimeout,
            400..500 => ErrorKind::InvalidRequest,
            _ => ErrorKind::Server,
        }
    }

    /// The `type` of errors in the messages format.
    pub fn anthropic_type(self) -> &'static str {
        match self {
            ErrorKind::InvalidRequest
            | ErrorKind::ContextOverflow
            | ErrorKind::UnknownCoding
            | ErrorKind::UpgradeRefused => "invalid_request_error",
            ErrorKind::Authentication => "authentication_error",
            ErrorKind::Billing => "billing_error",
            ErrorKind::Permission => "permission_error",
            ErrorKind::NotFound => "not_found_error",
            ErrorKind::Timeout | ErrorKind::BackendTimeout => "timeout_error",
            ErrorKind::Conflict => "conflict_error",
            ErrorKind::TooLarge => "request_too_large",
            ErrorKind::RateLimit => "rate_limit_error",
            ErrorKind::Overloaded | ErrorKind::NoMemory => "overloaded_error",
            ErrorKind::Server | ErrorKind::BadGateway | ErrorKind::NoBackend => "api_error",
        }
    }

    /// The `type` and the `code` of errors in the chat and responses formats.
    pub fn openai(self) -> (&'static str, &'static str) {
        match self {
            ErrorKind::InvalidRequest => ("invalid_request_error", "invalid_request"),
            ErrorKind::ContextOverflow => ("invalid_request_error", "context_length_exceeded"),
            ErrorKind::Authentication => ("invalid_request_error", "invalid_api_key"),
            ErrorKind::Billing => ("insufficient_quota", "insufficient_quota"),
            ErrorKind::Permission => ("invalid_request_error", "forbidden"),
            ErrorKind::NotFound => ("invalid_request_error", "not_found"),
            ErrorKind::Timeout => ("invalid_request_error", "request_timeout"),
            ErrorKind::Conflict => ("invalid_request_error", "conflict"),
            ErrorKind::TooLarge => ("invalid_request_error", "request_too_large"),
            ErrorKind::UnknownCoding => ("invalid_request_error", "unsupported_content_encoding"),
            ErrorKind::UpgradeRefused => ("invalid_request_error", "upgrade_required"),
            ErrorKind::RateLimit => ("requests", "rate_limit_exceeded"),
            ErrorKind::Server => ("server_error", "server_error"),
            ErrorKind::BadGateway => ("server_error", "bad_gateway"),
            ErrorKind::NoBackend => ("server_error", "no_backend"),
            ErrorKind::BackendTimeout => ("server_error", "timeout"),
            ErrorKind::Overloaded | ErrorKind::NoMemory => ("server_error", "server_is_overloaded"),
        }
    }
}

/// The JSON body of an error in this format. The messages format repeats the request's id, if there is one.
pub fn body(format: WireFormat, kind: ErrorKind, message: &str, request: Option<&str>) -> String {
    match format {
        WireFormat::Messages => {
            let mut body = json!({"type": "error", "error": {"type": kind.anthropic_type(), "message": message}});
            if let Some(id) = request {
                body["request_id"] = id.into();
            }
            body
        }
        WireFormat::Chat | WireFormat::Responses => {
            let (category, code) = kind.openai();
            json!({"error": {"message": message, "type": category, "param": null, "code": code}})
        }
    }
    .to_string()
}
