//! Conversion between the three wire formats, for backends that do not accept the client's format.
//!
//! Each format has a reader and a writer for one neutral form ([`mod@request`], [`answer`]). Three formats need three
//! pairs of these, where direct conversions would need six. Every conversion is a pure function of its input. The same
//! conversation is always written the same way, and an appended conversation keeps its beginning, so that the backend's
//! prompt cache keeps hitting.
//!
//! A request body is read once and written once. An [`AnswerConverter`] parses the backend's bytes into server-sent
//! events as they arrive, reads these into neutral events and writes the neutral events in the client's format.

pub mod answer;
mod answer_io;
mod chat;
mod content;
mod context;
mod converter;
mod effort;
mod error;
mod estimate;
mod final_text;
mod ids;
mod json_str;
mod limits;
mod messages;
mod opening;
mod order;
mod own;
pub mod request;
mod request_tokens;
mod responses;
mod rewrite;
mod sse;
mod stop_cut;
mod switch;
mod unread;

pub(super) use answer_io::{ReadAnswer, WriteAnswer};
pub(super) use content::{NO_RESULT, check_content, empty_schema, marked_as_error, parts, raw_result, to_json};
pub use context::{AnswerContext, NameRule, SpecialKind, SpecialTool, ToolNames};
pub use converter::AnswerConverter;
pub use error::ConvertError;
pub use estimate::estimate;
pub use final_text::{streamed_text, whole_text};
pub use opening::{BodyForm, Opening, OpeningReader, without_end};
pub use own::{read_own_answer, write_own_request, write_stream, write_whole};
pub use responses::ResponseSettings;
pub use rewrite::{Reframer, completed_response, own_context};
pub use sse::SseError;
pub use switch::{Converted, request};
pub(super) use switch::{read_body, read_request, reader, writer};
pub(super) use unread::{drop_unread, is_empty};

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod shapes;
#[cfg(test)]
mod split_pairs;
