//! What the format calls a failure.

use super::super::answer::FailureKind;

/// The code that tells the format's clients what to do. They try again on any that they do not know, so everything that
/// will fail again is an invalid prompt.
pub(super) fn code(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::ContextOverflow => "context_length_exceeded",
        FailureKind::InvalidRequest
        | FailureKind::Authentication
        | FailureKind::Permission
        | FailureKind::NotFound
        | FailureKind::UnknownCoding
        | FailureKind::UpgradeRefused
        | FailureKind::TooLarge => "invalid_prompt",
        FailureKind::RateLimit => "rate_limit_exceeded",
        FailureKind::Overloaded | FailureKind::NoMemory => "server_is_overloaded",
        FailureKind::Timeout
        | FailureKind::Server
        | FailureKind::BadGateway
        | FailureKind::NoBackend
        | FailureKind::BackendTimeout => "server_error",
    }
}
