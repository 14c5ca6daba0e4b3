//! A request as turns and text blocks, over the bytes that the client sent.
//!
//! One view for three wire formats: what the ledger, the rules for side requests and the search for a question need to
//! know is the same everywhere, namely who said which text in which order, and where in the body another block could
//! stand. The per-format files only say how to find that.

use std::borrow::Cow;
use std::ops::Range;

use thiserror::Error;

use super::scan::{Body, Element, Members, Text, elements, span};
use super::tools::ToolPart;
use super::{WireFormat, chat, messages, responses};

/// Why a body is not a request.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ParseError {
    /// Not JSON, or not UTF-8.
    #[error("the body is not valid JSON: {0}")]
    Json(String),
    /// JSON, but no object.
    #[error("the body must be a JSON object")]
    NotAnObject,
    /// A member is missing that no request goes without.
    #[error("`{0}` is missing")]
    Missing(&'static str),
    /// A member has the wrong type.
    #[error("`{0}` must be {1}")]
    WrongType(&'static str, &'static str),
    /// A message has no content, or content of a shape that no format has.
    #[error("`{list}[{index}].content` must be a string or an array of parts")]
    Content {
        /// The member that holds the conversation.
        list: &'static str,
        /// Which message it is, counted from 0.
        index: usize,
    },
}

/// Who a message is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// System and developer text, in any position.
    System,
    /// The user's side, human or not.
    User,
    /// The model's side: text, thinking, calls of tools.
    Assistant,
    /// Results of tools, where the format gives them a role of their own.
    Tool,
    /// Anything else: a future kind of item.
    Other,
}

/// What a block of a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockKind {
    /// Text that somebody wrote.
    Text,
    /// The result of a tool.
    ToolResult,
    /// Images, documents, thinking, calls: everything that carries no text of its own for us.
    Other,
}

/// One block (messages), part (chat completions) or content item (responses).
#[derive(Debug, Clone, Copy)]
pub struct Block<'a> {
    /// What it is.
    pub kind: BlockKind,
    /// Its text, for text blocks.
    pub text: Option<Text<'a>>,
    /// The last value in it, right behind which it ends; for string content the literal.
    last: &'a str,
}

impl<'a> Block<'a> {
    /// String content, which is as good as one block.
    pub(super) fn of_string(kind: BlockKind, text: Text<'a>) -> Block<'a> {
        Block {
            kind,
            text: (kind == BlockKind::Text).then_some(text),
            last: text.literal(),
        }
    }

    /// Where the block, an object in a list, ends in `body`; in bytes.
    fn end_in(&self, body: &str) -> usize {
        let behind = span(body, self.last).end;
        behind + body[behind..].find('}').map_or(0, |brace| brace + 1)
    }
}

/// How a message holds its blocks, which decides how another one is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content<'a> {
    /// A plain string.
    String(&'a str),
    /// An array of blocks.
    List,
    /// `input` of a responses request as one string, without a message around it.
    Bare(&'a str),
    /// Nothing that a block could be added to.
    None,
}

/// One message or item.
#[derive(Debug)]
pub struct Message<'a> {
    /// Who it is from.
    pub role: Role,
    /// How it holds its blocks.
    pub content: Content<'a>,
    /// Its blocks in order.
    pub blocks: Vec<Block<'a>>,
    /// Calls of tools and their results in it, in order.
    pub tools: Vec<ToolPart<'a>>,
    /// The list of tools that it declares, as items of a responses request can.
    pub declared_tools: Option<&'a str>,
}

/// A request's body, seen as turns.
#[derive(Debug)]
pub struct Prompt<'a> {
    /// The wire format.
    pub format: WireFormat,
    /// The members of the body, the conversation excepted.
    pub members: Members<'a>,
    /// The body.
    pub body: &'a str,
    /// Top-level system text (`system`, `instructions`).
    pub system: Vec<Text<'a>>,
    /// The conversation.
    pub messages: Vec<Message<'a>>,
}

