//! Writer of tools and of the tool choice.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use super::super::request::{Dropped, Request, Tool, ToolChoice};
use super::super::{ToolNames, empty_schema};
use super::NAME_RULE;
use super::blocks::{Block, Marker, Turn};
use super::capabilities::Capabilities;

/// A tool that the client runs.
#[derive(Serialize)]
pub(super) struct Function<'r> {
    name: Cow<'r, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'r str>,
    input_schema: &'r RawValue,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    strict: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_control: Marker<'r>,
}

#[derive(Serialize)]
pub(super) struct Choice<'r> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<Cow<'r, str>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    disable_parallel_tool_use: bool,
}

/// Writes the tools and the tool choice.
pub(super) fn tools<'r>(
    request: &'r Request<'r>,
    turns: &[Turn<'r>],
    capabilities: Capabilities,
    dropped: &mut Dropped,
    names: &mut ToolNames,
) -> (Vec<Function<'r>>, Option<Choice<'r>>) {
    if request.tools.is_empty() {
        return called_tools(turns);
    }
    let tools: Vec<_> = request.tools.iter().map(|tool| function(tool, capabilities, dropped, names)).collect();
    let serial = request.parallel_tool_calls == Some(false);
    let (kind, name) = match &request.tool_choice {
        None | Some(ToolChoice::Auto) => ("auto", None),
        Some(ToolChoice::None) => ("none", None),
        Some(ToolChoice::Required) => ("any", None),
        Some(ToolChoice::Tool(name)) if request.tools.iter().any(|tool| tool.name == *name) => {
            ("tool", Some(names.backend_name(name, NAME_RULE)))
        }
        Some(ToolChoice::Tool(_)) => {
            dropped.add("tool_choice");
            ("auto", None)
        }
    };
    let has_choice = serial || kind != "auto" || request.tool_choice.is_some();
    let choice = has_choice.then_some(Choice { kind, name, disable_parallel_tool_use: serial && kind != "none" });
    (tools, choice)
}

fn function<'r>(
    tool: &'r Tool<'r>,
    capabilities: Capabilities,
    dropped: &mut Dropped,
    names: &mut ToolNames,
) -> Function<'r> {
    let strict = tool.strict == Some(true);
    // Anthropic may refuse a request over a schema that is strict for another vendor. Other servers of the format
    // (vLLM) enforce a schema only if it is strict.
    if strict && !capabilities.strict {
        dropped.add("tools.strict");
    }
    Function {
        name: names.backend_name(&tool.name, NAME_RULE),
        description: tool.description.as_deref().filter(|text| !text.is_empty()),
        input_schema: tool.schema.as_deref().unwrap_or_else(empty_schema),
        strict: strict && capabilities.strict,
        cache_control: tool.cache_control,
    }
}

/// Defines the tools of all calls, for a request with calls but without tools. Servers of this format require a
/// definition of every called tool. The choice `none` prevents new calls.
fn called_tools<'r>(turns: &[Turn<'r>]) -> (Vec<Function<'r>>, Option<Choice<'r>>) {
    let mut tools: Vec<Function<'r>> = Vec::new();
    for block in turns.iter().flat_map(|turn| &turn.content) {
        if let Block::ToolUse { name, .. } = block
            && !tools.iter().any(|tool| tool.name == *name)
        {
            tools.push(Function {
                name: name.clone(),
                description: None,
                input_schema: empty_schema(),
                strict: false,
                cache_control: None,
            });
        }
    }
    let choice = (!tools.is_empty()).then_some(Choice { kind: "none", name: None, disable_parallel_tool_use: false });
    (tools, choice)
}

#[cfg(test)]
mod tests {
    use super::super::super::request::{Message, Part, Speaker, ToolCall};
    use super::super::turns::turns;
    use super::*;

    #[test]
    fn strict_is_dropped_for_claude_models() {
        for (model, written, counted) in [("claude-opus-4-1", false, 1), ("smollm2", true, 0)] {
            let request = Request {
                tools: vec![Tool {
                    name: "T".into(),
                    description: None,
                    schema: None,
                    strict: Some(true),
                    cache_control: None,
                }],
                ..Request::default()
            };
            let mut dropped = Dropped::default();
            let (tools, _) = tools(&request, &[], Capabilities::of(model), &mut dropped, &mut ToolNames::default());
            let tools = serde_json::to_string(&tools).unwrap();
            assert_eq!(tools.contains(r#""strict":true"#), written, "{model}: {tools}");
            assert_eq!(dropped.iter().count(), counted, "{model}");
        }
    }

    #[test]
    fn called_tools_are_defined_if_the_request_has_none() {
        let call = |name: &'static str| {
            Part::ToolCall(ToolCall { id: name.into(), name: name.into(), arguments: "{}".into() })
        };
        let messages =
            vec![Message { speaker: Speaker::Assistant, parts: vec![call("T"), call("not.a name"), call("T")] }];
        let mut dropped = Dropped::default();
        let mut names = ToolNames::default();
        let turns = turns(&messages, &mut dropped, &mut names);
        let request = Request::default();
        let (tools, choice) = tools(&request, &turns, Capabilities::of(""), &mut dropped, &mut names);
        let sent: Vec<_> = tools.iter().map(|tool| &*tool.name).collect();
        assert_eq!(sent[0], "T");
        assert_eq!((sent.len(), names.client_name(sent[1])), (2, "not.a name"));
        assert_eq!(choice.map(|choice| choice.kind), Some("none"));
    }
}
