//! Errors that a backend tells of in place of an answer, or in the middle of one.

use serde_json::Value;

use super::super::answer::{Failure, FailureKind};
use crate::wire::{Members, Text, error};

/// The failure that `data` tells of, if it does. `kind` is its type, or the name of the event that it came in.
pub(super) fn of(kind: &str, members: &Members<'_>, data: &str) -> Option<Failure> {
    let told = |key| members.get(key).filter(|raw| !matches!(*raw, "null" | "{}" | "false"));
    let is_error = kind == "error" || members.text("object").is_some_and(|text| text.decode() == "error");
    if !is_error && told("error").is_none() && (kind != "message" || told("detail").is_none()) {
        return None;
    }
    let value: Value = serde_json::from_str(data).unwrap_or_default();
    Some(error::in_value(&value).unwrap_or_else(|| {
        let message = members.text("message").map(Text::decode).unwrap_or_default();
        let message = match message.trim() {
            "" => "the backend failed without saying why",
            message => message,
        };
        failed(message)
    }))
}

/// A failure of the backend, in our words.
pub(super) fn failed(message: &str) -> Failure {
    Failure {
        kind: FailureKind::Server,
        message: message.to_owned(),
    }
}
