//! Chat completions: reading and writing, both ways.

mod read_answer;
mod read_request;
mod write_answer;
mod write_request;

pub(super) use read_answer::Reader;
pub(super) use read_request::read_request;
pub(super) use write_answer::Writer;
pub(super) use write_request::write_request;
