//! The serialized types of an answer. Their members are in OpenAI's order.

use std::borrow::Cow;

use serde::Serialize;

use super::super::answer::{Block, BlockKind, Failure, Usage};
use super::super::ids;
use super::CALL;

#[derive(Serialize)]
pub(super) struct Chunk<'c> {
    pub(super) id: &'c str,
    pub(super) object: &'static str,
    pub(super) created: i64,
    pub(super) model: &'c str,
    pub(super) choices: &'c [Choice<'c>],
    /// Absent if the client did not ask for usage, else `null` in all chunks but the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) usage: Option<Option<WireUsage>>,
}

#[derive(Serialize)]
pub(super) struct Choice<'c> {
    pub(super) index: u8,
    pub(super) delta: Delta<'c>,
    pub(super) logprobs: (),
    pub(super) finish_reason: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Delta<'c> {
    Start { role: &'static str, content: &'static str },
    Text { content: Cow<'c, str> },
    Thinking { reasoning_content: Cow<'c, str> },
    Refusal { refusal: &'c str },
    Call { tool_calls: [Call<'c>; 1] },
    Stop {},
}

#[derive(Serialize)]
pub(super) struct Call<'c> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) index: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<Cow<'c, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) r#type: Option<&'static str>,
    pub(super) function: Function<'c>,
}

#[derive(Serialize)]
pub(super) struct Function<'c> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<&'c str>,
    pub(super) arguments: &'c str,
}

#[derive(Serialize)]
pub(super) struct Whole<'c> {
    pub(super) id: &'c str,
    pub(super) object: &'static str,
    pub(super) created: i64,
    pub(super) model: &'c str,
    pub(super) choices: [WholeChoice<'c>; 1],
    pub(super) usage: WireUsage,
}

#[derive(Serialize)]
pub(super) struct WholeChoice<'c> {
    pub(super) index: u8,
    pub(super) message: Message<'c>,
    pub(super) logprobs: (),
    pub(super) finish_reason: &'static str,
}

#[derive(Serialize)]
pub(super) struct Message<'c> {
    pub(super) role: &'static str,
    pub(super) content: Option<String>,
    pub(super) refusal: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_content: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tool_calls: Vec<Call<'c>>,
}

#[derive(Serialize)]
pub(super) struct WireUsage {
    pub(super) prompt_tokens: u64,
    pub(super) completion_tokens: u64,
    pub(super) total_tokens: u64,
    pub(super) prompt_tokens_details: PromptDetails,
    pub(super) completion_tokens_details: CompletionDetails,
}

#[derive(Serialize)]
pub(super) struct PromptDetails {
    pub(super) cached_tokens: u64,
}

#[derive(Serialize)]
pub(super) struct CompletionDetails {
    pub(super) reasoning_tokens: u64,
}

#[derive(Serialize)]
pub(super) struct ErrorBody<'c> {
    pub(super) error: Error<'c>,
}

#[derive(Serialize)]
pub(super) struct Error<'c> {
    pub(super) message: &'c str,
    pub(super) r#type: &'static str,
    pub(super) param: (),
    pub(super) code: &'static str,
}

/// The first delta of a call, or with all arguments a whole call.
pub(super) fn call_start<'c>(index: Option<usize>, id: &'c str, name: &'c str, arguments: &'c str) -> Call<'c> {
    Call {
        index,
        id: Some(ids::wrap(CALL, id)),
        r#type: Some("function"),
        function: Function { name: Some(name), arguments },
    }
}

/// A later delta of a call.
pub(super) fn call_arguments(index: usize, arguments: &str) -> Call<'_> {
    Call { index: Some(index), id: None, r#type: None, function: Function { name: None, arguments } }
}

pub(super) fn whole_call(block: &Block) -> Option<Call<'_>> {
    let BlockKind::ToolCall { id, name } = &block.kind else {
        return None;
    };
    let arguments = if block.text.is_empty() { "{}" } else { &block.text };
    Some(call_start(None, id, name, arguments))
}

pub(super) fn usage(usage: Usage) -> WireUsage {
    let (prompt_tokens, completion_tokens) = (usage.input.unwrap_or(0), usage.output.unwrap_or(0));
    WireUsage {
        prompt_tokens,
        completion_tokens,
        total_tokens: prompt_tokens.saturating_add(completion_tokens),
        prompt_tokens_details: PromptDetails { cached_tokens: usage.cached.unwrap_or(0) },
        completion_tokens_details: CompletionDetails { reasoning_tokens: usage.reasoning.unwrap_or(0) },
    }
}

pub(super) fn error_body(failure: &Failure) -> ErrorBody<'_> {
    let (r#type, code) = failure.kind.openai();
    ErrorBody { error: Error { message: &failure.message, r#type, param: (), code } }
}
