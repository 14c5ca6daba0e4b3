//! Our own errors, written the way each wire format writes its errors, so that clients show them and retry rightly.

use serde_json::json;

use super::WireFormat;

/// What kind of refusal an error is; each format has a name of its own for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// 400: the request is wrong.
    InvalidRequest,
    /// 401: the caller is not known.
    Unauthenticated,
    /// 403: the caller may not ask this.
    Forbidden,
    /// 404: there is no such path or model.
    NotFound,
    /// 408: the client stopped in the middle of its request.
    Timeout,
    /// 413: the body is too large.
    TooLarge,
    /// 426: the client asks for a protocol that is not spoken here.
    UpgradeRefused,
    /// 429: the caller has asked too often.
    RateLimited,
    /// 501: a conversion that does not exist yet.
    NotImplemented,
    /// 502: the backend cannot be reached or broke off before answering.
    BadGateway,
    /// 503: no backend is known.
    NoBackend,
}

impl ErrorKind {
    /// The HTTP status.
    #[must_use]
    pub fn status(self) -> http::StatusCode {
        match self {
            ErrorKind::InvalidRequest => http::StatusCode::BAD_REQUEST,
            ErrorKind::Unauthenticated => http::StatusCode::UNAUTHORIZED,
            ErrorKind::Forbidden => http::StatusCode::FORBIDDEN,
            ErrorKind::NotFound => http::StatusCode::NOT_FOUND,
            ErrorKind::Timeout => http::StatusCode::REQUEST_TIMEOUT,
            ErrorKind::TooLarge => http::StatusCode::PAYLOAD_TOO_LARGE,
            ErrorKind::UpgradeRefused => http::StatusCode::UPGRADE_REQUIRED,
            ErrorKind::RateLimited => http::StatusCode::TOO_MANY_REQUESTS,
            ErrorKind::NotImplemented => http::StatusCode::NOT_IMPLEMENTED,
            ErrorKind::BadGateway => http::StatusCode::BAD_GATEWAY,
            ErrorKind::NoBackend => http::StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    fn anthropic_type(self) -> &'static str {
        match self {
            ErrorKind::InvalidRequest | ErrorKind::UpgradeRefused | ErrorKind::NotImplemented => {
                "invalid_request_error"
            }
            ErrorKind::Unauthenticated => "authentication_error",
            ErrorKind::Forbidden => "permission_error",
            ErrorKind::NotFound => "not_found_error",
            ErrorKind::Timeout => "timeout_error",
            ErrorKind::TooLarge => "request_too_large",
            ErrorKind::RateLimited => "rate_limit_error",
            ErrorKind::BadGateway | ErrorKind::NoBackend => "api_error",
        }
    }

    fn openai(self) -> (&'static str, &'static str) {
        match self {
            ErrorKind::InvalidRequest => ("invalid_request_error", "invalid_request"),
            ErrorKind::Unauthenticated => ("invalid_request_error", "invalid_api_key"),
            ErrorKind::Forbidden => ("invalid_request_error", "forbidden"),
            ErrorKind::NotFound => ("invalid_request_error", "not_found"),
            ErrorKind::Timeout => ("invalid_request_error", "request_timeout"),
            ErrorKind::TooLarge => ("invalid_request_error", "request_too_large"),
            ErrorKind::UpgradeRefused => ("invalid_request_error", "upgrade_required"),
            ErrorKind::RateLimited => ("requests", "rate_limit_exceeded"),
            ErrorKind::NotImplemented => ("invalid_request_error", "not_implemented"),
            ErrorKind::BadGateway => ("server_error", "bad_gateway"),
            ErrorKind::NoBackend => ("server_error", "no_backend"),
        }
    }
}

/// The JSON body of an error.
#[must_use]
pub fn body(format: WireFormat, kind: ErrorKind, message: &str) -> String {
    match format {
        WireFormat::Messages => {
            json!({"type": "error", "error": {"type": kind.anthropic_type(), "message": message}})
        }
        WireFormat::Chat | WireFormat::Responses => {
            let (category, code) = kind.openai();
            json!({"error": {"message": message, "type": category, "param": null, "code": code}})
        }
    }
    .to_string()
}
