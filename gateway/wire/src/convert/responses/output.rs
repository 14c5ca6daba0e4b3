//! The serialized response object and its items, with all members that the format requires.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use super::super::answer::{BlockKind, Usage};
use super::super::{AnswerContext, SpecialKind, SpecialTool, ids};
use super::{CALL, SEAL};

/// An item of an answer.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Item<'a> {
    Message {
        id: &'a str,
        status: &'static str,
        role: &'static str,
        content: Vec<Part<'a>>,
    },
    Reasoning {
        id: &'a str,
        summary: Vec<Summary<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        encrypted_content: Option<&'a str>,
    },
    FunctionCall {
        id: &'a str,
        status: &'static str,
        call_id: Cow<'a, str>,
        name: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        namespace: Option<&'a str>,
        arguments: &'a str,
    },
    CustomToolCall {
        id: &'a str,
        status: &'static str,
        call_id: Cow<'a, str>,
        name: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        namespace: Option<&'a str>,
        input: &'a str,
    },
    ToolSearchCall {
        id: &'a str,
        status: &'static str,
        call_id: Cow<'a, str>,
        execution: &'static str,
        arguments: Option<&'a RawValue>,
    },
}

/// A part of a message.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Part<'a> {
    OutputText { text: &'a str, annotations: [(); 0], logprobs: [(); 0] },
    Refusal { refusal: &'a str },
}

/// A part of a summary of thinking.
#[derive(Serialize)]
#[serde(tag = "type", rename = "summary_text")]
pub(super) struct Summary<'a> {
    pub(super) text: &'a str,
}

impl<'a> Part<'a> {
    /// Returns a part with text or a refusal.
    pub(super) fn of(kind: &BlockKind, text: &'a str) -> Part<'a> {
        match kind {
            BlockKind::Refusal => Part::Refusal { refusal: text },
            _ => Part::OutputText { text, annotations: [], logprobs: [] },
        }
    }
}

/// Returns the prefix of an item's id.
pub(super) fn prefix(kind: &BlockKind, special: Option<&SpecialTool>) -> &'static str {
    match (kind, special.map(|special| special.kind)) {
        (BlockKind::Text | BlockKind::Refusal, _) => "msg_",
        (BlockKind::Thinking | BlockKind::SealedThinking, _) => "rs_",
        (BlockKind::ToolCall { .. }, Some(SpecialKind::Custom)) => "ctc_",
        (BlockKind::ToolCall { .. }, Some(SpecialKind::Search)) => "tsc_",
        (BlockKind::ToolCall { .. }, _) => "fc_",
    }
}

/// Returns a block as an item. With a text it is completed, without one in progress. The text of a custom tool's call
/// is its free text, not the arguments of the function.
pub(super) fn item<'a>(
    id: &'a str,
    kind: &'a BlockKind,
    special: Option<&'a SpecialTool>,
    text: Option<&'a str>,
    seal: Option<&'a str>,
) -> Item<'a> {
    let status = if text.is_some() { "completed" } else { "in_progress" };
    match kind {
        BlockKind::Text | BlockKind::Refusal => Item::Message {
            id,
            status,
            role: "assistant",
            content: text.map(|text| Part::of(kind, text)).into_iter().collect(),
        },
        BlockKind::Thinking | BlockKind::SealedThinking => {
            let text = text.filter(|text| !text.is_empty());
            Item::Reasoning {
                id,
                summary: text.map(|text| Summary { text }).into_iter().collect(),
                encrypted_content: seal.map(|seal| seal.strip_prefix(SEAL).unwrap_or(seal)),
            }
        }
        BlockKind::ToolCall { id: call, name } => {
            call_item((id, status), call, name, special, text.unwrap_or_default())
        }
    }
}

fn call_item<'a>(
    (id, status): (&'a str, &'static str),
    call: &'a str,
    name: &'a str,
    special: Option<&'a SpecialTool>,
    arguments: &'a str,
) -> Item<'a> {
    let call_id = ids::wrap(CALL, call);
    let name = special.map_or(name, |special| &special.name);
    let namespace = special.and_then(|special| special.namespace.as_deref());
    match special.map(|special| special.kind) {
        None | Some(SpecialKind::Function) => Item::FunctionCall { id, status, call_id, name, namespace, arguments },
        Some(SpecialKind::Custom) => Item::CustomToolCall { id, status, call_id, name, namespace, input: arguments },
        Some(SpecialKind::Search) => {
            let arguments = if arguments.starts_with('{') { arguments } else { "{}" };
            Item::ToolSearchCall {
                id,
                status,
                call_id,
                execution: "client",
                arguments: serde_json::from_str(arguments).ok(),
            }
        }
    }
}

