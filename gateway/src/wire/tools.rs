//! Calls of a client's tools and what they returned, where each format keeps them.

use super::scan::{Members, Text, elements};

/// One half of a tool's use: the model's call, or the result that the client sent.
#[derive(Debug, Clone, Copy)]
pub enum ToolPart<'a> {
    /// The model's side.
    Call {
        /// What the result refers to.
        id: Text<'a>,
        /// The tool.
        name: Text<'a>,
        /// The arguments: an object, or a string that holds one.
        arguments: &'a str,
    },
    /// The client's side.
    Result {
        /// The call's id.
        id: Text<'a>,
        /// A string, or an array of parts.
        content: &'a str,
        /// The client says that the call failed.
        failed: bool,
    },
}

impl<'a> ToolPart<'a> {
    /// A block of a message of the messages format: `tool_use` and `tool_result`.
    pub(super) fn of_block(kind: &str, members: &Members<'a>) -> Option<ToolPart<'a>> {
        match kind {
            "tool_use" => ToolPart::call(members.text("id"), members.text("name"), members.get("input")),
            "tool_result" => ToolPart::result(members, "tool_use_id", "content"),
            _ => None,
        }
    }

    /// A message of chat completions: its `tool_calls`, or the result that it is.
    pub(super) fn of_chat(members: &Members<'a>) -> Vec<ToolPart<'a>> {
        let call = |call: Members<'a>| {
            let function = call.object("function");
            ToolPart::call(call.text("id"), function.text("name"), function.get("arguments"))
        };
        let calls = members.elements("tool_calls").into_iter();
        let result = ToolPart::result(members, "tool_call_id", "content");
        calls
            .filter_map(|element| element.object().and_then(call))
            .chain(result)
            .collect()
    }

    /// An item of responses: `function_call` and its output. A `local_shell_call` is named by its type.
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
        Some(ToolPart::Call {
            id: id?,
            name: name?,
            arguments: arguments?,
        })
    }

    fn result(members: &Members<'a>, id: &str, content: &str) -> Option<ToolPart<'a>> {
        Some(ToolPart::Result {
            id: members.text(id)?,
            content: members.get(content)?,
            failed: members.get("is_error") == Some("true"),
        })
    }
}

/// What a result says: its string, or the text of its parts, a line apart. `None` where it is neither.
#[must_use]
pub fn result_text(content: &str) -> Option<String> {
    if let Some(text) = Text::of(content) {
        return Some(text.decode().into_owned());
    }
    let parts = elements(content)?;
    let texts = parts.into_iter().filter_map(|part| part.object()?.string("text"));
    Some(texts.collect::<Vec<_>>().join("\n"))
}
