//! Messages: `system` beside `messages`, content as a string or as blocks, results of tools inside user messages.

use super::prompt::{BlockKind, Message, ParseError, content, role};
use super::scan::{Members, Text, elements};

pub(super) fn system<'a>(members: &Members<'a>) -> Vec<Text<'a>> {
    let Some(raw) = members.get("system") else {
        return Vec::new();
    };
    match Text::of(raw) {
        Some(text) => vec![text],
        None => elements(raw)
            .unwrap_or_default()
            .into_iter()
            .filter_map(|block| Members::of(block)?.text("text"))
            .collect(),
    }
}

pub(super) fn messages<'a>(members: &Members<'a>) -> Result<Vec<Message<'a>>, ParseError> {
    let raw = members.get("messages").ok_or(ParseError::Missing("messages"))?;
    let list = elements(raw).ok_or(ParseError::WrongType("messages", "an array"))?;
    Ok(list.into_iter().map(message).collect())
}

fn message(raw: &str) -> Message<'_> {
    let members = Members::of(raw).unwrap_or_default();
    let kind_of = |name: &str, _: &Members<'_>| match name {
        "text" => BlockKind::Text,
        name if name.ends_with("tool_result") => BlockKind::ToolResult,
        _ => BlockKind::Other,
    };
    let (content, blocks) = content(members.get("content"), kind_of, BlockKind::Text);
    Message {
        role: role(members.text("role")),
        content,
        blocks,
    }
}