/// A response object, with the settings of its request.
#[derive(Serialize)]
pub(super) struct Response<'a> {
    id: String,
    object: &'static str,
    created_at: i64,
    status: &'static str,
    background: bool,
    error: Option<ResponseError<'a>>,
    incomplete_details: Option<Incomplete>,
    instructions: &'a RawValue,
    max_output_tokens: &'a RawValue,
    metadata: &'a RawValue,
    model: &'a str,
    output: &'a [Box<RawValue>],
    parallel_tool_calls: &'a RawValue,
    previous_response_id: &'a RawValue,
    reasoning: &'a RawValue,
    store: &'a RawValue,
    temperature: &'a RawValue,
    text: &'a RawValue,
    tool_choice: &'a RawValue,
    tools: &'a RawValue,
    top_p: &'a RawValue,
    truncation: &'a RawValue,
    usage: Option<ResponseUsage>,
    user: &'a RawValue,
}

#[derive(Serialize)]
pub(super) struct ResponseError<'a> {
    pub(super) code: &'static str,
    pub(super) message: &'a str,
}

#[derive(Serialize)]
struct Incomplete {
    reason: &'static str,
}

#[derive(Serialize)]
struct ResponseUsage {
    input_tokens: u64,
    input_tokens_details: InputTokenDetails,
    output_tokens: u64,
    output_tokens_details: OutputTokenDetails,
    total_tokens: u64,
}

#[derive(Serialize)]
struct InputTokenDetails {
    cached_tokens: u64,
    cache_write_tokens: u64,
}

#[derive(Serialize)]
struct OutputTokenDetails {
    reasoning_tokens: u64,
}

impl<'a> Response<'a> {
    pub(super) fn in_progress(context: &'a AnswerContext) -> Response<'a> {
        let setting = |name| context.settings.get(name);
        Response {
            id: format!("resp_{}", context.id),
            object: "response",
            created_at: context.created,
            status: "in_progress",
            background: false,
            error: None,
            incomplete_details: None,
            instructions: setting("instructions"),
            max_output_tokens: setting("max_output_tokens"),
            metadata: setting("metadata"),
            model: &context.model,
            output: &[],
            parallel_tool_calls: setting("parallel_tool_calls"),
            previous_response_id: setting("previous_response_id"),
            reasoning: setting("reasoning"),
            store: setting("store"),
            temperature: setting("temperature"),
            text: setting("text"),
            tool_choice: setting("tool_choice"),
            tools: setting("tools"),
            top_p: setting("top_p"),
            truncation: setting("truncation"),
            usage: None,
            user: setting("user"),
        }
    }

    /// Returns a finished response. With an `incomplete_reason` it is incomplete, else completed.
    pub(super) fn finished(
        context: &'a AnswerContext,
        output: &'a [Box<RawValue>],
        usage: Usage,
        incomplete_reason: Option<&'static str>,
    ) -> Response<'a> {
        Response {
            status: incomplete_reason.map_or("completed", |_| "incomplete"),
            incomplete_details: incomplete_reason.map(|reason| Incomplete { reason }),
            output,
            usage: Some(ResponseUsage::of(usage)),
            ..Response::in_progress(context)
        }
    }

    pub(super) fn failed(
        context: &'a AnswerContext,
        output: &'a [Box<RawValue>],
        error: ResponseError<'a>,
    ) -> Response<'a> {
        Response { status: "failed", error: Some(error), output, ..Response::in_progress(context) }
    }
}

impl ResponseUsage {
    /// Converts usage. Unknown counts are 0, because clients require numbers.
    fn of(usage: Usage) -> ResponseUsage {
        let (input, output) = (usage.input.unwrap_or(0), usage.output.unwrap_or(0));
        ResponseUsage {
            input_tokens: input,
            input_tokens_details: InputTokenDetails {
                cached_tokens: usage.cached.unwrap_or(0),
                cache_write_tokens: usage.cache_write.unwrap_or(0),
            },
            output_tokens: output,
            output_tokens_details: OutputTokenDetails { reasoning_tokens: usage.reasoning.unwrap_or(0) },
            total_tokens: input.saturating_add(output),
        }
    }
}
