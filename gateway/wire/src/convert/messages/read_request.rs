//! Reader of requests.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::super::request::{
    Dropped, Message, OutputShape, Part, Reasoning, Request, Sampling, Speaker, Tool, ToolChoice,
};
use super::super::{ConvertError, drop_unread, effort};
use super::read_content::{content, message};
use crate::scan::{Body, Conversation};
use crate::{Members, Text};

/// The start of the first block of Claude Code's system text: a line for the vendor's billing, whose `cch=` changes
/// with each request. The vendor removes it before the model sees it. Other backends would put it at the beginning of
/// the prompt, and their prefix caches would never hit.
const BILLING: &str = "x-anthropic-billing-header:";

/// The members that are not counted as dropped. Backends of other formats cache prompts without `cache_control`.
const READ: &[&str] = &[
    "model", "system", "stream", "max_tokens", "temperature", "top_p", "top_k", "stop_sequences", "tools",
    "tool_choice", "thinking", "output_config", "output_format", "metadata", "cache_control",
];

/// Reads a request. Fields without a neutral form are counted in `dropped`.
///
/// # Errors
/// [`ConvertError`] if the body is not a request.
pub(in super::super) fn read_request<'a>(body: Body<'a>, dropped: &mut Dropped) -> Result<Request<'a>, ConvertError> {
    let list = Conversation::list(body.conversation, "messages")?;
    let members = &body.members;
    // The conversation before the messages is at the vendor.
    if members.object("thread").string("type").as_deref() == Some("continue") {
        return Err(ConvertError::HeldElsewhere { field: "thread", format: "messages" });
    }
    let mut messages = Vec::with_capacity(list.len() + 1);
    messages.extend(system(members.present("system"), dropped));
    for (index, element) in list.into_iter().enumerate() {
        messages.extend(message(index, element, dropped)?);
    }
    let (tools, dropped_tools) = tools(members, dropped);
    let mut request = Request {
        model: members.string("model").unwrap_or_default(),
        stream: members.parse("stream").unwrap_or(false),
        messages,
        sampling: sampling(members, dropped),
        ..Request::default()
    };
    tool_choice(members, &tools, &dropped_tools, &mut request, dropped);
    request.tools = tools;
    thinking(members, &mut request.reasoning, dropped);
    output(members, &mut request, dropped);
    metadata(members, &mut request, dropped);
    drop_unread(members, READ, "", dropped);
    Ok(request)
}

fn system<'a>(raw: Option<&'a RawValue>, dropped: &mut Dropped) -> Option<Message<'a>> {
    let mut parts = content(raw, dropped);
    parts.retain_mut(|part| {
        let Part::Text { text, .. } = part else { return true };
        if !text.starts_with(BILLING) {
            return true;
        }
        dropped.add("system.x-anthropic-billing-header");
        let decoded = text.decode();
        let (_, rest) = decoded.split_once('\n').unwrap_or_default();
        *text = rest.trim_start_matches('\n').to_owned().into();
        !text.is_empty()
    });
    (!parts.is_empty()).then_some(Message { speaker: Speaker::System, parts })
}

fn sampling<'a>(members: &Members<'a>, dropped: &mut Dropped) -> Sampling<'a> {
    let mut number = |key: &'static str| {
        let value = members.present(key)?;
        if value.get().parse::<f64>().is_ok() {
            return Some(value);
        }
        dropped.add(key);
        None
    };
    Sampling {
        max_tokens: number("max_tokens"),
        temperature: number("temperature"),
        top_p: number("top_p"),
        top_k: number("top_k"),
        stop: members.elements("stop_sequences").iter().filter_map(|stop| stop.text().map(Text::decode)).collect(),
        ..Sampling::default()
    }
}

/// Returns the tools that the client runs, and the names of the dropped ones, which only the vendor can run.
fn tools<'a>(members: &Members<'a>, dropped: &mut Dropped) -> (Vec<Tool<'a>>, Vec<Cow<'a, str>>) {
    let (mut tools, mut dropped_tools) = (Vec::new(), Vec::new());
    for element in members.elements("tools") {
        let tool = element.object().unwrap_or_default();
        let kind = tool.string("type").unwrap_or(Cow::Borrowed("custom"));
        let schema = tool.present("input_schema");
        let name = tool.string("name").filter(|name| !name.is_empty());
        match name {
            Some(name) if kind == "custom" || schema.is_some() => {
                for (key, value) in tool.iter() {
                    drop_tool_member(key, value.get(), dropped);
                }
                tools.push(Tool {
                    name,
                    description: tool.string("description"),
                    schema: schema.map(Cow::Borrowed),
                    strict: tool.parse("strict"),
                    cache_control: tool.present("cache_control"),
                });
            }
            name => {
                dropped.add(format!("tools.{kind}"));
                dropped_tools.extend(name);
            }
        }
    }
    (tools, dropped_tools)
}

