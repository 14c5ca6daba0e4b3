//! A request from a client.

use std::borrow::Cow;

use super::super::ConvertError;
use super::super::request::{Dropped, OutputShape, Reasoning, Request, Sampling, Tool, ToolChoice};
use super::look::{marker, object, text, unread};
use super::read_content;
use crate::wire::scan::{Text, elements};
use crate::wire::{Members, ParseError};

/// The members that are read. All others (`context_management`, `mcp_servers`, `container`, `safeguards` and the like)
/// ask for what only their own vendor does, and are left out by name.
const READ: &[&str] = &[
    "model",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "metadata",
    "max_tokens",
    "temperature",
    "top_p",
    "top_k",
    "stop_sequences",
    "stream",
    "thinking",
    "output_config",
    "output_format",
    "service_tier",
];

/// The longest name of an end user that every format takes. Claude Code puts a JSON object there, which is longer.
const LONGEST_USER: usize = 64;

/// Reads a request; what has no neutral form is named in `dropped`.
///
/// # Errors
/// [`ConvertError`] where it is no request.
pub(in super::super) fn read_request<'a>(
    members: &Members<'a>,
    dropped: &mut Dropped,
) -> Result<Request<'a>, ConvertError> {
    let messages = members.get("messages").ok_or(ParseError::Missing("messages"))?;
    let messages = elements(messages).ok_or(ParseError::WrongType("messages", "an array"))?;
    unread(members, READ, "", dropped);
    if text(members, "service_tier").is_some_and(|tier| tier != "auto") {
        dropped.add("service_tier");
    }
    let tools: Vec<_> = members
        .elements("tools")
        .into_iter()
        .filter_map(|raw| tool(raw, dropped))
        .collect();
    let (tool_choice, parallel_tool_calls) = tool_choice(members, &tools, dropped);
    Ok(Request {
        model: text(members, "model").unwrap_or_default(),
        stream: members.get("stream") == Some("true"),
        messages: read_content::messages(members, &messages, dropped)?,
        tools,
        tool_choice,
        parallel_tool_calls,
        sampling: sampling(members, dropped),
        output: output(members, dropped),
        reasoning: reasoning(members, dropped),
        user: user(members, dropped),
        ..Request::default()
    })
}

fn tool<'a>(raw: &'a str, dropped: &mut Dropped) -> Option<Tool<'a>> {
    let members = Members::of(raw).unwrap_or_default();
    let schema = members.raw("input_schema").filter(|raw| raw.get().starts_with('{'));
    let kind = text(&members, "type").unwrap_or("custom".into());
    // A tool of the vendor's own: it runs there, or its schema is known there only.
    if schema.is_none() && kind != "custom" {
        dropped.add(format!("tools.{kind}"));
        return None;
    }
    let read = [
        "type",
        "name",
        "description",
        "input_schema",
        "strict",
        "cache_control",
        // How its arguments are streamed, which each backend does in its own way anyway.
        "eager_input_streaming",
    ];
    unread(&members, &read, "tools.", dropped);
    let Some(name) = text(&members, "name") else {
        dropped.add("tools");
        return None;
    };
    Some(Tool {
        name,
        description: text(&members, "description"),
        schema: schema.map(Cow::Borrowed),
        strict: members.parse("strict"),
        cache_control: marker(&members),
    })
}

/// Whether tools must be called, and whether several may be at once. A choice goes with the tools that it speaks of.
fn tool_choice<'a>(
    members: &Members<'a>,
    tools: &[Tool<'_>],
    dropped: &mut Dropped,
) -> (Option<ToolChoice<'a>>, Option<bool>) {
    if tools.is_empty() {
        return (None, None);
    }
    let choice = object(members, "tool_choice");
    let parallel = choice
        .parse("disable_parallel_tool_use")
        .map(|disabled: bool| !disabled);
    let chosen = match text(&choice, "type").as_deref() {
        Some("auto") => Some(ToolChoice::Auto),
        Some("none") => Some(ToolChoice::None),
        Some("any") => Some(ToolChoice::Required),
        Some("tool") => {
            let named = text(&choice, "name").filter(|name| tools.iter().any(|tool| tool.name == *name));
            if named.is_none() {
                dropped.add("tool_choice");
            }
            named.map(ToolChoice::Tool)
        }
        Some(_) => {
            dropped.add("tool_choice");
            None
        }
        None => None,
    };
    (chosen, parallel)
}

fn sampling<'a>(members: &Members<'a>, dropped: &mut Dropped) -> Sampling<'a> {
    let mut number = |key: &str| {
        let raw = members.raw(key).filter(|raw| raw.get() != "null")?;
        let is_number = raw
            .get()
            .starts_with(|first: char| first == '-' || first.is_ascii_digit());
        if !is_number {
            dropped.add(key);
        }
        is_number.then_some(raw)
    };
    Sampling {
        max_tokens: number("max_tokens"),
        temperature: number("temperature"),
        top_p: number("top_p"),
        top_k: number("top_k"),
        stop: members
            .elements("stop_sequences")
            .into_iter()
            .filter_map(Text::of)
            .map(Text::decode)
            .filter(|text| !text.is_empty())
            .collect(),
        ..Sampling::default()
    }
}

/// `output_config.format`, or `output_format` as it was called before.
fn output<'a>(members: &Members<'a>, dropped: &mut Dropped) -> Option<OutputShape<'a>> {
    let config = object(members, "output_config");
    unread(&config, &["effort", "format"], "output_config.", dropped);
    let format = Members::of(config.get("format").or_else(|| members.get("output_format"))?)?;
    match text(&format, "type").as_deref() {
        Some("json_schema") => Some(OutputShape::Schema {
            name: text(&format, "name"),
            schema: format.raw("schema").filter(|raw| raw.get().starts_with('{'))?,
            strict: None,
        }),
        Some("text") | None => None,
        Some(kind) => {
            dropped.add(format!("output_config.format.{kind}"));
            None
        }
    }
}

fn reasoning<'a>(members: &Members<'a>, dropped: &mut Dropped) -> Reasoning<'a> {
    let thinking = object(members, "thinking");
    // `display` says how much of the thinking is shown, not how much there is.
    unread(&thinking, &["type", "budget_tokens", "display"], "thinking.", dropped);
    let enabled = match text(&thinking, "type").as_deref() {
        Some("enabled" | "adaptive") => Some(true),
        Some("disabled") => Some(false),
        _ => None,
    };
    Reasoning {
        effort: text(&object(members, "output_config"), "effort"),
        budget: thinking.parse("budget_tokens").filter(|_| enabled != Some(false)),
        enabled,
    }
}

fn user<'a>(members: &Members<'a>, dropped: &mut Dropped) -> Option<Cow<'a, str>> {
    let metadata = object(members, "metadata");
    unread(&metadata, &["user_id"], "metadata.", dropped);
    let user = text(&metadata, "user_id")?;
    if user.len() > LONGEST_USER {
        dropped.add("metadata.user_id");
        return None;
    }
    Some(user)
}
