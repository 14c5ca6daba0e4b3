//! Chat completions: `messages` with roles, content as a string or as parts.

use super::prompt::{Block, BlockKind, Insertion, Message, ParseError, Role, content, role};
use super::scan::{Conversation, Element, Members, span};
use super::tools::ToolPart;

pub(super) fn messages(conversation: Option<Conversation<'_>>) -> Result<Vec<Message<'_>>, ParseError> {
    let list = Conversation::list(conversation, "messages")?;
    Ok(list.into_iter().map(message).collect())
}

fn message(element: Element<'_>) -> Message<'_> {
    let members = element.object().unwrap_or_default();
    let role = role(members.text("role"));
    let of_text = if role == Role::Tool {
        BlockKind::ToolResult
    } else {
        BlockKind::Text
    };
    let kind_of = |name: &str, _: &Members<'_>| {
        if name == "text" { of_text } else { BlockKind::Other }
    };
    let (content, blocks) = content(members.get("content"), kind_of, of_text);
    let tools = match role {
        Role::Assistant | Role::Tool => ToolPart::of_chat(&members),
        _ => Vec::new(),
    };
    Message {
        role,
        content,
        blocks,
        tools,
        declared_tools: None,
    }
}

/// Inside the text itself, before its closing quote: the one place that every backend of this format reads the same
/// way, whether the content is a string or parts, so that a client that turns one into the other changes nothing.
pub(super) fn insert(body: &str, target: &Block<'_>, literal: &str) -> Vec<Insertion> {
    let Some(text) = target.text else {
        return Vec::new();
    };
    let inner = &literal[1..literal.len() - 1];
    vec![Insertion::new(
        span(body, text.literal()).end - 1,
        format!(r"\n\n{inner}"),
    )]
}
