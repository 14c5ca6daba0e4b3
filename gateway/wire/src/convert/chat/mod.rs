//! Readers and writers of chat completions.
//!
//! Local servers use this format and differ in its details. The readers accept the deviations: ids that are missing or
//! repeated, calls without an index, thinking under two names. The writers use only features that all servers have:
//! strings instead of parts for plain text, one system message, alternating speakers.

mod calls;
mod read_answer;
mod read_message;
mod read_request;
mod shape;
#[cfg(test)]
mod tests;
mod write_answer;
mod write_message;
mod write_request;

use serde_json::value::RawValue;

use super::request::Dropped;
use crate::{Members, Text};

pub(super) use read_answer::Reader;
pub(super) use read_request::read_request;
pub(super) use write_answer::Writer;
pub(super) use write_request::write_request;

/// The prefix of call ids that this format's clients expect.
const CALL: &str = "call_";

/// The members that hold thinking, each with the seal that Muninn gives to it.
///
/// Servers disagree on the member, and some read only the one that they write: vLLM `reasoning`, DeepSeek and most
/// others `reasoning_content`. The seal records which member it was. If a message has both, `reasoning` is used,
/// because a server that writes both (vLLM) reads that one.
const THINKING: [(&str, &str); 2] = [("reasoning", "muninn-2"), ("reasoning_content", "muninn-1")];

/// Returns the thinking in a message or a delta, with its seal.
fn thinking<'a>(members: &Members<'a>) -> Option<(Text<'a>, &'static str)> {
    let non_empty = |member| members.text(member).filter(|text| text.literal() != "\"\"");
    THINKING.into_iter().find_map(|(member, seal)| Some((non_empty(member)?, seal)))
}

/// Counts every non-empty member whose key is not in `read` as dropped, under `path`.
fn drop_unread(members: &Members<'_>, read: &[&str], path: &str, dropped: &mut Dropped) {
    for (key, value) in members.iter() {
        if !read.contains(&key) && !is_empty(value) {
            dropped.add(format!("{path}{key}"));
        }
    }
}

/// Whether a value is equivalent to a missing member.
fn is_empty(value: &RawValue) -> bool {
    matches!(value.get(), "null" | "[]" | "{}" | "\"\"")
}
