//! Reads requests in the responses format: `input` is a string or a list of items. Only some items are messages.

use super::message::{Block, BlockKind, Content, Message, Passage, Role, content, role};
use super::parse_error::ParseError;
use super::scan::{Conversation, Element, Members, Text};
use super::tools::{DeclaredTool, ToolPart};

/// The types of items that declare tools: tools that the client adds (Codex sends all its tools like this), and results
/// of the client's tool search.
const DECLARING: [&str; 2] = ["additional_tools", "tool_search_output"];

pub(super) fn instructions<'a>(members: &Members<'a>) -> Vec<Passage<'a>> {
    members.text("instructions").into_iter().map(Passage::from).collect()
}

pub(super) fn items<'a>(
    conversation: Option<Conversation<'a>>,
    members: &Members<'a>,
) -> Result<Vec<Message<'a>>, ParseError> {
    // A stored prompt, conversation or response may replace the input. Such a request has no messages to read.
    let Some(conversation) = conversation else {
        let mut stored = ["prompt", "conversation", "previous_response_id"].into_iter();
        return if stored.any(|key| members.get(key).is_some()) {
            Ok(Vec::new())
        } else {
            Err(ParseError::Missing("input"))
        };
    };
    match conversation {
        Conversation::List(list) => Ok(list.into_iter().map(item).collect()),
        Conversation::Other(raw) => {
            let text = Text::of(raw.get()).ok_or(ParseError::WrongType("input", "a string or an array"))?;
            let block = Block::of_string(BlockKind::Text, text);
            Ok(vec![Message::new(Role::User, Content::Bare(raw.get()), vec![block], Vec::new())])
        }
    }
}

fn item(element: Element<'_>) -> Message<'_> {
    let mut members = element.object().unwrap_or_default();
    let kind = members.string("type").unwrap_or_default();
    let role = match &*kind {
        "message" | "" => role(members.text("role")),
        "reasoning" => Role::Assistant,
        name if name.ends_with("_call") => Role::Assistant,
        name if name.ends_with("_call_output") => Role::Tool,
        _ => Role::Other,
    };
    if !matches!(&*kind, "message" | "") {
        let tools = ToolPart::of_item(members.text("type"), &members).into_iter().collect();
        let declared = DECLARING.contains(&&*kind).then(|| DeclaredTool::list(&mut members));
        return Message {
            declared: declared.unwrap_or_default(),
            ..Message::new(role, Content::None, Vec::new(), tools)
        };
    }
    let kind_of = |name: &str, _: &Members<'_>| match name {
        "input_text" | "output_text" | "text" => BlockKind::Text,
        _ => BlockKind::Other,
    };
    let (content, blocks) = content(&mut members, kind_of, BlockKind::Text);
    Message::new(role, content, blocks, Vec::new())
}
