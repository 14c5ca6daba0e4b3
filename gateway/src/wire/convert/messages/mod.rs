//! Messages: reading and writing, both ways.

mod blocks;
mod failure;
mod look;
mod read_answer;
mod read_content;
mod read_request;
#[cfg(test)]
mod request_tests;
mod shape;
mod write_answer;
mod write_content;
mod write_request;

pub(super) use read_answer::Reader;
pub(super) use read_request::read_request;
pub(super) use write_answer::Writer;
pub(super) use write_request::write_request;

/// Stands before a `signature` where thinking of a messages backend goes to a client of another format, so that it is
/// known again, and nothing that another vendor sealed is ever sent to one that cannot read it.
const SIGNATURE: &str = "messages:";

/// The same before the `data` of a `redacted_thinking` block: thinking whose text was left out has only a signature too.
const REDACTED: &str = "messages-redacted:";

#[cfg(test)]
mod answer_tests;
