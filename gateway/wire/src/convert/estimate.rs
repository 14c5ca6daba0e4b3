//! Estimate of a request's tokens, for backends that cannot count them. Clients use the number to decide when to
//! compact.
//!
//! The estimate counts everything that the model sees: text, tools and their results. With an estimate that is too low,
//! the client never compacts. With one that is too high, it compacts in the middle of a task.

use super::request::{Dropped, Part, Request, Source};
use super::{AnswerContext, ConvertError, read_body, read_request};
use crate::WireFormat;

/// Tokens of an image: the maximum that Anthropic documents (width x height / 750, after scaling down). The image's
/// size is not read.
const IMAGE: u64 = 1_600;
/// Characters of base64 per token of a document. A PDF page has about 60 kB and 1,500 tokens.
const DOCUMENT_CHARACTERS: u64 = 40;
/// Tokens that chat templates add to a message.
const AROUND_MESSAGE: u64 = 4;
/// Tokens that chat templates add to a tool's definition.
const AROUND_TOOL: u64 = 8;

/// Estimates a request's tokens. `count` returns the tokens of a text.
///
/// # Errors
/// [`ConvertError`] if the body is not a request of its format.
pub fn estimate(format: WireFormat, body: &str, count: impl Fn(&str) -> u32) -> Result<u64, ConvertError> {
    let (mut dropped, mut context) = (Dropped::default(), AnswerContext::default());
    let request = read_request(format, read_body(format, body)?, &mut dropped, &mut context)?;
    Ok(request_tokens(&request, &|text| u64::from(count(text))))
}

fn request_tokens(request: &Request<'_>, count: &dyn Fn(&str) -> u64) -> u64 {
    let messages = request.messages.iter().map(|message| AROUND_MESSAGE + parts_tokens(&message.parts, count));
    let tools = request.tools.iter().map(|tool| {
        let description = tool.description.as_deref().map_or(0, count);
        let schema = tool.schema.as_deref().map_or(0, |schema| count(schema.get()));
        AROUND_TOOL + count(&tool.name) + description + schema
    });
    messages.chain(tools).sum()
}

fn parts_tokens(parts: &[Part<'_>], count: &dyn Fn(&str) -> u64) -> u64 {
    parts.iter().map(|part| part_tokens(part, count)).sum()
}

fn part_tokens(part: &Part<'_>, count: &dyn Fn(&str) -> u64) -> u64 {
    match part {
        Part::Text { text, .. } => count(&text.decode()),
        Part::Image { .. } => IMAGE,
        Part::Document { source, .. } => match source {
            Source::Text(text) => count(text),
            Source::Base64 { data, .. } => data.len() as u64 / DOCUMENT_CHARACTERS,
            Source::Url(_) | Source::File(_) => IMAGE,
        },
        Part::Thinking(thinking) => count(&thinking.text),
        Part::ToolCall(call) => count(&call.name) + count(&call.arguments),
        Part::ToolResult(result) => AROUND_MESSAGE + parts_tokens(&result.parts, count),
    }
}
