//! Readers and writers of the responses format.

mod failure;
mod free_text;
mod incoming;
mod output;
mod read_answer;
mod read_items;
mod read_request;
mod tools;
mod write_answer;
mod write_items;
mod write_request;

pub(super) use read_answer::Reader;
pub(super) use read_request::read_request;
pub(super) use write_answer::Writer;
pub(super) use write_request::write_request;

use std::borrow::Cow;

/// The default namespace. Clients of the format treat a name without a namespace as a name in this one.
const DEFAULT_NAMESPACE: &str = "functions";

/// The prefix of call ids that this format's clients expect.
const CALL: &str = "call_";

/// The tag of a responses backend's seal (`encrypted_content`). It distinguishes the seal from those of other vendors
/// when a client sends it back, so that no backend gets a seal that it cannot read.
const SEAL: &str = "responses:";

/// Returns one name for a tool in a namespace. It depends only on the two names, so earlier calls of a conversation
/// keep their names when tools are added.
fn flat_name<'n>(namespace: Option<&str>, name: Cow<'n, str>) -> Cow<'n, str> {
    match namespace {
        None | Some("" | DEFAULT_NAMESPACE) => name,
        Some(namespace) if namespace.ends_with("__") || name.starts_with("__") => format!("{namespace}{name}").into(),
        Some(namespace) => format!("{namespace}__{name}").into(),
    }
}

#[cfg(test)]
mod tests;