/// Counts a member of a tool that other formats do not have, unless its value is the default.
fn drop_tool_member(key: &str, value: &str, dropped: &mut Dropped) {
    match key {
        // `eager_input_streaming` only changes the timing of deltas.
        "type" | "name" | "description" | "input_schema" | "strict" | "cache_control" | "eager_input_streaming" => {}
        _ if matches!(value, "null" | "false" | "[]") => {}
        _ => dropped.add(format!("tools.{key}")),
    }
}

fn tool_choice<'a>(
    members: &Members<'a>,
    tools: &[Tool<'a>],
    dropped_tools: &[Cow<'a, str>],
    request: &mut Request<'a>,
    dropped: &mut Dropped,
) {
    let Some(choice) = members.get("tool_choice").and_then(Members::of) else {
        return;
    };
    let kind = choice.string("type").unwrap_or_default();
    let read = match &*kind {
        "auto" => Some(ToolChoice::Auto),
        "none" => Some(ToolChoice::None),
        "any" if !tools.is_empty() => Some(ToolChoice::Required),
        "tool" => choice.string("name").filter(|name| !dropped_tools.contains(name)).map(ToolChoice::Tool),
        _ => None,
    };
    if read.is_none() {
        dropped.add("tool_choice");
    }
    // Most backends refuse a choice without tools.
    if !tools.is_empty() {
        request.tool_choice = read;
        let disabled: Option<bool> = choice.parse("disable_parallel_tool_use");
        request.parallel_tool_calls = disabled.map(|disabled| !disabled);
    }
}

/// Reads `thinking`. `adaptive` lets the model decide, which is the default in other formats.
fn thinking<'a>(members: &Members<'a>, reasoning: &mut Reasoning<'a>, dropped: &mut Dropped) {
    let Some(thinking) = members.get("thinking").and_then(Members::of) else {
        return;
    };
    match thinking.string("type").as_deref() {
        Some("enabled") => {
            reasoning.enabled = Some(true);
            reasoning.budget = thinking.parse("budget_tokens");
        }
        Some("disabled") => reasoning.enabled = Some(false),
        Some("adaptive") => {}
        _ => dropped.add("thinking"),
    }
}

fn output<'a>(members: &Members<'a>, request: &mut Request<'a>, dropped: &mut Dropped) {
    // The name of `output_config.format` in the beta of structured outputs.
    let mut format = members.get("output_format").and_then(Members::of);
    if let Some(config) = members.get("output_config").and_then(Members::of) {
        request.reasoning.effort = effort::read(&config, "effort", "output_config.effort", dropped);
        format = config.get("format").and_then(Members::of).or(format);
        for (key, value) in config.iter() {
            if !matches!(key, "effort" | "format") && value.get() != "null" {
                dropped.add(format!("output_config.{key}"));
            }
        }
    }
    let Some(format) = format else { return };
    match format.present("schema") {
        Some(schema) => {
            request.output = Some(OutputShape::Schema { name: format.string("name"), schema, strict: None });
        }
        None => dropped.add("output_config.format"),
    }
}

