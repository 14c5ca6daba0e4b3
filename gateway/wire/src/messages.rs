//! Reads requests in the messages format: `system` is a top-level member, content is a string or a list of blocks, and
//! tool results are blocks of user messages.

use super::message::{BlockKind, Message, Passage, content, role};
use super::parse_error::ParseError;
use super::scan::{Conversation, Element, Members, Text};
use super::tools::ToolPart;

pub(super) fn system<'a>(members: &mut Members<'a>) -> Vec<Passage<'a>> {
    let Some(raw) = members.get("system") else {
        return Vec::new();
    };
    match Text::of(raw) {
        Some(text) => vec![text.into()],
        None => {
            let blocks = members.take_elements("system").unwrap_or_default().into_iter();
            blocks.filter_map(|block| Some(block.object()?.text("text")?.into())).collect()
        }
    }
}

pub(super) fn messages(conversation: Option<Conversation<'_>>) -> Result<Vec<Message<'_>>, ParseError> {
    let list = Conversation::list(conversation, "messages")?;
    Ok(list.into_iter().map(message).collect())
}

fn message<'a>(element: Element<'a>) -> Message<'a> {
    let mut members = element.object().unwrap_or_default();
    let mut tools = Vec::new();
    let kind_of = |name: &str, members: &Members<'a>| {
        tools.extend(ToolPart::of_block(name, members));
        match name {
            "text" => BlockKind::Text,
            name if name.ends_with("tool_result") => BlockKind::ToolResult,
            _ => BlockKind::Other,
        }
    };
    let (content, blocks) = content(&mut members, kind_of, BlockKind::Text);
    Message::new(role(members.text("role")), content, blocks, tools)
}
