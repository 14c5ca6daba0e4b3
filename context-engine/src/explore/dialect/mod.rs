//! Tool calls and citations, parsed from a model's answer.
//!
//! Servers parse the tool calls of their models and hand them over. In text one form is read: JSON objects with a name and
//! arguments, alone, in a list, in a fenced block, among words, or behind `<tool_call>` ([`text`]). Text without a call is
//! the final answer.
//!
//! Both possible mistakes are cheap: a missed call ends an exploration early, and an answer that is taken for a call costs
//! one turn. A call that is meant and cannot be read is answered with an error in words.
//!
//! Reading is linear in the text's length, whatever the text: nesting is bounded, and so is repeated work.

pub(crate) mod citations;
mod error;
mod json;
mod parse;
mod parsed;
mod text;
mod tools;

pub(crate) use parse::parse;
pub(super) use parsed::{Found, Made};
pub(crate) use parsed::{Malformed, ParsedCall, Said};
pub(crate) use tools::KnownTool;
