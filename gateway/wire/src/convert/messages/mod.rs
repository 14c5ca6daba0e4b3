//! Readers and writers of the messages format.

mod blocks;
mod capabilities;
mod markers;
mod read_answer;
mod read_content;
mod read_request;
mod reminder;
mod sampling;
mod stream_event;
mod turns;
mod usage;
mod write_answer;
mod write_request;
mod write_tools;

pub(super) use read_answer::Reader;
pub(super) use read_request::read_request;
pub(super) use reminder::{CALL, NAME_RULE, REDACTED, SEAL, object, reminder};
pub(super) use write_answer::Writer;
pub(super) use write_request::write_request;
