//! Responses: reading and writing, both ways.

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

/// The namespace whose functions are known by their bare names: a client of the format takes a name without a namespace
/// for one of these.
const DEFAULT_NAMESPACE: &str = "functions";

/// Stands before `encrypted_content` where thinking of a responses backend goes to a client of another format, so that it
/// is known again, and nothing that another vendor sealed is ever sent to one that cannot read it.
const SEAL: &str = "responses:";

/// One name for a tool in a namespace. It depends on the two names alone, so that a conversation's earlier calls are
/// named the same whatever tools come later.
fn flat_name<'n>(namespace: Option<&str>, name: Cow<'n, str>) -> Cow<'n, str> {
    match namespace {
        None | Some("" | DEFAULT_NAMESPACE) => name,
        Some(namespace) if namespace.ends_with("__") || name.starts_with("__") => format!("{namespace}{name}").into(),
        Some(namespace) => format!("{namespace}__{name}").into(),
    }
}

#[cfg(test)]
mod tests;
