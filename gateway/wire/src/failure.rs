//! Reads the errors of backends: error responses, and errors in the middle of a stream.
//!
//! Each server has its own error shapes, and a proxy of one format forwards errors of another. So all formats share one
//! reader.

use std::borrow::Cow;

use http::StatusCode;

use super::error::{ErrorKind, Failure};
use super::overflow::Overflow;
use super::{Members, Text};

/// The length, in characters, to which a backend's error message is truncated.
const LONGEST_MESSAGE: usize = 2_000;

/// Reads the body of an error response. A context overflow and a used-up account are recognised by the body; any other kind
/// follows from `status`. An empty body and a page of HTML give a message that names the status.
pub fn read(status: StatusCode, body: &str) -> Failure {
    let members = Members::of(body.trim_ascii());
    let found = members.as_ref().and_then(|members| {
        // FastAPI's errors only have `detail`.
        let detail = || members.get("detail").map(|raw| from_text(members, raw));
        find("", members).or_else(detail)
    });
    let mut failure = found.unwrap_or_else(|| {
        let text = body.trim();
        let is_message = !text.is_empty() && !text.starts_with('<');
        Failure {
            kind: ErrorKind::Server,
            message: if is_message { truncated(text) } else { format!("the backend answered {status}") },
        }
    });
    if !matches!(failure.kind, ErrorKind::ContextOverflow | ErrorKind::Billing) {
        failure.kind =
            if Overflow::parse(body).is_some() { ErrorKind::ContextOverflow } else { ErrorKind::of_status(status) };
    }
    failure
}

/// Parts of a type, a code or a message of a context overflow, in lower case, in addition to the messages that
/// [`Overflow::parse`] recognises.
const OVERFLOW_WORDS: &[&str] = &[
    "context_length_exceeded",
    "exceed_context_size",
    "contextwindowexceeded",
    "maximum model length",
    "context window",
];

/// Parts of an error's `type` or `code`, in lower case, that determine its kind. They take precedence over a status in
/// the body.
const KIND_WORDS: &[(ErrorKind, &[&str])] = &[
    (ErrorKind::Billing, &["insufficient_quota", "billing", "credit_balance", "spend_limit", "insufficient_credit"]),
    (ErrorKind::Conflict, &["conflict"]),
    (ErrorKind::RateLimit, &["rate_limit", "ratelimit", "quota", "throttl", "too_many"]),
    (ErrorKind::Overloaded, &["overload", "unavailable", "capacity"]),
    (ErrorKind::Authentication, &["authentication", "api_key", "unauthorized"]),
    (ErrorKind::Permission, &["permission", "forbidden"]),
    (ErrorKind::NotFound, &["not_found", "notfound"]),
    (ErrorKind::TooLarge, &["too_large", "toolarge"]),
    (ErrorKind::Timeout, &["timeout", "timed_out"]),
];

/// Finds the error in an object. `name` is the name of the event that contains the object.
pub(super) fn find(name: &str, members: &Members<'_>) -> Option<Failure> {
    let error = members.get("error").filter(|raw| !matches!(*raw, "null" | "{}" | "[]" | "false" | "0" | "\"\""));
    let is_error = |key| members.text(key).is_some_and(|text| text.decode() == "error");
    match error {
        Some(raw) if raw.starts_with('{') => Some(from_value(raw)),
        Some(raw) => Some(from_text(members, raw)),
        None if name == "error" || is_error("object") || is_error("type") => Some(from_object(members)),
        None => None,
    }
}

/// Reads the value of an `error` member: an object, or only a message.
pub(super) fn from_value(raw: &str) -> Failure {
    match Members::of(raw) {
        Some(error) => from_object(&error),
        None => from_text(&Members::default(), raw),
    }
}

/// Reads an error that is only a message. `around` is the object that contains it and may have a type or a code.
fn from_text(around: &Members<'_>, raw: &str) -> Failure {
    let message = Text::of(raw).map_or(raw.into(), Text::decode);
    Failure { kind: kind(around, &message), message: truncated(&message) }
}

fn truncated(message: &str) -> String {
    message.chars().take(LONGEST_MESSAGE).collect()
}

/// Reads an error object.
pub(super) fn from_object(error: &Members<'_>) -> Failure {
    let message = ["message", "detail", "error"]
        .into_iter()
        .find_map(|key| text(error, key))
        .unwrap_or("the backend failed without an error message".into());
    Failure { kind: kind(error, &message), message: truncated(&message) }
}

