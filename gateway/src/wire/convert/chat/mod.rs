//! Chat completions: reading and writing, both ways.
//!
//! The format of local servers, which agree on its core and differ at every edge. So what is read is read with patience
//! (ids that are missing or repeated, calls without an index, thinking under two names), and what is written is the
//! part that all of them take: strings instead of parts where there is only text, one system message, no turn of the
//! same speaker twice.

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
use crate::wire::{Members, Text};

pub(super) use read_answer::Reader;
pub(super) use read_request::read_request;
pub(super) use write_answer::Writer;
pub(super) use write_request::write_request;

/// What our ids of calls begin with, as this format's clients expect.
const CALL: &str = "call_";

/// What thinking of this format goes by: the member that holds it, and our seal that says so.
///
/// Servers do not agree on the member, and some read only the one that they write themselves: vLLM `reasoning`, DeepSeek
/// and most others `reasoning_content`. So the seal remembers which it was. Where both are there `reasoning` counts, since
/// a server that writes both (vLLM) reads that one.
const THINKING: [(&str, &str); 2] = [("reasoning", "muninn-2"), ("reasoning_content", "muninn-1")];

/// The thinking in a message or a delta, with its seal.
fn thinking<'a>(members: &Members<'a>) -> Option<(Text<'a>, &'static str)> {
    let said = |member| members.text(member).filter(|text| text.literal() != "\"\"");
    THINKING
        .into_iter()
        .find_map(|(member, seal)| Some((said(member)?, seal)))
}

/// Counts the members that nobody reads, under `path`. What is empty would have said nothing.
fn unread(members: &Members<'_>, read: &[&str], path: &str, dropped: &mut Dropped) {
    for (key, value) in members.iter() {
        if !read.contains(&key) && !says_nothing(value) {
            dropped.add(format!("{path}{key}"));
        }
    }
}

/// Whether a value is as good as absent.
fn says_nothing(value: &RawValue) -> bool {
    matches!(value.get(), "null" | "[]" | "{}" | "\"\"")
}
