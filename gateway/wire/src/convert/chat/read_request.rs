//! Reader of requests.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::super::request::{Dropped, OutputShape, Reasoning, Request, Sampling, Tool, ToolChoice};
use super::super::{ConvertError, drop_unread, effort};
use super::read_message;
use crate::scan::{Body, Conversation, Element};
use crate::{Members, Text};

/// The members that are not counted as dropped. [`DEFAULTS`] checks the values of the last five.
const READ: &[&str] = &[
    "model", "messages", "stream", "stream_options", "tools", "tool_choice", "parallel_tool_calls", "max_tokens",
    "max_completion_tokens", "temperature", "top_p", "top_k", "seed", "presence_penalty", "frequency_penalty", "stop",
    "response_format", "reasoning_effort", "reasoning", "thinking", "chat_template_kwargs", "verbosity", "user",
    "safety_identifier", "prompt_cache_key", "metadata", "n", "store", "logprobs", "modalities", "service_tier",
];

/// Members that are not converted, with their default values. Only other values are counted as dropped.
const DEFAULTS: &[(&str, &[&str])] = &[
    ("n", &["1", "null"]),
    ("store", &["false", "null"]),
    ("logprobs", &["false", "null"]),
    ("modalities", &[r#"["text"]"#, "[]", "null"]),
    ("service_tier", &[r#""auto""#, r#""default""#, "null"]),
];

/// Reads a request. Fields without a neutral form are counted in `dropped`.
///
/// # Errors
/// [`ConvertError`] if the body is not a request.
pub(in super::super) fn read_request<'a>(body: Body<'a>, dropped: &mut Dropped) -> Result<Request<'a>, ConvertError> {
    let messages = Conversation::list(body.conversation, "messages")?;
    let members = &body.members;
    drop_unread(members, READ, "", dropped);
    for (key, defaults) in DEFAULTS {
        if members.get(key).is_some_and(|value| !defaults.contains(&value)) {
            dropped.add(*key);
        }
    }
    let stream_options = members.object("stream_options");
    Ok(Request {
        model: members.non_empty("model").unwrap_or_default(),
        stream: members.get("stream") == Some("true"),
        stream_usage: stream_options.get("include_usage") == Some("true"),
        messages: read_message::messages(messages, dropped)?,
        tools: members.elements("tools").into_iter().filter_map(|element| tool(element, dropped)).collect(),
        tool_choice: tool_choice(members, dropped),
        parallel_tool_calls: members.parse("parallel_tool_calls"),
        sampling: sampling(members, dropped),
        output: output(members, dropped),
        reasoning: reasoning(members, dropped),
        verbosity: members.non_empty("verbosity"),
        user: members.non_empty("user").or_else(|| members.non_empty("safety_identifier")),
        cache_key: members.non_empty("prompt_cache_key"),
        metadata: members.raw("metadata").filter(|raw| raw.get().starts_with('{')),
        ..Request::default()
    })
}

fn tool<'a>(element: Element<'a>, dropped: &mut Dropped) -> Option<Tool<'a>> {
    let members = element.object().unwrap_or_default();
    let kind = members.non_empty("type").unwrap_or("function".into());
    if kind != "function" {
        dropped.add(format!("tools.{kind}"));
        return None;
    }
    let cache_control = members.raw("cache_control").filter(|raw| raw.get() != "null");
    // Some clients write a tool in the form of the responses format, without the inner object.
    let function = match members.get("function").and_then(Members::of) {
        Some(function) => {
            drop_unread(&members, &["type", "function", "cache_control"], "tools.", dropped);
            function
        }
        None => members,
    };
    let read = ["type", "cache_control", "name", "description", "parameters", "strict"];
    drop_unread(&function, &read, "tools.", dropped);
    let Some(name) = function.non_empty("name") else {
        dropped.add("tools");
        return None;
    };
    Some(Tool {
        name,
        description: function.non_empty("description"),
        schema: function.raw("parameters").filter(|raw| raw.get().starts_with('{')).map(Cow::Borrowed),
        strict: function.parse("strict"),
        cache_control,
    })
}

