//! Reads requests in the chat format: `messages` with roles, content is a string or a list of parts.

use super::insertion::Insertion;
use super::message::{Block, BlockKind, Message, Role, content, role};
use super::parse_error::ParseError;
use super::scan::{Conversation, Element, Members, span};
use super::tools::ToolPart;

pub(super) fn messages(conversation: Option<Conversation<'_>>) -> Result<Vec<Message<'_>>, ParseError> {
    let list = Conversation::list(conversation, "messages")?;
    Ok(list.into_iter().map(message).collect())
}

fn message(element: Element<'_>) -> Message<'_> {
    let mut members = element.object().unwrap_or_default();
    let role = role(members.text("role"));
    let text_kind = if role == Role::Tool { BlockKind::ToolResult } else { BlockKind::Text };
    let kind_of = |name: &str, _: &Members<'_>| {
        if name == "text" { text_kind } else { BlockKind::Other }
    };
    let (content, blocks) = content(&mut members, kind_of, text_kind);
    let tools = match role {
        Role::Assistant | Role::Tool => ToolPart::of_chat(&mut members),
        _ => Vec::new(),
    };
    Message::new(role, content, blocks, tools)
}

/// The insertion of `literal`, a JSON string, at the end of the target's text, before its closing quote. All backends
/// of this format read this place alike, in a string and in parts. So the prompt stays the same if a client turns one
/// into the other.
pub(super) fn insert(body: &str, target: &Block<'_>, literal: &str) -> Vec<Insertion> {
    let Some(text) = &target.text else {
        return Vec::new();
    };
    let inner = &literal[1..literal.len() - 1];
    vec![Insertion::new(span(body, text.literal()).end - 1, format!(r"\n\n{inner}"))]
}