/// A place for a block: right after block `block` of message `message`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    /// Index into [`Prompt::messages`].
    pub message: usize,
    /// Index into [`Message::blocks`].
    pub block: usize,
}

/// Bytes to insert at an offset of the body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Insertion {
    /// Byte offset into the original body.
    pub at: usize,
    /// What to put there.
    pub bytes: String,
    /// How many bytes of the original it stands for: 0, except where the user's routes rename a model.
    pub replaces: usize,
}

impl Insertion {
    /// A pure insertion.
    #[must_use]
    pub fn new(at: usize, bytes: String) -> Insertion {
        Insertion { at, bytes, replaces: 0 }
    }
}

impl<'a> Prompt<'a> {
    /// Reads a body.
    ///
    /// # Errors
    /// [`ParseError`], in words that a client's user can act on.
    pub fn parse(format: WireFormat, body: &'a [u8]) -> Result<Prompt<'a>, ParseError> {
        let body = std::str::from_utf8(body).map_err(|error| ParseError::Json(error.to_string()))?;
        let trimmed = body.trim_ascii();
        let Body { members, conversation } = match Body::of(trimmed, format.conversation()) {
            Ok(body) => body,
            Err(error) if error.is_data() && !trimmed.starts_with('{') => {
                return Err(ParseError::NotAnObject);
            }
            Err(error) => return Err(ParseError::Json(error.to_string())),
        };
        let (system, messages) = match format {
            WireFormat::Chat => (Vec::new(), chat::messages(conversation)?),
            WireFormat::Messages => (messages::system(&members), messages::messages(conversation)?),
            WireFormat::Responses => (
                responses::instructions(&members),
                responses::items(conversation, &members)?,
            ),
        };
        Ok(Prompt {
            format,
            members,
            body,
            system,
            messages,
        })
    }

    /// The model that the client named.
    #[must_use]
    pub fn model(&self) -> Option<Text<'a>> {
        self.members.text("model")
    }

    /// Where the model's name stands in the body: the one thing that is ever replaced, and only on a user's route.
    #[must_use]
    pub fn model_span(&self) -> Option<Range<usize>> {
        Some(self.model()?.span_in(self.body))
    }

    /// Whether the client asked for a stream.
    #[must_use]
    pub fn stream(&self) -> bool {
        self.members.get("stream") == Some("true")
    }

    /// Whether the client sent tools, beside the conversation or in it.
    #[must_use]
    pub fn has_tools(&self) -> bool {
        self.tool_lists().next().is_some()
    }

