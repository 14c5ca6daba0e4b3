//! Errors: our own, written the way each wire format writes its errors, so that clients show them and retry rightly; and
//! backends' errors, read whatever their shape.

use http::StatusCode;
use serde_json::{Value, json};

use super::WireFormat;
use super::overflow::overflow;

/// What kind of failure an error is; each format has a name of its own for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// 400: the request is wrong.
    InvalidRequest,
    /// 400: the prompt is longer than the model's context window.
    ContextOverflow,
    /// 401: no credential, or a wrong one.
    Authentication,
    /// 403: the caller may not ask this.
    Permission,
    /// 404: there is no such path or model.
    NotFound,
    /// 408: the client stopped in the middle of its request.
    Timeout,
    /// 413: the body is too large.
    TooLarge,
    /// 426: the client asks for a protocol that is not spoken here.
    UpgradeRefused,
    /// 429: too many requests.
    RateLimit,
    /// 500: the backend failed.
    Server,
    /// 502: the backend cannot be reached, broke off, or sent what is no answer.
    BadGateway,
    /// 503: no backend is known, or none takes requests now.
    NoBackend,
    /// 504: the backend took too long.
    BackendTimeout,
    /// 529: the backend is overloaded.
    Overloaded,
}

/// A failure, told by a backend or of our own making.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What kind.
    pub kind: ErrorKind,
    /// In words that the client may show.
    pub message: String,
}

impl ErrorKind {
    /// The HTTP status.
    #[must_use]
    pub fn status(self) -> StatusCode {
        match self {
            ErrorKind::InvalidRequest | ErrorKind::ContextOverflow => StatusCode::BAD_REQUEST,
            ErrorKind::Authentication => StatusCode::UNAUTHORIZED,
            ErrorKind::Permission => StatusCode::FORBIDDEN,
            ErrorKind::NotFound => StatusCode::NOT_FOUND,
            ErrorKind::Timeout => StatusCode::REQUEST_TIMEOUT,
            ErrorKind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            ErrorKind::UpgradeRefused => StatusCode::UPGRADE_REQUIRED,
            ErrorKind::RateLimit => StatusCode::TOO_MANY_REQUESTS,
            ErrorKind::Server => StatusCode::INTERNAL_SERVER_ERROR,
            ErrorKind::BadGateway => StatusCode::BAD_GATEWAY,
            ErrorKind::NoBackend => StatusCode::SERVICE_UNAVAILABLE,
            ErrorKind::BackendTimeout => StatusCode::GATEWAY_TIMEOUT,
            ErrorKind::Overloaded => StatusCode::from_u16(529).unwrap_or(StatusCode::SERVICE_UNAVAILABLE),
        }
    }

    /// What a status of a backend means.
    #[must_use]
    pub fn of_status(status: StatusCode) -> ErrorKind {
        match status.as_u16() {
            401 => ErrorKind::Authentication,
            403 => ErrorKind::Permission,
            404 | 405 => ErrorKind::NotFound,
            408 => ErrorKind::Timeout,
            413 => ErrorKind::TooLarge,
            429 => ErrorKind::RateLimit,
            502 => ErrorKind::BadGateway,
            503 | 529 => ErrorKind::Overloaded,
            504 => ErrorKind::BackendTimeout,
            400..500 => ErrorKind::InvalidRequest,
            _ => ErrorKind::Server,
        }
    }

    /// What a type or code in an error's body means, in any format's words.
    #[must_use]
    pub fn of_name(name: &str) -> Option<ErrorKind> {
        Some(match name {
            "invalid_request_error" | "BadRequestError" | "bad_request" => ErrorKind::InvalidRequest,
            "context_length_exceeded" | "exceed_context_size_error" => ErrorKind::ContextOverflow,
            "authentication_error" | "invalid_api_key" => ErrorKind::Authentication,
            "permission_error" | "permission_denied" => ErrorKind::Permission,
            "not_found_error" | "NotFoundError" | "model_not_found" => ErrorKind::NotFound,
            "request_too_large" => ErrorKind::TooLarge,
            "rate_limit_error" | "rate_limit_exceeded" | "insufficient_quota" | "tokens" | "requests" => {
                ErrorKind::RateLimit
            }
            "overloaded_error" | "overloaded" | "server_is_overloaded" | "slow_down" => ErrorKind::Overloaded,
            "timeout_error" => ErrorKind::BackendTimeout,
            "api_error" | "server_error" | "internal_server_error" | "InternalServerError" => ErrorKind::Server,
            _ => return None,
        })
    }

