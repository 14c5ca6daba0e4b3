//! Errors that a backend tells of in place of an answer, or in the middle of one.

use super::super::answer::{Failure, FailureKind};
use super::{object, text};
use crate::wire::{Members, Text};

/// How servers say that a prompt is too long for the model.
const OVERFLOW: &[&str] = &[
    "context_length_exceeded",
    "exceed_context_size",
    "contextwindowexceeded",
    "maximum context length",
    "maximum model length",
    "available context size",
    "context window",
    "prompt is too long",
];

/// Words in an error's `type` or `code` that say more than its status.
const TELLING: &[(FailureKind, &[&str])] = &[
    (
        FailureKind::RateLimit,
        &["rate_limit", "ratelimit", "quota", "throttl", "too_many"],
    ),
    (FailureKind::Overloaded, &["overload", "unavailable", "capacity"]),
    (
        FailureKind::Authentication,
        &["authentication", "api_key", "unauthorized"],
    ),
    (FailureKind::Permission, &["permission", "forbidden"]),
    (FailureKind::NotFound, &["not_found", "notfound"]),
    (FailureKind::TooLarge, &["too_large", "toolarge"]),
    (FailureKind::Timeout, &["timeout", "timed_out"]),
];

/// The failure that an object tells of, if it does. `name` is that of the event that it came in.
pub(super) fn of(name: &str, members: &Members<'_>) -> Option<Failure> {
    let error = members
        .get("error")
        .filter(|raw| !matches!(*raw, "null" | "{}" | "false"));
    let is_error = |key| members.text(key).is_some_and(|text| text.decode() == "error");
    match error {
        Some(raw) if raw.starts_with('{') => Some(told(&object(members, "error"))),
        Some(raw) => {
            let message = Text::of(raw).map_or(raw.into(), Text::decode);
            Some(Failure {
                kind: kind(members, &message),
                message: message.into_owned(),
            })
        }
        None if name == "error" || is_error("object") || is_error("type") => Some(told(members)),
        None => None,
    }
}

fn told(error: &Members<'_>) -> Failure {
    let message = ["message", "detail", "error"]
        .into_iter()
        .find_map(|key| text(error, key))
        .unwrap_or("the backend failed without saying why".into());
    Failure {
        kind: kind(error, &message),
        message: message.into_owned(),
    }
}

fn kind(error: &Members<'_>, message: &str) -> FailureKind {
    let words = ["type", "code"]
        .into_iter()
        .filter_map(|key| text(error, key))
        .fold(String::new(), |words, word| words + " " + &word.to_ascii_lowercase());
    let message = message.to_ascii_lowercase();
    if OVERFLOW
        .iter()
        .any(|told| words.contains(told) || message.contains(told))
    {
        return FailureKind::ContextOverflow;
    }
    let told = TELLING
        .iter()
        .find(|(_, telling)| telling.iter().any(|word| words.contains(word)));
    if let Some((kind, _)) = told {
        return *kind;
    }
    match status(error) {
        Some(401) => FailureKind::Authentication,
        Some(403) => FailureKind::Permission,
        Some(404) => FailureKind::NotFound,
        Some(408 | 504) => FailureKind::Timeout,
        Some(413) => FailureKind::TooLarge,
        Some(429) => FailureKind::RateLimit,
        Some(503 | 529) => FailureKind::Overloaded,
        Some(400..=499) => FailureKind::InvalidRequest,
        Some(_) => FailureKind::Server,
        None if words.contains("invalid_request") || words.contains("badrequest") => FailureKind::InvalidRequest,
        None => FailureKind::Server,
    }
}

/// The HTTP status that an error names in its body, as a number or in a string.
fn status(error: &Members<'_>) -> Option<u16> {
    ["code", "status", "status_code"]
        .into_iter()
        .find_map(|key| error.get(key)?.trim_matches('"').parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_servers_have_a_kind() {
        let cases = [
            (
                r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
                FailureKind::ContextOverflow,
            ),
            (
                r#"{"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","code":400}"#,
                FailureKind::ContextOverflow,
            ),
            (
                r#"{"error":{"message":"slow down","type":"None","param":"None","code":"429"}}"#,
                FailureKind::RateLimit,
            ),
            (
                r#"{"error":{"message":"no credit","type":"insufficient_quota","code":"insufficient_quota"}}"#,
                FailureKind::RateLimit,
            ),
            (
                r#"{"error":{"message":"Loading model","type":"unavailable_error","code":503}}"#,
                FailureKind::Overloaded,
            ),
            (
                r#"{"error":{"message":"bad key","type":"invalid_request_error","code":"invalid_api_key"}}"#,
                FailureKind::Authentication,
            ),
            (
                r#"{"error":{"message":"no","type":"invalid_request_error","code":null}}"#,
                FailureKind::InvalidRequest,
            ),
            (r#"{"error":"model runner has stopped"}"#, FailureKind::Server),
            (r#"{"error":{}, "type":"error", "message": 3}"#, FailureKind::Server),
            (r#"{"error":["a"]}"#, FailureKind::Server),
        ];
        for (body, kind) in cases {
            let failure = of("message", &Members::of(body).unwrap());
            assert_eq!(failure.map(|failure| failure.kind), Some(kind), "{body}");
        }
        for body in [r#"{"error":null,"choices":[]}"#, r#"{"choices":[]}"#] {
            assert_eq!(of("message", &Members::of(body).unwrap()), None, "{body}");
        }
    }
}
