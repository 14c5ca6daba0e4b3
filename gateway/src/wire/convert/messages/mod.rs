//! Messages: reading and writing, both ways.

mod blocks;
mod look;
mod read_answer;
mod read_content;
mod read_request;
#[cfg(test)]
mod request_tests;
mod write_answer;
mod write_content;
mod write_request;

pub(super) use read_answer::Reader;
pub(super) use read_request::read_request;
pub(super) use write_answer::Writer;
pub(super) use write_request::write_request;
