//! Readers and writers of the responses format.

mod failure;
mod free_text;
mod incoming;
mod names;
mod output;
mod read_answer;
mod read_items;
mod read_request;
mod settings;
mod tools;
mod write_answer;
mod write_items;
mod write_request;

pub(super) use names::{CALL, SEAL, flat_name};
pub(super) use read_answer::Reader;
pub(super) use read_request::read_request;
pub use settings::ResponseSettings;
pub(super) use write_answer::Writer;
pub(super) use write_request::write_request;

#[cfg(test)]
mod tests;