fn metadata<'a>(members: &Members<'a>, request: &mut Request<'a>, dropped: &mut Dropped) {
    let Some(metadata) = members.get("metadata").and_then(Members::of) else {
        return;
    };
    for (key, value) in metadata.iter() {
        match key {
            _ if value.get() == "null" => {}
            "user_id" => request.user = metadata.string(key),
            key => dropped.add(format!("metadata.{key}")),
        }
    }
    if request.user.is_none() && metadata.present("user_id").is_some() {
        dropped.add("metadata.user_id");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> (Request<'_>, Vec<String>) {
        let mut dropped = Dropped::default();
        let request = read_request(Body::of(body, "messages").unwrap(), &mut dropped).unwrap();
        let dropped = dropped.iter().map(|(name, _)| name.to_owned()).collect();
        (request, dropped)
    }

    #[test]
    fn a_thread_at_the_vendor_is_refused() {
        let body =
            |thread: &str| format!(r#"{{"model":"m","thread":{thread},"messages":[{{"role":"user","content":"a"}}]}}"#);
        let read = |body: &str| read_request(Body::of(body, "messages").unwrap(), &mut Dropped::default()).map(drop);
        let refused = ConvertError::HeldElsewhere { field: "thread", format: "messages" };
        assert_eq!(read(&body(r#"{"type":"continue","id":"t"}"#)), Err(refused));
        for thread in ["null", "{}", r#"{"type":"new"}"#] {
            assert_eq!(read(&body(thread)), Ok(()), "{thread}");
        }
    }

    /// The texts of a message's parts.
    fn texts<'r>(message: &'r Message<'_>) -> Vec<Cow<'r, str>> {
        let texts = message.parts.iter().map(|part| match part {
            Part::Text { text, .. } => text.decode(),
            _ => "?".into(),
        });
        texts.collect()
    }

    #[test]
    fn billing_line_is_removed_from_system_text() {
        for (system, expected) in [
            (r#"[{"type":"text","text":"x-anthropic-billing-header: cch=1;"},{"type":"text","text":"B"}]"#, "B"),
            (r#""x-anthropic-billing-header: cch=2;\n\nB""#, "B"),
            (r#"[{"type":"text","text":"B"},{"type":"text","text":""}]"#, "B"),
            (r#""B x-anthropic-billing-header:""#, "B x-anthropic-billing-header:"),
        ] {
            let body = format!(r#"{{"model":"m","messages":[],"system":{system}}}"#);
            let (request, _) = read(&body);
            assert_eq!(request.messages.len(), 1, "{system}");
            assert_eq!(texts(&request.messages[0]), vec![expected], "{system}");
        }
        let (request, dropped) = read(r#"{"model":"m","messages":[],"system":"x-anthropic-billing-header: cch=1;"}"#);
        assert!(request.messages.is_empty());
        assert_eq!(dropped, vec!["system.x-anthropic-billing-header"]);
    }

    #[test]
    fn vendor_tools_and_a_choice_of_one_are_dropped() {
        let (request, dropped) = read(
            r#"{"model":"m","messages":[],"tools":[{"type":"web_search_20250305","name":"web_search","max_uses":8},
            {"name":"Bash","input_schema":{"type":"object"},"defer_loading":false,"input_examples":[{}]},
            {"type":"custom","name":"Now"}],"tool_choice":{"type":"tool","name":"web_search","disable_parallel_tool_use":true}}"#,
        );
        let names: Vec<_> = request.tools.iter().map(|tool| &*tool.name).collect();
        assert_eq!(names, ["Bash", "Now"]);
        assert_eq!(request.tool_choice, None);
        assert_eq!(request.parallel_tool_calls, Some(false));
        assert_eq!(dropped, ["tool_choice", "tools.input_examples", "tools.web_search_20250305"]);
    }

    #[test]
    fn tool_choice_of_each_type_is_read() {
        for (choice, read_as) in [
            (r#"{"type":"auto"}"#, Some(ToolChoice::Auto)),
            (r#"{"type":"any"}"#, Some(ToolChoice::Required)),
            (r#"{"type":"none"}"#, Some(ToolChoice::None)),
            (r#"{"type":"tool","name":"T"}"#, Some(ToolChoice::Tool("T".into()))),
            (r#"{"type":"some"}"#, None),
            ("null", None),
        ] {
            let body =
                format!(r#"{{"messages":[],"tools":[{{"name":"T","input_schema":{{}}}}],"tool_choice":{choice}}}"#);
            assert_eq!(read(&body).0.tool_choice, read_as, "{choice}");
        }
    }

    #[test]
    fn thinking_effort_and_format_are_read() {
        let (request, dropped) = read(
            r#"{"messages":[],"thinking":{"type":"enabled","budget_tokens":2048},
            "output_config":{"effort":"high","format":{"type":"json_schema","schema":{"type":"object"}},"task_budget":{}},
            "context_management":{"edits":[{"type":"x"}]},"safeguards":{"a":1},"betas":[],"container":null}"#,
        );
        assert_eq!(request.reasoning.budget, Some(2048));
        assert_eq!(request.reasoning.enabled, Some(true));
        assert_eq!(request.reasoning.effort.as_deref(), Some("high"));
        assert!(matches!(request.output, Some(OutputShape::Schema { .. })));
        assert_eq!(dropped, ["context_management", "output_config.task_budget", "safeguards"]);
    }

    #[test]
    fn malformed_bodies_do_not_panic() {
        for body in [
            r#"{"messages":[null,1,"x",[],{"role":7,"content":{}},{"role":"user","content":[null,1,"x",{"type":3}]}]}"#,
            r#"{"messages":[],"system":7,"tools":{},"tool_choice":"auto","thinking":true,"output_config":[],"metadata":1}"#,
            r#"{"messages":[],"tools":[1,null,{}],"stop_sequences":[1,"x"],"temperature":"warm","stream":"yes"}"#,
        ] {
            read(body);
        }
        let mut dropped = Dropped::default();
        assert!(read_request(Body::of("{}", "messages").unwrap(), &mut dropped).is_err());
        assert!(read_request(Body::of(r#"{"messages":{}}"#, "messages").unwrap(), &mut dropped).is_err());
    }
}
