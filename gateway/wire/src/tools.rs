//! Tool calls and tool results in the three formats.

use std::borrow::Cow;

use serde_json::Value;

use super::scan::{Element, Members, Text, elements};

/// A tool that a request declares.
#[derive(Debug)]
pub struct DeclaredTool<'a> {
    /// Its name. A tool without a name has that of its type.
    pub name: Option<Cow<'a, str>>,
    /// Its type, if it names one.
    pub kind: Option<Cow<'a, str>>,
}

impl<'a> DeclaredTool<'a> {
    /// Reads the member `tools`. An element that is no object has neither name nor type.
    pub(super) fn list(members: &mut Members<'a>) -> Vec<DeclaredTool<'a>> {
        let elements = members.take_elements("tools").unwrap_or_default();
        elements.into_iter().map(DeclaredTool::of).collect()
    }

    fn of(element: Element<'a>) -> DeclaredTool<'a> {
        let mut tool = element.object().unwrap_or_default();
        let function = tool.take_object("function");
        let kind = tool.string("type");
        let name = tool.string("name").or_else(|| function.string("name")).or_else(|| kind.clone());
        DeclaredTool { name, kind }
    }
}

/// A tool call by the model, or its result from the client.
#[derive(Debug, Clone, Copy)]
pub enum ToolPart<'a> {
    /// A call by the model.
    Call {
        /// The call's id. Its result refers to it.
        id: Text<'a>,
        /// The tool's name.
        name: Text<'a>,
        /// The arguments as raw JSON: an object, or a string that holds an object or free text.
        arguments: &'a str,
    },
    /// A result from the client.
    Result {
        /// The call's id.
        id: Text<'a>,
        /// The result as raw JSON: a string, or an array of parts.
        content: &'a str,
        /// Whether the client marked the call as failed.
        failed: bool,
    },
}

/// The arguments of a call as JSON. Some formats hold them as a string; free text stays one.
pub fn decoded_arguments(arguments: &str) -> Option<Value> {
    match serde_json::from_str(arguments).ok()? {
        Value::String(text) => serde_json::from_str(&text).ok().or(Some(Value::String(text))),
        arguments => Some(arguments),
    }
}

impl<'a> ToolPart<'a> {
    /// Reads a `tool_use` or `tool_result` block of the messages format.
    pub(super) fn of_block(kind: &str, members: &Members<'a>) -> Option<ToolPart<'a>> {
        match kind {
            "tool_use" => ToolPart::call(members.text("id"), members.text("name"), members.get("input")),
            "tool_result" => ToolPart::result(members, "tool_use_id", "content"),
            _ => None,
        }
    }

    /// Reads the `tool_calls` of a chat message, and the result if the message is one.
    pub(super) fn of_chat(members: &mut Members<'a>) -> Vec<ToolPart<'a>> {
        let call = |mut call: Members<'a>| {
            let function = call.take_object("function");
            ToolPart::call(call.text("id"), function.text("name"), function.get("arguments"))
        };
        let calls = members.take_elements("tool_calls").unwrap_or_default().into_iter();
        let result = ToolPart::result(members, "tool_call_id", "content");
        calls.filter_map(|element| element.object().and_then(call)).chain(result).collect()
    }

    /// Reads a call or output item of the responses format. The name of a `local_shell_call` is its type.
    pub(super) fn of_item(kind: Option<Text<'a>>, members: &Members<'a>) -> Option<ToolPart<'a>> {
        let id = members.text("call_id");
        match &*kind?.decode() {
            "function_call" => ToolPart::call(id, members.text("name"), members.get("arguments")),
            "local_shell_call" => ToolPart::call(id, kind, members.get("action")),
            "custom_tool_call" => ToolPart::call(id, members.text("name"), members.get("input")),
            "function_call_output" | "local_shell_call_output" | "custom_tool_call_output" => {
                ToolPart::result(members, "call_id", "output")
            }
            _ => None,
        }
    }

    fn call(id: Option<Text<'a>>, name: Option<Text<'a>>, arguments: Option<&'a str>) -> Option<ToolPart<'a>> {
        Some(ToolPart::Call { id: id?, name: name?, arguments: arguments? })
    }

    fn result(members: &Members<'a>, id: &str, content: &str) -> Option<ToolPart<'a>> {
        Some(ToolPart::Result {
            id: members.text(id)?,
            content: members.get(content)?,
            failed: members.get("is_error") == Some("true"),
        })
    }
}

/// The text of a tool result's raw `content`: the string, or the texts of the parts joined by line feeds. `None` for
/// other JSON.
pub fn result_text(content: &str) -> Option<String> {
    if let Some(text) = Text::of(content) {
        return Some(text.decode().into_owned());
    }
    let parts = elements(content)?;
    let texts = parts.into_iter().filter_map(|part| part.object()?.string("text"));
    Some(texts.collect::<Vec<_>>().join("\n"))
}