fn tool_choice<'a>(members: &Members<'a>, dropped: &mut Dropped) -> Option<ToolChoice<'a>> {
    let raw = members.get("tool_choice")?;
    if let Some(word) = Text::of(raw) {
        return choice_mode(&word.decode(), dropped);
    }
    let choice = Members::of(raw)?;
    match choice.non_empty("type").as_deref() {
        Some("allowed_tools") => {
            dropped.add("tool_choice.allowed_tools");
            choice_mode(&choice.object("allowed_tools").non_empty("mode")?, dropped)
        }
        Some("function") | None => {
            let name = choice.object("function").non_empty("name").or_else(|| choice.non_empty("name"))?;
            Some(ToolChoice::Tool(name))
        }
        Some(kind) => {
            dropped.add(format!("tool_choice.{kind}"));
            None
        }
    }
}

fn choice_mode(mode: &str, dropped: &mut Dropped) -> Option<ToolChoice<'static>> {
    match mode {
        "auto" => Some(ToolChoice::Auto),
        "none" => Some(ToolChoice::None),
        "required" | "any" => Some(ToolChoice::Required),
        _ => {
            dropped.add("tool_choice");
            None
        }
    }
}

fn sampling<'a>(members: &Members<'a>, dropped: &mut Dropped) -> Sampling<'a> {
    let mut number = |key: &str| {
        let raw = members.raw(key).filter(|raw| raw.get() != "null")?;
        let is_number = raw.get().starts_with(|first: char| first == '-' || first.is_ascii_digit());
        if !is_number {
            dropped.add(key);
        }
        is_number.then_some(raw)
    };
    let (older, newer): (Option<&'a RawValue>, _) = (number("max_tokens"), number("max_completion_tokens"));
    Sampling {
        max_tokens: newer.or(older),
        temperature: number("temperature"),
        top_p: number("top_p"),
        top_k: number("top_k"),
        seed: number("seed"),
        presence_penalty: number("presence_penalty"),
        frequency_penalty: number("frequency_penalty"),
        stop: stop(members),
        cut: Vec::new(),
    }
}

fn stop<'a>(members: &Members<'a>) -> Vec<Cow<'a, str>> {
    let texts = match members.text("stop") {
        Some(text) => vec![text],
        None => members.elements("stop").iter().filter_map(Element::text).collect(),
    };
    texts.into_iter().map(Text::decode).filter(|text| !text.is_empty()).collect()
}

fn output<'a>(members: &Members<'a>, dropped: &mut Dropped) -> Option<OutputShape<'a>> {
    let format = Members::of(members.get("response_format")?)?;
    match format.non_empty("type").as_deref() {
        Some("json_object") => Some(OutputShape::Json),
        Some("json_schema") => {
            let shape = format.object("json_schema");
            drop_unread(&shape, &["name", "schema", "strict"], "response_format.", dropped);
            let schema = shape.raw("schema").filter(|raw| raw.get().starts_with('{'))?;
            Some(OutputShape::Schema { name: shape.non_empty("name"), schema, strict: shape.parse("strict") })
        }
        Some("text") | None => None,
        Some(kind) => {
            dropped.add(format!("response_format.{kind}"));
            None
        }
    }
}

/// Reads the settings for thinking: `reasoning_effort`, `reasoning` (OpenRouter), `thinking` (LiteLLM and several
/// vendors) and `chat_template_kwargs` (vLLM, llama.cpp).
fn reasoning<'a>(members: &Members<'a>, dropped: &mut Dropped) -> Reasoning<'a> {
    let reasoning = members.object("reasoning");
    drop_unread(&reasoning, &["effort", "max_tokens", "enabled", "exclude"], "reasoning.", dropped);
    let thinking = members.object("thinking");
    let template = members.object("chat_template_kwargs");
    drop_unread(&template, &["enable_thinking", "thinking", "reasoning_effort"], "chat_template_kwargs.", dropped);
    let switched = match thinking.non_empty("type").as_deref() {
        Some("enabled" | "adaptive") => Some(true),
        Some("disabled") => Some(false),
        _ => None,
    };
    let mut effort = |members, key, path| effort::read(members, key, path, dropped);
    let efforts = [
        effort(members, "reasoning_effort", "reasoning_effort"),
        effort(&reasoning, "effort", "reasoning.effort"),
        effort(&template, "reasoning_effort", "chat_template_kwargs.reasoning_effort"),
    ];
    Reasoning {
        effort: efforts.into_iter().flatten().next(),
        budget: reasoning.parse("max_tokens").or_else(|| thinking.parse("budget_tokens")),
        enabled: switched
            .or_else(|| reasoning.parse("enabled"))
            .or_else(|| template.parse("enable_thinking"))
            .or_else(|| template.parse("thinking")),
    }
}