    /// The names of the tools that the client declares. A tool without a name has that of its type.
    #[must_use]
    pub fn tool_names(&self) -> Vec<Cow<'a, str>> {
        let name = |element: Element<'a>| {
            let tool = element.object()?;
            let function = || tool.object("function").string("name");
            tool.string("name").or_else(function).or_else(|| tool.string("type"))
        };
        let lists = self.tool_lists().filter_map(elements);
        lists.flatten().filter_map(name).collect()
    }

    fn tool_lists(&self) -> impl Iterator<Item = &'a str> {
        let in_messages = self.messages.iter().filter_map(|message| message.declared_tools);
        declared_tools(&self.members).into_iter().chain(in_messages)
    }

    /// The index of the first message after the model's last word: where the newest turn starts.
    #[must_use]
    pub fn tail(&self) -> usize {
        self.messages
            .iter()
            .rposition(|message| message.role == Role::Assistant)
            .map_or(0, |index| index + 1)
    }

    /// Whether a block can be added after this one and be found there again: after text of the user's side that says
    /// something. Images are no such place, because they come and go behind the same words; nor are results of tools,
    /// because clients cut them down later.
    #[must_use]
    pub fn is_boundary(&self, site: Site) -> bool {
        let message = self.messages.get(site.message);
        let block = message.and_then(|message| message.blocks.get(site.block));
        let says_something = |text: Text<'_>| !text.decode().trim_end().is_empty();
        message.is_some_and(|message| message.role == Role::User)
            && block.and_then(|block| block.text).is_some_and(says_something)
    }

    /// Whether a block can be added after these results of tools: the last of a message, in the one format that has text
    /// beside them. What stands in a result may be cut down later; that it is there, and whose it is, stays.
    #[must_use]
    pub fn is_behind_results(&self, site: Site) -> bool {
        let Some(message) = self.messages.get(site.message) else {
            return false;
        };
        let is_result = |block: &Block<'_>| block.kind == BlockKind::ToolResult;
        self.format == WireFormat::Messages
            && message.role == Role::User
            && message.content == Content::List
            && message.blocks.iter().rposition(is_result) == Some(site.block)
    }

    /// Behind the results of tools that the model has not heard yet; `None` where there are none.
    #[must_use]
    pub fn newest_results(&self) -> Option<Site> {
        let sites = (self.tail()..self.messages.len()).rev().flat_map(|message| {
            let blocks = 0..self.messages[message].blocks.len();
            blocks.rev().map(move |block| Site { message, block })
        });
        sites.into_iter().find(|site| self.is_behind_results(*site))
    }

    /// The insertions that put `block` at `site`, in the format's own way.
    #[must_use]
    pub fn insert(&self, site: Site, block: &str) -> Vec<Insertion> {
        let Some(message) = self.messages.get(site.message) else {
            return Vec::new();
        };
        let takes = |block: &&Block<'_>| block.text.is_some() || self.is_behind_results(site);
        let Some(target) = message.blocks.get(site.block).filter(takes) else {
            return Vec::new();
        };
        let literal = serde_json::Value::from(block).to_string();
        match (self.format, message.content) {
            (_, Content::None) => Vec::new(),
            (WireFormat::Chat, _) => chat::insert(self.body, target, &literal),
            (WireFormat::Messages, Content::List) => vec![Insertion::new(
                target.end_in(self.body),
                format!(r#",{{"type":"text","text":{literal}}}"#),
            )],
            (WireFormat::Messages, Content::String(theirs) | Content::Bare(theirs)) => wrap(
                &span(self.body, theirs),
                r#"[{"type":"text","text":"#,
                &format!(r#"}},{{"type":"text","text":{literal}}}]"#),
            ),
            (WireFormat::Responses, Content::List) => vec![Insertion::new(
                target.end_in(self.body),
                format!(r#",{{"type":"input_text","text":{literal}}}"#),
            )],
            (WireFormat::Responses, Content::Bare(theirs)) => wrap(
                &span(self.body, theirs),
                r#"[{"type":"message","role":"user","content":[{"type":"input_text","text":"#,
                &format!(r#"}},{{"type":"input_text","text":{literal}}}]}}]"#),
            ),
            (WireFormat::Responses, Content::String(theirs)) => wrap(
                &span(self.body, theirs),
                r#"[{"type":"input_text","text":"#,
                &format!(r#"}},{{"type":"input_text","text":{literal}}}]"#),
            ),
        }
    }
}

fn wrap(span: &Range<usize>, before: &str, after: &str) -> Vec<Insertion> {
    vec![
        Insertion::new(span.start, before.to_owned()),
        Insertion::new(span.end, after.to_owned()),
    ]
}

/// Blocks of a `content` member that is a string or an array of objects with a `type`.
pub(super) fn content<'a>(
    content: Option<&'a str>,
    mut kind_of: impl FnMut(&str, &Members<'a>) -> BlockKind,
    of_string: BlockKind,
) -> (Content<'a>, Vec<Block<'a>>) {
    let Some(raw) = content else {
        return (Content::None, Vec::new());
    };
    if let Some(text) = Text::of(raw) {
        return (Content::String(raw), vec![Block::of_string(of_string, text)]);
    }
    let Some(elements) = elements(raw) else {
        return (Content::None, Vec::new());
    };
    let block = |element: Element<'a>| {
        let members = element.object().unwrap_or_default();
        let name = members.string("type").unwrap_or_default();
        let (kind, text) = match kind_of(&name, &members) {
            BlockKind::Text => match members.text("text") {
                Some(text) => (BlockKind::Text, Some(text)),
                None => (BlockKind::Other, None),
            },
            kind => (kind, None),
        };
        let last = members.last().unwrap_or_default();
        Block { kind, text, last }
    };
    (Content::List, elements.into_iter().map(block).collect())
}

/// The member `tools`, where it is a list that is not empty.
pub(super) fn declared_tools<'a>(members: &Members<'a>) -> Option<&'a str> {
    let tools = members.get("tools")?;
    (tools.starts_with('[') && tools[1..].trim_ascii_start() != "]").then_some(tools)
}

/// The role that a name stands for.
pub(super) fn role(name: Option<Text<'_>>) -> Role {
    match name.map(Text::decode).as_deref() {
        Some("system" | "developer") => Role::System,
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("tool" | "function") => Role::Tool,
        _ => Role::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inject::splice;

    fn spliced(format: WireFormat, body: &str, site: Site) -> String {
        let prompt = Prompt::parse(format, body.as_bytes()).unwrap();
        String::from_utf8(splice(body.as_bytes().to_vec(), prompt.insert(site, "B\"\n")).to_vec()).unwrap()
    }

    const FIRST: Site = Site { message: 0, block: 0 };

    #[test]
    fn each_format_takes_a_block_in_its_own_way() {
        let cases = [
            (
                WireFormat::Messages,
                r#"{"messages":[{"role":"user","content":"hi"}]}"#,
                r#"{"messages":[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"text","text":"B\"\n"}]}]}"#,
            ),
            (
                WireFormat::Messages,
                r#"{"messages":[{"content":[ {"type":"text","text":"hi","cache_control":{}} ],"role":"user"}]}"#,
                r#"{"messages":[{"content":[ {"type":"text","text":"hi","cache_control":{}},{"type":"text","text":"B\"\n"} ],"role":"user"}]}"#,
            ),
            (
                WireFormat::Chat,
                r#"{"messages":[{"role":"user","content":"hi"}]}"#,
                r#"{"messages":[{"role":"user","content":"hi\n\nB\"\n"}]}"#,
            ),
            (
                WireFormat::Chat,
                r#"{"messages":[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":{}}]}]}"#,
                r#"{"messages":[{"role":"user","content":[{"type":"text","text":"hi\n\nB\"\n"},{"type":"image_url","image_url":{}}]}]}"#,
            ),
            (
                WireFormat::Messages,
                r#"{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"x"}]}]}]}"#,
                r#"{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"x"}]},{"type":"text","text":"B\"\n"}]}]}"#,
            ),
            (
                WireFormat::Responses,
                r#"{"input":"hi"}"#,
                r#"{"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"},{"type":"input_text","text":"B\"\n"}]}]}"#,
            ),
            (
                WireFormat::Responses,
                r#"{"input":[{"role":"user","content":"hi"}]}"#,
                r#"{"input":[{"role":"user","content":[{"type":"input_text","text":"hi"},{"type":"input_text","text":"B\"\n"}]}]}"#,
            ),
            (
                WireFormat::Responses,
                r#"{"input":[{"role":"user","content":[{"type":"input_text","text":"hi"}]}]}"#,
                r#"{"input":[{"role":"user","content":[{"type":"input_text","text":"hi"},{"type":"input_text","text":"B\"\n"}]}]}"#,
            ),
        ];
        for (format, body, expected) in cases {
            assert_eq!(spliced(format, body, FIRST), expected);
        }
    }

    #[test]
    fn bad_bodies_are_told_apart() {
        let parse = |body: &[u8]| Prompt::parse(WireFormat::Chat, body).map(|_| ()).unwrap_err();
        assert!(matches!(parse(b"{\"messages\":[}"), ParseError::Json(_)));
        assert!(matches!(parse(b"{\"messages\":[]} x"), ParseError::Json(_)));
        assert!(matches!(parse(b"\xff\xfe"), ParseError::Json(_)));
        assert_eq!(parse(b"[1]"), ParseError::NotAnObject);
        assert_eq!(parse(b"{}"), ParseError::Missing("messages"));
        assert_eq!(
            parse(b"{\"messages\":3}"),
            ParseError::WrongType("messages", "an array")
        );
    }

    #[test]
    fn deep_nesting_is_neither_followed_nor_fatal() {
        let deep = format!(
            r#"{{"messages":[],"x":{}{}}}"#,
            "[".repeat(200_000),
            "]".repeat(200_000)
        );
        assert!(Prompt::parse(WireFormat::Chat, deep.as_bytes()).is_ok());
        let content = format!(
            r#"{{"messages":[{{"role":"user","content":{}{}}}]}}"#,
            "[".repeat(200_000),
            "]".repeat(200_000)
        );
        assert!(Prompt::parse(WireFormat::Messages, content.as_bytes()).is_ok());
    }

    #[test]
    fn behind_results_is_after_the_last_of_a_message_and_only_in_messages() {
        let result = |id: &str| format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":"x"}}"#);
        let body = format!(
            r#"{{"messages":[{{"role":"user","content":"a"}},{{"role":"assistant","content":"b"}},{{"role":"user","content":[{},{},{{"type":"text","text":"more"}}]}},{{"role":"system","content":"c"}}]}}"#,
            result("1"),
            result("2")
        );
        let prompt = Prompt::parse(WireFormat::Messages, body.as_bytes()).unwrap();
        assert_eq!(prompt.newest_results(), Some(Site { message: 2, block: 1 }));
        assert!(!prompt.is_behind_results(Site { message: 2, block: 0 }));
        let chat = Prompt::parse(WireFormat::Chat, body.as_bytes()).unwrap();
        assert_eq!(chat.newest_results(), None);
    }

    #[test]
    fn tools_are_seen_wherever_a_client_declares_them() {
        let tools = r#"[{"type":"function","name":"f"}]"#;
        for (format, body, has_tools) in [
            (WireFormat::Chat, format!(r#"{{"messages":[],"tools":{tools}}}"#), true),
            (WireFormat::Chat, r#"{"messages":[],"tools":[ ]}"#.to_owned(), false),
            (
                WireFormat::Responses,
                format!(
                    r#"{{"input":[{{"type":"additional_tools","role":"developer","tools":{tools}}},{{"role":"user","content":"a"}}]}}"#
                ),
                true,
            ),
            (
                WireFormat::Responses,
                format!(r#"{{"input":[{{"type":"tool_search_output","call_id":"c","tools":{tools}}}],"tools":[]}}"#),
                true,
            ),
            (
                WireFormat::Responses,
                r#"{"input":[{"type":"additional_tools","tools":[]},{"role":"user","content":"a"}]}"#.to_owned(),
                false,
            ),
            (
                WireFormat::Responses,
                format!(r#"{{"input":[{{"role":"user","content":"a","tools":{tools}}}]}}"#),
                false,
            ),
        ] {
            let prompt = Prompt::parse(format, body.as_bytes()).unwrap();
            assert_eq!(prompt.has_tools(), has_tools, "{body}");
            assert_eq!(prompt.tool_names(), vec!["f"; usize::from(has_tools)], "{body}");
        }
    }

    #[test]
    fn the_tail_starts_after_the_models_last_word() {
        let body = br#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"tool","content":"c"},{"role":"user","content":"d"}]}"#;
        assert_eq!(Prompt::parse(WireFormat::Chat, body).unwrap().tail(), 2);
    }
}
