use std::borrow::Cow;
use std::sync::OnceLock;

use super::scan::{Element, Members, Text, span};
use super::tools::{DeclaredTool, ToolPart};

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// System and developer text, in any position.
    System,
    /// The user or the client.
    User,
    /// The model: text, thinking, tool calls.
    Assistant,
    /// Tool results, if the format has a separate role for them.
    Tool,
    /// Anything else: a future kind of item.
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockKind {
    Text,
    ToolResult,
    /// Images, documents, thinking, tool calls: blocks whose text is not read.
    Other,
}

/// A text of a prompt, decoded when it is first read.
#[derive(Debug)]
pub struct Passage<'a> {
    text: Text<'a>,
    /// The decoded text, if it differs from the literal.
    decoded: OnceLock<Option<String>>,
}

impl<'a> Passage<'a> {
    /// The literal, with its quotes.
    pub fn literal(&self) -> &'a str {
        self.text.literal()
    }

    /// The text. Lone surrogates are U+FFFD.
    pub fn decoded(&self) -> &str {
        let decoded = self.decoded.get_or_init(|| match self.text.decode() {
            Cow::Owned(text) => Some(text),
            Cow::Borrowed(_) => None,
        });
        decoded.as_deref().unwrap_or(self.text.inner())
    }
}

impl<'a> From<Text<'a>> for Passage<'a> {
    fn from(text: Text<'a>) -> Passage<'a> {
        Passage { text, decoded: OnceLock::new() }
    }
}

/// One block (messages), part (chat) or content item (responses).
#[derive(Debug)]
pub struct Block<'a> {
    pub kind: BlockKind,
    pub text: Option<Passage<'a>>,
    /// Its last value, after which it ends. For string content, the literal.
    last: &'a str,
}

impl<'a> Block<'a> {
    /// String content as one block.
    pub(super) fn of_string(kind: BlockKind, text: Text<'a>) -> Block<'a> {
        Block { kind, text: (kind == BlockKind::Text).then(|| text.into()), last: text.literal() }
    }

    /// The byte offset in `body` after the block, which must be an object.
    pub(crate) fn end_in(&self, body: &str) -> usize {
        let end = span(body, self.last).end;
        end + body[end..].find('}').map_or(0, |brace| brace + 1)
    }
}

/// How a message holds its blocks. It decides how a block is inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content<'a> {
    /// A plain string.
    String(&'a str),
    /// An array of blocks.
    List,
    /// `input` of a responses request as one string, without a message.
    Bare(&'a str),
    /// No content that takes a block.
    None,
}

/// One message or item.
#[derive(Debug)]
pub struct Message<'a> {
    /// Its author.
    pub role: Role,
    /// How it holds its blocks.
    pub content: Content<'a>,
    /// Its blocks in order.
    pub blocks: Vec<Block<'a>>,
    /// Its tool calls and tool results in order.
    pub tools: Vec<ToolPart<'a>>,
    /// The tools that it declares for the model, as some items of a responses request do.
    pub declared: Vec<DeclaredTool<'a>>,
    pub(super) human: OnceLock<String>,
}

impl<'a> Message<'a> {
    pub(super) fn new(
        role: Role,
        content: Content<'a>,
        blocks: Vec<Block<'a>>,
        tools: Vec<ToolPart<'a>>,
    ) -> Message<'a> {
        Message { role, content, blocks, tools, declared: Vec::new(), human: OnceLock::new() }
    }

    /// The texts of its blocks in order.
    pub fn texts(&self) -> impl Iterator<Item = &Passage<'a>> {
        self.blocks.iter().filter_map(|block| block.text.as_ref())
    }

    /// The human text of the message. `read` is called once, at the first call.
    pub fn human(&self, read: impl FnOnce(&Message<'a>) -> String) -> &str {
        self.human.get_or_init(|| read(self))
    }
}

/// Reads a `content` member: a string, or an array of objects with a `type`. `kind_of` gives the kind of an object with
/// this type, `string_kind` is the kind of a string.
pub(super) fn content<'a>(
    members: &mut Members<'a>,
    mut kind_of: impl FnMut(&str, &Members<'a>) -> BlockKind,
    string_kind: BlockKind,
) -> (Content<'a>, Vec<Block<'a>>) {
    if let Some(text) = members.text("content") {
        return (Content::String(text.literal()), vec![Block::of_string(string_kind, text)]);
    }
    let Some(elements) = members.take_elements("content") else {
        return (Content::None, Vec::new());
    };
    let block = |element: Element<'a>| {
        let members = element.object().unwrap_or_default();
        let name = members.string("type").unwrap_or_default();
        let (kind, text) = match kind_of(&name, &members) {
            BlockKind::Text => match members.text("text") {
                Some(text) => (BlockKind::Text, Some(text.into())),
                None => (BlockKind::Other, None),
            },
            kind => (kind, None),
        };
        let last = members.last().unwrap_or_default();
        Block { kind, text, last }
    };
    (Content::List, elements.into_iter().map(block).collect())
}

pub(super) fn role(name: Option<Text<'_>>) -> Role {
    match name.map(Text::decode).as_deref() {
        Some("system" | "developer") => Role::System,
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("tool" | "function") => Role::Tool,
        _ => Role::Other,
    }
}