fn kind(error: &Members<'_>, message: &str) -> ErrorKind {
    let names = ["type", "code"]
        .into_iter()
        .filter_map(|key| text(error, key))
        .fold(String::new(), |names, name| names + " " + &name.to_ascii_lowercase());
    let lower = message.to_ascii_lowercase();
    let is_overflow = |word: &&str| names.contains(word) || lower.contains(word);
    if Overflow::parse(message).is_some() || OVERFLOW_WORDS.iter().any(is_overflow) {
        return ErrorKind::ContextOverflow;
    }
    // DashScope names a limit by the minute so.
    if names.contains("insufficient_quota") && lower.contains("allocated quota") {
        return ErrorKind::RateLimit;
    }
    let named = KIND_WORDS.iter().find(|(_, words)| words.iter().any(|word| names.contains(word)));
    if let Some((kind, _)) = named {
        return *kind;
    }
    match status(error).and_then(|status| StatusCode::from_u16(status).ok()) {
        Some(status) => ErrorKind::of_status(status),
        None if names.contains("invalid_request") || names.contains("badrequest") => ErrorKind::InvalidRequest,
        None => ErrorKind::Server,
    }
}

/// The HTTP status in an error object, a number or a string.
fn status(error: &Members<'_>) -> Option<u16> {
    ["code", "status", "status_code"].into_iter().find_map(|key| error.get(key)?.trim_matches('"').parse().ok())
}

fn text<'a>(members: &Members<'a>, key: &str) -> Option<Cow<'a, str>> {
    members.text(key).map(Text::decode).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_bodies_of_all_shapes_are_read() {
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
            (503, "", ErrorKind::Overloaded, "the backend answered 503 Service Unavailable"),
            (429, "slow down", ErrorKind::RateLimit, "slow down"),
            (429, r#"{"error":{"message":"none left","code":"insufficient_quota"}}"#, ErrorKind::Billing, "none left"),
            (402, r#"{"error":{"message":"pay"}}"#, ErrorKind::Billing, "pay"),
            (409, r#"{"error":{"message":"busy","type":"x"}}"#, ErrorKind::Conflict, "busy"),
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
    fn error_objects_of_servers_have_a_kind() {
        let cases = [
            (
                r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
                ErrorKind::ContextOverflow,
            ),
            (
                r#"{"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","code":400}"#,
                ErrorKind::ContextOverflow,
            ),
            (r#"{"error":{"message":"slow down","type":"None","param":"None","code":"429"}}"#, ErrorKind::RateLimit),
            (
                r#"{"error":{"message":"no credit","type":"insufficient_quota","code":"insufficient_quota"}}"#,
                ErrorKind::Billing,
            ),
            (
                r#"{"error":{"message":"Allocated quota exceeded, please increase your quota limit.","code":"insufficient_quota"}}"#,
                ErrorKind::RateLimit,
            ),
            (r#"{"error":{"message":"x","type":"billing_error"}}"#, ErrorKind::Billing),
            (r#"{"error":{"message":"x","code":"credit_balance_exhausted"}}"#, ErrorKind::Billing),
            (r#"{"error":{"message":"x","code":"project_spend_limit_exceeded"}}"#, ErrorKind::Billing),
            (r#"{"error":{"message":"x","code":402}}"#, ErrorKind::Billing),
            (
                r#"{"error":{"message":"x","status":"RESOURCE_EXHAUSTED","code":"quota_exceeded"}}"#,
                ErrorKind::RateLimit,
            ),
            (r#"{"error":{"message":"x","type":"conflict_error"}}"#, ErrorKind::Conflict),
            (r#"{"error":{"message":"Loading model","type":"unavailable_error","code":503}}"#, ErrorKind::Overloaded),
            (
                r#"{"error":{"message":"bad key","type":"invalid_request_error","code":"invalid_api_key"}}"#,
                ErrorKind::Authentication,
            ),
            (r#"{"error":{"message":"no","type":"invalid_request_error","code":null}}"#, ErrorKind::InvalidRequest),
            (r#"{"error":"model runner has stopped"}"#, ErrorKind::Server),
            (r#"{"error":{}, "type":"error", "message": 3}"#, ErrorKind::Server),
            (r#"{"error":["a"]}"#, ErrorKind::Server),
        ];
        for (body, kind) in cases {
            let failure = find("message", &Members::of(body).unwrap());
            assert_eq!(failure.map(|failure| failure.kind), Some(kind), "{body}");
        }
        for body in [r#"{"error":null,"choices":[]}"#, r#"{"choices":[]}"#] {
            assert_eq!(find("message", &Members::of(body).unwrap()), None, "{body}");
        }
    }
}
