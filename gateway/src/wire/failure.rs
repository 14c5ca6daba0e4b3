//! Failures as backends tell of them, in a response of their own or in the middle of an answer, whatever the shape.
//!
//! There are as many shapes as servers, and a server of one format repeats the errors of another that it stands before.
//! So this is read the same way for all formats.

use std::borrow::Cow;

use http::StatusCode;

use super::error::{ErrorKind, Failure};
use super::overflow::overflow;
use super::{Members, Text};

/// More of a backend's text than this is not shown.
const LONGEST_MESSAGE: usize = 2_000;

/// Reads the body of an error response.
#[must_use]
pub fn read(status: StatusCode, body: &str) -> Failure {
    let members = Members::of(body.trim_ascii());
    let told = members.as_ref().and_then(|members| {
        // FastAPI has `detail` and nothing else.
        let detail = || members.get("detail").map(|raw| worded(members, raw));
        of("", members).or_else(detail)
    });
    let mut failure = told.unwrap_or_else(|| {
        let text = body.trim();
        let shows = !text.is_empty() && !text.starts_with('<');
        Failure {
            kind: ErrorKind::Server,
            message: if shows {
                shortened(text)
            } else {
                format!("the backend answered {status}")
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

/// How servers say that a prompt is too long for the model, besides the sentences that [`overflow`] knows.
const OVERFLOW: &[&str] = &[
    "context_length_exceeded",
    "exceed_context_size",
    "contextwindowexceeded",
    "maximum model length",
    "context window",
];

/// Words in an error's `type` or `code` that say more than its status.
const TELLING: &[(ErrorKind, &[&str])] = &[
    (
        ErrorKind::RateLimit,
        &["rate_limit", "ratelimit", "quota", "throttl", "too_many"],
    ),
    (ErrorKind::Overloaded, &["overload", "unavailable", "capacity"]),
    (
        ErrorKind::Authentication,
        &["authentication", "api_key", "unauthorized"],
    ),
    (ErrorKind::Permission, &["permission", "forbidden"]),
    (ErrorKind::NotFound, &["not_found", "notfound"]),
    (ErrorKind::TooLarge, &["too_large", "toolarge"]),
    (ErrorKind::Timeout, &["timeout", "timed_out"]),
];

/// The failure that an object tells of, if it does. `name` is that of the event that it came in.
pub(super) fn of(name: &str, members: &Members<'_>) -> Option<Failure> {
    let error = members
        .get("error")
        .filter(|raw| !matches!(*raw, "null" | "{}" | "false"));
    let is_error = |key| members.text(key).is_some_and(|text| text.decode() == "error");
    match error {
        Some(raw) if raw.starts_with('{') => Some(of_error(raw)),
        Some(raw) => Some(worded(members, raw)),
        None if name == "error" || is_error("object") || is_error("type") => Some(told(members)),
        None => None,
    }
}

/// The failure that an `error` member tells of: an object, or only words.
pub(super) fn of_error(raw: &str) -> Failure {
    match Members::of(raw) {
        Some(error) => told(&error),
        None => worded(&Members::default(), raw),
    }
}

fn worded(around: &Members<'_>, raw: &str) -> Failure {
    let message = Text::of(raw).map_or(raw.into(), Text::decode);
    Failure {
        kind: kind(around, &message),
        message: shortened(&message),
    }
}

fn shortened(message: &str) -> String {
    message.chars().take(LONGEST_MESSAGE).collect()
}

/// The failure that an error object tells of.
pub(super) fn told(error: &Members<'_>) -> Failure {
    let message = ["message", "detail", "error"]
        .into_iter()
        .find_map(|key| text(error, key))
        .unwrap_or("the backend failed without saying why".into());
    Failure {
        kind: kind(error, &message),
        message: shortened(&message),
    }
}

fn kind(error: &Members<'_>, message: &str) -> ErrorKind {
    let words = ["type", "code"]
        .into_iter()
        .filter_map(|key| text(error, key))
        .fold(String::new(), |words, word| words + " " + &word.to_ascii_lowercase());
    let lower = message.to_ascii_lowercase();
    if overflow(message).is_some() || OVERFLOW.iter().any(|told| words.contains(told) || lower.contains(told)) {
        return ErrorKind::ContextOverflow;
    }
    let told = TELLING
        .iter()
        .find(|(_, telling)| telling.iter().any(|word| words.contains(word)));
    if let Some((kind, _)) = told {
        return *kind;
    }
    match status(error).and_then(|status| StatusCode::from_u16(status).ok()) {
        Some(status) => ErrorKind::of_status(status),
        None if words.contains("invalid_request") || words.contains("badrequest") => ErrorKind::InvalidRequest,
        None => ErrorKind::Server,
    }
}

/// The HTTP status that an error names in its body, as a number or in a string.
fn status(error: &Members<'_>) -> Option<u16> {
    ["code", "status", "status_code"]
        .into_iter()
        .find_map(|key| error.get(key)?.trim_matches('"').parse().ok())
}

fn text<'a>(members: &Members<'a>, key: &str) -> Option<Cow<'a, str>> {
    members.text(key).map(Text::decode).filter(|text| !text.is_empty())
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
    fn errors_of_servers_have_a_kind() {
        let cases = [
            (
                r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
                ErrorKind::ContextOverflow,
            ),
            (
                r#"{"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","code":400}"#,
                ErrorKind::ContextOverflow,
            ),
            (
                r#"{"error":{"message":"slow down","type":"None","param":"None","code":"429"}}"#,
                ErrorKind::RateLimit,
            ),
            (
                r#"{"error":{"message":"no credit","type":"insufficient_quota","code":"insufficient_quota"}}"#,
                ErrorKind::RateLimit,
            ),
            (
                r#"{"error":{"message":"Loading model","type":"unavailable_error","code":503}}"#,
                ErrorKind::Overloaded,
            ),
            (
                r#"{"error":{"message":"bad key","type":"invalid_request_error","code":"invalid_api_key"}}"#,
                ErrorKind::Authentication,
            ),
            (
                r#"{"error":{"message":"no","type":"invalid_request_error","code":null}}"#,
                ErrorKind::InvalidRequest,
            ),
            (r#"{"error":"model runner has stopped"}"#, ErrorKind::Server),
            (r#"{"error":{}, "type":"error", "message": 3}"#, ErrorKind::Server),
            (r#"{"error":["a"]}"#, ErrorKind::Server),
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
