//! Writing a question through the neutral form, and reading the reply.

use std::borrow::Cow;

use muninn_text::model::{AnswerSchema, Message, ModelRequest, Reply, Tool, ToolInvocation, ToolMode, Usage};
use muninn_wire::WireFormat;
use muninn_wire::convert::answer::{Answer, BlockKind, Stop};
use muninn_wire::convert::{self, AnswerContext, request as neutral};
use muninn_wire::error::Failure;
use serde_json::value::RawValue;
use thiserror::Error;

/// The marks around thinking in a text. Some servers do not remove it.
const THINKING: (&str, &str) = ("<think>", "</think>");

/// The reason why a question cannot be written.
#[derive(Debug, Error)]
pub(super) enum WriteError {
    #[error("nothing was sent: the schema of the tool `{tool}` is not JSON: {error}")]
    ToolSchema { tool: &'static str, error: serde_json::Error },
    #[error("nothing was sent: the schema `{shape}` is not JSON: {error}")]
    Shape { shape: &'static str, error: serde_json::Error },
    /// The answer's token limit cannot be written.
    #[error(transparent)]
    Limit(serde_json::Error),
}

/// Writes the body of a request. Returns it with the context for reading the answer.
pub(super) fn write(
    format: WireFormat,
    model: &str,
    ask: &ModelRequest<'_>,
) -> Result<(String, AnswerContext), WriteError> {
    let limit = RawValue::from_string(ask.max_tokens.to_string()).map_err(WriteError::Limit)?;
    let request = neutral::Request {
        model: model.into(),
        messages: messages(ask),
        tools: ask.tools.iter().map(tool).collect::<Result<_, _>>()?,
        tool_choice: choice(ask),
        output: ask.shape.map(output).transpose()?,
        sampling: neutral::Sampling { max_tokens: Some(&limit), ..neutral::Sampling::default() },
        // In messages the key only sets the cache markers of the conversation so far, which each turn repeats. Servers
        // of the other formats cache on their own, and some refuse unknown fields.
        cache_key: (format == WireFormat::Messages).then_some(Cow::Borrowed("muninn")),
        bytes: length(ask),
        ..neutral::Request::default()
    };
    Ok(convert::write_own_request(format, request))
}

pub(super) fn read(format: WireFormat, context: &AnswerContext, body: &str) -> Result<Reply, Failure> {
    convert::read_own_answer(format, context, body).map(reply)
}

fn messages<'a>(ask: &ModelRequest<'a>) -> Vec<neutral::Message<'a>> {
    let system = neutral::Message { speaker: neutral::Speaker::System, parts: vec![neutral::Part::text(ask.system)] };
    let system = (!ask.system.is_empty()).then_some(system);
    system.into_iter().chain(ask.messages.iter().map(message)).collect()
}

fn message(message: &Message) -> neutral::Message<'_> {
    let (speaker, parts) = match message {
        Message::User(text) => (neutral::Speaker::User, vec![neutral::Part::text(text.as_str())]),
        Message::Assistant { text, calls } => {
            let text = (!text.is_empty()).then(|| neutral::Part::text(text.as_str()));
            let calls = calls.iter().map(|call| {
                neutral::Part::ToolCall(neutral::ToolCall {
                    id: call.id.as_str().into(),
                    name: call.name.as_str().into(),
                    arguments: call.arguments.as_str().into(),
                })
            });
            (neutral::Speaker::Assistant, text.into_iter().chain(calls).collect())
        }
        Message::Results(results) => {
            let results = results.iter().map(|result| {
                neutral::Part::ToolResult(neutral::ToolResult {
                    call: result.id.as_str().into(),
                    parts: vec![neutral::Part::text(result.text.as_str())],
                    is_error: result.is_error,
                })
            });
            (neutral::Speaker::User, results.collect())
        }
    };
    neutral::Message { speaker, parts }
}

fn tool(tool: &Tool) -> Result<neutral::Tool<'_>, WriteError> {
    let schema: &RawValue =
        serde_json::from_str(&tool.schema).map_err(|error| WriteError::ToolSchema { tool: tool.name, error })?;
    Ok(neutral::Tool {
        name: tool.name.into(),
        description: Some(tool.description.as_str().into()),
        schema: Some(Cow::Borrowed(schema)),
        strict: tool.strict.then_some(true),
        cache_control: None,
    })
}

fn output(shape: &AnswerSchema) -> Result<neutral::OutputShape<'_>, WriteError> {
    let schema: &RawValue =
        serde_json::from_str(&shape.schema).map_err(|error| WriteError::Shape { shape: shape.name, error })?;
    Ok(neutral::OutputShape::Schema { name: Some(shape.name.into()), schema, strict: Some(true) })
}

/// Returns the tool choice, or `None` for the default, because servers without a tool choice refuse the field.
fn choice(ask: &ModelRequest<'_>) -> Option<neutral::ToolChoice<'static>> {
    match ask.choice {
        _ if ask.tools.is_empty() => None,
        ToolMode::Auto => None,
        ToolMode::Required => Some(neutral::ToolChoice::Required),
        ToolMode::Named(name) => Some(neutral::ToolChoice::Tool(name.into())),
    }
}

/// Estimates the length of the body in bytes.
fn length(ask: &ModelRequest<'_>) -> usize {
    let of_message = |message: &Message| match message {
        Message::User(text) => text.len(),
        Message::Assistant { text, calls } => {
            text.len() + calls.iter().map(|call| call.arguments.len() + 128).sum::<usize>()
        }
        Message::Results(results) => results.iter().map(|result| result.text.len() + 128).sum(),
    };
    let tools = ask.tools.iter().map(|tool| tool.schema.len() + tool.description.len());
    ask.system.len() + ask.messages.iter().map(of_message).sum::<usize>() + tools.sum::<usize>()
}

fn reply(answer: Answer) -> Reply {
    let mut reply = Reply {
        usage: Usage { input: answer.usage.input, cached: answer.usage.cached, output: answer.usage.output },
        truncated: answer.stop == Some(Stop::Length),
        ..Reply::default()
    };
    let mut texts = Vec::new();
    for block in answer.blocks {
        match block.kind {
            BlockKind::Text | BlockKind::Refusal => texts.push(block.text),
            BlockKind::ToolCall { id, name } => reply.calls.push(ToolInvocation { id, name, arguments: block.text }),
            BlockKind::Thinking | BlockKind::SealedThinking => {}
        }
    }
    reply.text = without_thinking(&texts.join("\n")).to_owned();
    reply
}

/// Removes the thinking at the start of a text. Returns an empty text if the thinking does not end.
fn without_thinking(text: &str) -> &str {
    match text.trim_start().strip_prefix(THINKING.0) {
        Some(thinking) => thinking.split_once(THINKING.1).map_or("", |(_, rest)| rest.trim_start()),
        None => text,
    }
}
