//! Responses: `input` as a string or as items, of which only some are messages.

use super::prompt::{Block, BlockKind, Content, Message, ParseError, Role, content, declared_tools, role};
use super::scan::{Conversation, Element, Members, Text};
use super::tools::ToolPart;

/// The items that declare tools: those that a client adds (Codex sends all of its tools so), and those that its own search
/// for tools found.
const DECLARING: [&str; 2] = ["additional_tools", "tool_search_output"];

pub(super) fn instructions<'a>(members: &Members<'a>) -> Vec<Text<'a>> {
    members.text("instructions").into_iter().collect()
}

pub(super) fn items<'a>(
    conversation: Option<Conversation<'a>>,
    members: &Members<'a>,
) -> Result<Vec<Message<'a>>, ParseError> {
    // A stored prompt or conversation may stand for the input; then there is nothing to look at and nothing to add.
    let Some(conversation) = conversation else {
        return match members
            .get("prompt")
            .or_else(|| members.get("conversation"))
            .or_else(|| members.get("previous_response_id"))
        {
            Some(_) => Ok(Vec::new()),
            None => Err(ParseError::Missing("input")),
        };
    };
    match conversation {
        Conversation::List(list) => Ok(list.into_iter().map(item).collect()),
        Conversation::Other(raw) => {
            let text = Text::of(raw.get()).ok_or(ParseError::WrongType("input", "a string or an array"))?;
            Ok(vec![Message {
                role: Role::User,
                content: Content::Bare(raw.get()),
                blocks: vec![Block::of_string(BlockKind::Text, text)],
                tools: Vec::new(),
                declared_tools: None,
            }])
        }
    }
}

fn item(element: Element<'_>) -> Message<'_> {
    let members = element.object().unwrap_or_default();
    let kind = members.string("type").unwrap_or_default();
    let role = match &*kind {
        "message" | "" => role(members.text("role")),
        "reasoning" => Role::Assistant,
        name if name.ends_with("_call") => Role::Assistant,
        name if name.ends_with("_call_output") => Role::Tool,
        _ => Role::Other,
    };
    if !matches!(&*kind, "message" | "") {
        return Message {
            role,
            content: Content::None,
            blocks: Vec::new(),
            tools: ToolPart::of_item(members.text("type"), &members).into_iter().collect(),
            declared_tools: declared_tools(&members).filter(|_| DECLARING.contains(&&*kind)),
        };
    }
    let kind_of = |name: &str, _: &Members<'_>| match name {
        "input_text" | "output_text" | "text" => BlockKind::Text,
        _ => BlockKind::Other,
    };
    let (content, blocks) = content(members.get("content"), kind_of, BlockKind::Text);
    Message {
        role,
        content,
        blocks,
        tools: Vec::new(),
        declared_tools: None,
    }
}
