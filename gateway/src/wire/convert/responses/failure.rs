//! Failures that a backend tells of, and what the format calls ours.

use std::borrow::Cow;

use super::super::answer::{Failure, FailureKind};
use super::read_items::string;
use crate::wire::Members;

/// Reads an error object (or an event of type `error`, which holds the same members itself).
pub(super) fn failure(members: &Members<'_>) -> Failure {
    let message = string(members, "message").unwrap_or_else(|| "the backend failed without saying why".into());
    let mut kind = FailureKind::Server;
    // The first that says anything; codes may be numbers.
    for key in ["code", "type", "status", "status_code"] {
        let said = string(members, key).or_else(|| members.get(key).map(Cow::Borrowed));
        if let Some(known) = said.and_then(|said| known(&said)) {
            kind = known;
            break;
        }
    }
    let overflow = [
        "maximum context length",
        "context length exceeded",
        "exceeds the available context size",
        "prompt is too long",
    ];
    let lower = message.to_ascii_lowercase();
    if overflow.iter().any(|words| lower.contains(words)) {
        kind = FailureKind::ContextOverflow;
    }
    Failure {
        kind,
        message: message.into_owned(),
    }
}

fn known(said: &str) -> Option<FailureKind> {
    Some(match said {
        "context_length_exceeded" | "exceed_context_size_error" => FailureKind::ContextOverflow,
        "rate_limit_exceeded" | "rate_limit_error" | "insufficient_quota" | "RateLimitError" | "429" => {
            FailureKind::RateLimit
        }
        "server_is_overloaded"
        | "slow_down"
        | "overloaded_error"
        | "service_unavailable_error"
        | "unavailable_error"
        | "503"
        | "529" => FailureKind::Overloaded,
        "authentication_error" | "invalid_api_key" | "401" => FailureKind::Authentication,
        "permission_error" | "403" => FailureKind::Permission,
        "not_found_error" | "model_not_found" | "NotFoundError" | "404" => FailureKind::NotFound,
        "request_too_large" | "413" => FailureKind::TooLarge,
        "timeout_error" | "timeout" | "408" | "504" => FailureKind::Timeout,
        "invalid_prompt" | "invalid_request_error" | "BadRequestError" | "invalid_image" | "400" | "422" => {
            FailureKind::InvalidRequest
        }
        "server_error" | "internal_error" | "500" | "502" => FailureKind::Server,
        _ => return None,
    })
}

/// The code that tells the format's clients what to do. They try again on any that they do not know, so everything that
/// will fail again is an invalid prompt.
pub(super) fn code(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::ContextOverflow => "context_length_exceeded",
        FailureKind::InvalidRequest
        | FailureKind::Authentication
        | FailureKind::Permission
        | FailureKind::NotFound
        | FailureKind::UpgradeRefused
        | FailureKind::TooLarge => "invalid_prompt",
        FailureKind::RateLimit => "rate_limit_exceeded",
        FailureKind::Overloaded => "server_is_overloaded",
        FailureKind::Timeout
        | FailureKind::Server
        | FailureKind::BadGateway
        | FailureKind::NoBackend
        | FailureKind::BackendTimeout => "server_error",
    }
}
