//! Readers and writers of chat completions.
//!
//! Local servers use this format and differ in its details. The readers accept the deviations: ids that are missing or
//! repeated, calls without an index, thinking under two names. The writers use only features that all servers have:
//! strings instead of parts for plain text, one system message, alternating speakers.

mod calls;
mod capabilities;
mod read_answer;
mod read_message;
mod read_request;
mod shape;
mod thinking;
mod write_answer;
mod write_message;
mod write_request;

pub(super) use capabilities::Capabilities;
pub(super) use read_answer::Reader;
pub(super) use read_request::read_request;
pub(super) use thinking::{CALL, THINKING, thinking};
pub(super) use write_answer::Writer;
pub(super) use write_request::write_request;

#[cfg(test)]
mod tests;
