//! Writer of requests.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use super::super::request::{Dropped, OutputShape, Reasoning, Request, Tool, ToolChoice};
use super::super::{NameRule, ToolNames, effort, empty_schema};
use super::capabilities::Capabilities;
use super::write_message::{self, Message};

#[derive(Serialize)]
struct Body<'r> {
    model: &'r str,
    messages: Vec<Message<'r>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Function<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    /// Older servers ignore `max_completion_tokens`.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<&'r RawValue>,
    /// The newer models of OpenAI refuse `max_tokens`.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<&'r RawValue>,
    /// An extension of vLLM, SGLang, llama.cpp, LiteLLM and OpenRouter. OpenAI refuses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    top_k: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    presence_penalty: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frequency_penalty: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop: &'r [Cow<'r, str>],
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<Format<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verbosity: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'r str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
}

/// A tool.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Function<'r> {
    Function { function: FunctionDefinition<'r> },
}

#[derive(Serialize)]
struct FunctionDefinition<'r> {
    name: Cow<'r, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'r str>,
    parameters: &'r RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Choice<'r> {
    Mode(&'static str),
    Function { r#type: &'static str, function: FunctionName<'r> },
}

#[derive(Serialize)]
struct FunctionName<'r> {
    name: Cow<'r, str>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Format<'r> {
    JsonObject,
    JsonSchema { json_schema: Schema<'r> },
}

#[derive(Serialize)]
struct Schema<'r> {
    name: &'r str,
    schema: &'r RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

/// Writes a request. Fields that the format cannot express are counted in `dropped`.
pub(in super::super) fn write_request(request: &Request<'_>, dropped: &mut Dropped, names: &mut ToolNames) -> String {
    let tools: Vec<_> = request.tools.iter().map(|tool| function(tool, dropped, names)).collect();
    // OpenAI accepts metadata only on stored requests and refuses it on others.
    if request.metadata.is_some() {
        dropped.add("metadata");
    }
    let model = Capabilities::of(&request.model);
    let sampling = &request.sampling;
    for (name, is_set, is_refused) in [
        ("temperature", sampling.temperature.is_some(), model.reasons),
        ("top_p", sampling.top_p.is_some(), model.reasons),
        ("top_k", sampling.top_k.is_some(), model.is_openai),
        ("presence_penalty", sampling.presence_penalty.is_some(), model.reasons),
        ("frequency_penalty", sampling.frequency_penalty.is_some(), model.reasons),
    ] {
        if is_set && is_refused {
            dropped.add(name);
        }
    }
    let body = Body {
        model: &request.model,
        messages: write_message::messages(request, dropped, names),
        tools,
        tool_choice: request.tool_choice.as_ref().map(|choice| tool_choice(choice, names)),
        parallel_tool_calls: request.parallel_tool_calls,
        max_tokens: sampling.max_tokens.filter(|_| !model.is_openai),
        max_completion_tokens: sampling.max_tokens.filter(|_| model.is_openai),
        temperature: sampling.temperature.filter(|_| !model.reasons),
        top_p: sampling.top_p.filter(|_| !model.reasons),
        top_k: sampling.top_k.filter(|_| !model.is_openai),
        seed: sampling.seed,
        presence_penalty: sampling.presence_penalty.filter(|_| !model.reasons),
        frequency_penalty: sampling.frequency_penalty.filter(|_| !model.reasons),
        stop: &sampling.stop,
        response_format: request.output.as_ref().map(format),
        reasoning_effort: effort(&request.reasoning, model, dropped),
        verbosity: request.verbosity.as_deref(),
        user: request.user.as_deref(),
        prompt_cache_key: request.cache_key.as_deref(),
        stream: request.stream,
        stream_options: request.stream.then_some(StreamOptions { include_usage: true }),
    };
    super::super::to_json(&body, request.bytes)
}

fn function<'r>(tool: &'r Tool<'_>, dropped: &mut Dropped, names: &mut ToolNames) -> Function<'r> {
    if tool.cache_control.is_some() {
        dropped.add("tools.cache_control");
    }
    Function::Function {
        function: FunctionDefinition {
            name: names.backend_name(&tool.name, NameRule::OPENAI),
            description: tool.description.as_deref(),
            parameters: tool.schema.as_deref().unwrap_or_else(empty_schema),
            strict: tool.strict,
        },
    }
}

fn tool_choice<'r>(choice: &'r ToolChoice<'_>, names: &mut ToolNames) -> Choice<'r> {
    match choice {
        ToolChoice::Auto => Choice::Mode("auto"),
        ToolChoice::None => Choice::Mode("none"),
        ToolChoice::Required => Choice::Mode("required"),
        ToolChoice::Tool(name) => Choice::Function {
            r#type: "function",
            function: FunctionName { name: names.backend_name(name, NameRule::OPENAI) },
        },
    }
}

fn format<'r>(shape: &'r OutputShape<'_>) -> Format<'r> {
    match shape {
        OutputShape::Json => Format::JsonObject,
        OutputShape::Schema { name, schema, strict } => Format::JsonSchema {
            json_schema: Schema { name: name.as_deref().unwrap_or("answer"), schema, strict: *strict },
        },
    }
}

/// Returns the effort that is nearest to the wanted one of those that the model takes.
///
/// Thinking that is only switched on needs no effort, because models that can think do so by default. Thinking that is
/// switched off would be `none`, but most models refuse that value, so it is dropped.
fn effort(reasoning: &Reasoning<'_>, model: Capabilities, dropped: &mut Dropped) -> Option<&'static str> {
    if reasoning.effort.is_none() && reasoning.enabled == Some(false) {
        dropped.add("reasoning.enabled");
        return None;
    }
    effort::fit(effort::wanted(reasoning)?, model.efforts, dropped)
}
