//! The tools that a model may call, and whether it must.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use super::super::ToolNames;
use super::super::request::{Dropped, Request, Tool, ToolChoice};
use super::NAMES;
use super::blocks::{Block, Marker, Turn};
use super::capabilities::Capabilities;
use crate::wire::Members;

/// The schema of a tool that takes no arguments.
const NO_ARGUMENTS: &str = r#"{"type":"object","properties":{}}"#;

/// A tool that the client runs.
#[derive(Serialize)]
pub(super) struct Function<'r> {
    name: Cow<'r, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'r str>,
    input_schema: Cow<'r, RawValue>,
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

/// Writes the tools and the choice between them.
pub(super) fn tools<'r>(
    request: &'r Request<'r>,
    turns: &[Turn<'r>],
    capabilities: Capabilities,
    dropped: &mut Dropped,
    names: &mut ToolNames,
) -> (Vec<Function<'r>>, Option<Choice<'r>>) {
    if request.tools.is_empty() {
        return called(turns);
    }
    let tools: Vec<_> = request
        .tools
        .iter()
        .map(|tool| function(tool, capabilities, dropped, names))
        .collect();
    let serial = request.parallel_tool_calls == Some(false);
    let (kind, name) = match &request.tool_choice {
        None | Some(ToolChoice::Auto) => ("auto", None),
        Some(ToolChoice::None) => ("none", None),
        Some(ToolChoice::Required) => ("any", None),
        Some(ToolChoice::Tool(name)) if request.tools.iter().any(|tool| tool.name == *name) => {
            ("tool", Some(names.sent(name, NAMES)))
        }
        Some(ToolChoice::Tool(_)) => {
            dropped.add("tool_choice");
            ("auto", None)
        }
    };
    let says_something = serial || kind != "auto" || request.tool_choice.is_some();
    let choice = says_something.then_some(Choice {
        kind,
        name,
        disable_parallel_tool_use: serial && kind != "none",
    });
    (tools, choice)
}

fn function<'r>(
    tool: &'r Tool<'r>,
    capabilities: Capabilities,
    dropped: &mut Dropped,
    names: &mut ToolNames,
) -> Function<'r> {
    let strict = tool.strict == Some(true);
    // What another vendor takes as a strict schema the format's own may refuse, and with it the whole request. Other
    // servers of the format (vLLM) hold a call to its schema only then.
    if strict && !capabilities.strict {
        dropped.add("tools.strict");
    }
    Function {
        name: names.sent(&tool.name, NAMES),
        description: tool.description.as_deref().filter(|text| !text.is_empty()),
        input_schema: schema(tool.schema.as_deref()),
        strict: strict && capabilities.strict,
        cache_control: tool.cache_control,
    }
}

/// The schema of an object, which it must say that it is.
fn schema(schema: Option<&RawValue>) -> Cow<'_, RawValue> {
    let Some((schema, members)) = schema.and_then(|schema| Some((schema, Members::of(schema.get())?))) else {
        return serde_json::from_str(NO_ARGUMENTS).map_or(Cow::Borrowed(RawValue::NULL), Cow::Borrowed);
    };
    if members.get("type").is_some() {
        return Cow::Borrowed(schema);
    }
    let rest = schema.get()[1..].trim_start();
    let comma = if rest.starts_with('}') { "" } else { "," };
    let typed = RawValue::from_string(format!(r#"{{"type":"object"{comma}{rest}"#));
    typed.map_or(Cow::Borrowed(schema), Cow::Owned)
}

/// Tools for a conversation that has calls in it but no tools to make them with: servers of this format want every
/// tool defined that occurs, so each is, and none may be called.
fn called<'r>(turns: &[Turn<'r>]) -> (Vec<Function<'r>>, Option<Choice<'r>>) {
    let mut tools: Vec<Function<'r>> = Vec::new();
    for block in turns.iter().flat_map(|turn| &turn.content) {
        if let Block::ToolUse { name, .. } = block
            && !tools.iter().any(|tool| tool.name == *name)
        {
            tools.push(Function {
                name: name.clone(),
                description: None,
                input_schema: schema(None),
                strict: false,
                cache_control: None,
            });
        }
    }
    let choice = (!tools.is_empty()).then_some(Choice {
        kind: "none",
        name: None,
        disable_parallel_tool_use: false,
    });
    (tools, choice)
}

#[cfg(test)]
mod tests {
    use super::super::super::request::{Message, Part, Speaker, ToolCall};
    use super::super::turns::turns;
    use super::*;

    fn raw(json: &str) -> &RawValue {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn schemas_are_those_of_objects() {
        for (given, written) in [
            (None, NO_ARGUMENTS),
            (Some("true"), NO_ARGUMENTS),
            (Some("{}"), r#"{"type":"object"}"#),
            (Some(r#"{ "properties":{}}"#), r#"{"type":"object","properties":{}}"#),
            (Some(r#"{"type":"object","x":1.0}"#), r#"{"type":"object","x":1.0}"#),
        ] {
            assert_eq!(schema(given.map(raw)).get(), written, "{given:?}");
        }
    }

    #[test]
    fn strict_schemas_are_for_servers_that_hold_to_them() {
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
            let (tools, _) = tools(
                &request,
                &[],
                Capabilities::of(model),
                &mut dropped,
                &mut ToolNames::default(),
            );
            let tools = serde_json::to_string(&tools).unwrap();
            assert_eq!(tools.contains(r#""strict":true"#), written, "{model}: {tools}");
            assert_eq!(dropped.iter().count(), counted, "{model}");
        }
    }

    #[test]
    fn a_conversation_with_calls_has_tools() {
        let call = |name: &'static str| {
            Part::ToolCall(ToolCall {
                id: name.into(),
                name: name.into(),
                arguments: "{}".into(),
            })
        };
        let messages = vec![Message {
            speaker: Speaker::Assistant,
            parts: vec![call("T"), call("not.a name"), call("T")],
        }];
        let mut dropped = Dropped::default();
        let mut sent = ToolNames::default();
        let turns = turns(&messages, &mut dropped, &mut sent);
        let request = Request::default();
        let (tools, choice) = tools(&request, &turns, Capabilities::of(""), &mut dropped, &mut sent);
        let names: Vec<_> = tools.iter().map(|tool| &*tool.name).collect();
        assert_eq!(names[0], "T");
        assert_eq!((names.len(), sent.of_client(names[1])), (2, "not.a name"));
        assert_eq!(choice.map(|choice| choice.kind), Some("none"));
    }
}
