//! Error codes of the format.

use super::super::answer::FailureKind;

/// Returns the error code of a failure. Clients of the format retry on unknown codes, so every failure that a retry
/// cannot fix is `invalid_prompt`.
pub(super) fn code(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::ContextOverflow => "context_length_exceeded",
        FailureKind::InvalidRequest
        | FailureKind::Authentication
        | FailureKind::Permission
        | FailureKind::NotFound
        | FailureKind::Conflict
        | FailureKind::UnknownCoding
        | FailureKind::UpgradeRefused
        | FailureKind::TooLarge => "invalid_prompt",
        FailureKind::Billing => "insufficient_quota",
        FailureKind::RateLimit => "rate_limit_exceeded",
        FailureKind::Overloaded | FailureKind::NoMemory => "server_is_overloaded",
        FailureKind::Timeout
        | FailureKind::Server
        | FailureKind::BadGateway
        | FailureKind::NoBackend
        | FailureKind::BackendTimeout => "server_error",
    }
}