    /// The `type` of Anthropic's errors.
    #[must_use]
    pub fn anthropic_type(self) -> &'static str {
        match self {
            ErrorKind::InvalidRequest | ErrorKind::ContextOverflow | ErrorKind::UpgradeRefused => {
                "invalid_request_error"
            }
            ErrorKind::Authentication => "authentication_error",
            ErrorKind::Permission => "permission_error",
            ErrorKind::NotFound => "not_found_error",
            ErrorKind::Timeout | ErrorKind::BackendTimeout => "timeout_error",
            ErrorKind::TooLarge => "request_too_large",
            ErrorKind::RateLimit => "rate_limit_error",
            ErrorKind::Overloaded => "overloaded_error",
            ErrorKind::Server | ErrorKind::BadGateway | ErrorKind::NoBackend => "api_error",
        }
    }

    /// The `type` and the `code` of OpenAI's errors.
    #[must_use]
    pub fn openai(self) -> (&'static str, &'static str) {
        match self {
            ErrorKind::InvalidRequest => ("invalid_request_error", "invalid_request"),
            ErrorKind::ContextOverflow => ("invalid_request_error", "context_length_exceeded"),
            ErrorKind::Authentication => ("invalid_request_error", "invalid_api_key"),
            ErrorKind::Permission => ("invalid_request_error", "forbidden"),
            ErrorKind::NotFound => ("invalid_request_error", "not_found"),
            ErrorKind::Timeout => ("invalid_request_error", "request_timeout"),
            ErrorKind::TooLarge => ("invalid_request_error", "request_too_large"),
            ErrorKind::UpgradeRefused => ("invalid_request_error", "upgrade_required"),
            ErrorKind::RateLimit => ("requests", "rate_limit_exceeded"),
            ErrorKind::Server => ("server_error", "server_error"),
            ErrorKind::BadGateway => ("server_error", "bad_gateway"),
            ErrorKind::NoBackend => ("server_error", "no_backend"),
            ErrorKind::BackendTimeout => ("server_error", "timeout"),
            ErrorKind::Overloaded => ("server_error", "server_is_overloaded"),
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

/// More of a backend's text than this is not shown.
const LONGEST_MESSAGE: usize = 2_000;

/// Reads the body of a backend's error.
#[must_use]
pub fn read(status: StatusCode, body: &str) -> Failure {
    let mut failure = serde_json::from_str(body)
        .ok()
        .and_then(|value| in_value(&value))
        .unwrap_or_else(|| {
            let text: String = body.trim().chars().take(LONGEST_MESSAGE).collect();
            let is_markup = text.starts_with('<');
            Failure {
                kind: ErrorKind::Server,
                message: if text.is_empty() || is_markup {
                    format!("the backend answered {status}")
                } else {
                    text
                },
            }
        });
    if failure.kind != ErrorKind::ContextOverflow {
        failure.kind = if overflow(body).is_some() {
            ErrorKind::ContextOverflow
        } else {
            ErrorKind::of_status(status)
        };
    }
    failure
}

/// Reads an error object of any format out of JSON, `None` where there is none.
#[must_use]
pub fn in_value(value: &Value) -> Option<Failure> {
    let error = match value.get("error") {
        Some(Value::Null) | None => {
            // FastAPI's `detail`, and vLLM's older form without an envelope.
            let is_error = value.get("object").and_then(Value::as_str) == Some("error");
            let message = value
                .get("detail")
                .or_else(|| value.get("message").filter(|_| is_error))?;
            let message = message.as_str().map_or_else(|| message.to_string(), str::to_owned);
            return Some(named(None, message));
        }
        Some(Value::String(message)) => return Some(named(None, message.clone())),
        Some(error) => error,
    };
    let text = |key: &str| error.get(key).and_then(Value::as_str);
    let number = error
        .get("code")
        .and_then(Value::as_u64)
        .and_then(|code| u16::try_from(code).ok());
    let kind = text("code")
        .and_then(ErrorKind::of_name)
        .or_else(|| text("type").and_then(ErrorKind::of_name))
        .or_else(|| {
            number
                .and_then(|code| StatusCode::from_u16(code).ok())
                .map(ErrorKind::of_status)
        });
    let message = text("message").map_or_else(|| error.to_string(), str::to_owned);
    Some(named(kind, message))
}

fn named(kind: Option<ErrorKind>, message: String) -> Failure {
    let kind = if overflow(&message).is_some() {
        Some(ErrorKind::ContextOverflow)
    } else {
        kind
    };
    Failure {
        kind: kind.unwrap_or(ErrorKind::Server),
        message: message.chars().take(LONGEST_MESSAGE).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_every_shape_are_read() {
        let cases = [
            (
                400,
                r#"{"error":{"message":"bad","type":"invalid_request_error","code":null}}"#,
                ErrorKind::InvalidRequest,
                "bad",
            ),
            (
                529,
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                ErrorKind::Overloaded,
                "Overloaded",
            ),
            (
                400,
                r#"{"object":"error","message":"no","type":"BadRequestError","code":400}"#,
                ErrorKind::InvalidRequest,
                "no",
            ),
            (
                422,
                r#"{"detail":[{"msg":"field required"}]}"#,
                ErrorKind::InvalidRequest,
                r#"[{"msg":"field required"}]"#,
            ),
            (500, r#"{"error":"out of memory"}"#, ErrorKind::Server, "out of memory"),
            (
                502,
                "<html><body>Bad Gateway</body></html>",
                ErrorKind::BadGateway,
                "the backend answered 502 Bad Gateway",
            ),
            (
                503,
                "",
                ErrorKind::Overloaded,
                "the backend answered 503 Service Unavailable",
            ),
            (429, "slow down", ErrorKind::RateLimit, "slow down"),
            (
                400,
                r#"{"error":{"message":"litellm.ContextWindowExceededError: too long","type":null,"code":"400"}}"#,
                ErrorKind::ContextOverflow,
                "litellm.ContextWindowExceededError: too long",
            ),
        ];
        for (status, body, kind, message) in cases {
            let failure = read(StatusCode::from_u16(status).unwrap(), body);
            assert_eq!((failure.kind, failure.message.as_str()), (kind, message), "{body}");
        }
    }

    #[test]
    fn an_answer_is_no_error() {
        for value in [
            json!({"choices": [], "error": null}),
            json!({"id": "x"}),
            json!([1]),
            json!({"message": {}}),
        ] {
            assert_eq!(in_value(&value), None, "{value}");
        }
    }
}
