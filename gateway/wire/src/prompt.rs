//! A request as turns and text blocks over the client's bytes.
//!
//! The three wire formats share one view. The ledger, the rules for side requests and the search for a question need
//! the same facts in each: the author, the order and the offset of each text. The per-format files find them.

use std::ops::Range;

use super::insertion::Insertion;
use super::message::{Block, BlockKind, Content, Message, Passage, Role};
use super::parse_error::ParseError;
use super::scan::{Body, Members, Text, span};
use super::tools::DeclaredTool;
use super::{WireFormat, chat, messages, responses};

/// A request's body as turns.
#[derive(Debug)]
pub struct Prompt<'a> {
    pub format: WireFormat,
    /// The members of the body without the conversation.
    pub members: Members<'a>,
    pub body: &'a str,
    /// Top-level system text (`system`, `instructions`).
    pub system: Vec<Passage<'a>>,
    /// The tools that the member `tools` declares.
    pub tools: Vec<DeclaredTool<'a>>,
    /// The conversation.
    pub messages: Vec<Message<'a>>,
}

/// A place for a block: directly after block `block` of message `message`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    /// Index into [`Prompt::messages`].
    pub message: usize,
    /// Index into [`Message::blocks`].
    pub block: usize,
}

impl<'a> Prompt<'a> {
    /// Reads a body.
    ///
    /// # Errors
    /// [`ParseError`] if the body is not a request of this format. Its message is for the client's user.
    pub fn parse(format: WireFormat, body: &'a [u8]) -> Result<Prompt<'a>, ParseError> {
        let body = std::str::from_utf8(body).map_err(|error| ParseError::Json(error.to_string()))?;
        let Body { mut members, conversation } = Body::with_parts(body.trim_ascii(), format.conversation())?;
        let (system, messages) = match format {
            WireFormat::Chat => (Vec::new(), chat::messages(conversation)?),
            WireFormat::Messages => (messages::system(&mut members), messages::messages(conversation)?),
            WireFormat::Responses => (responses::instructions(&members), responses::items(conversation, &members)?),
        };
        let tools = DeclaredTool::list(&mut members);
        Ok(Prompt { format, members, body, system, tools, messages })
    }

    /// The model's name from the client.
    pub fn model(&self) -> Option<Text<'a>> {
        self.members.text("model")
    }

    /// The byte range of the model's name in the body. Only this name is ever replaced, and only by a route of the
    /// user.
    pub fn model_span(&self) -> Option<Range<usize>> {
        Some(self.model()?.span_in(self.body))
    }

    /// Whether the client asked for a stream.
    pub fn stream(&self) -> bool {
        self.members.get("stream") == Some("true")
    }

    /// Whether the request declares tools, as a member or in the conversation.
    pub fn has_tools(&self) -> bool {
        self.declared_tools().next().is_some()
    }

    /// The names of the tools that the client declares, as a member or in the conversation.
    pub fn tool_names(&self) -> impl Iterator<Item = &str> {
        self.declared_tools().filter_map(|tool| tool.name.as_deref())
    }

    fn declared_tools(&self) -> impl Iterator<Item = &DeclaredTool<'a>> {
        self.tools.iter().chain(self.messages.iter().flat_map(|message| &message.declared))
    }

    /// The index of the first message after the model's last one, where the newest turn starts.
    pub fn tail(&self) -> usize {
        self.messages.iter().rposition(|message| message.role == Role::Assistant).map_or(0, |index| index + 1)
    }

    /// Whether a block can be inserted after this one and be found again in later requests: after non-empty text of a
    /// user message. Images are excluded because clients add and remove them after the same text. Tool results are
    /// excluded because clients truncate them later.
    pub fn is_boundary(&self, site: Site) -> bool {
        let message = self.messages.get(site.message);
        let block = message.and_then(|message| message.blocks.get(site.block));
        let has_text = |text: &Passage<'_>| !text.decoded().trim_end().is_empty();
        message.is_some_and(|message| message.role == Role::User)
            && block.and_then(|block| block.text.as_ref()).is_some_and(has_text)
    }

    /// Whether a block can be inserted after this tool result: the last one of a user message in the messages format,
    /// the only format with text beside results. Clients may truncate a result later, but the result and its call's id
    /// stay.
    pub fn is_after_results(&self, site: Site) -> bool {
        let Some(message) = self.messages.get(site.message) else {
            return false;
        };
        let is_result = |block: &Block<'_>| block.kind == BlockKind::ToolResult;
        self.format == WireFormat::Messages
            && message.role == Role::User
            && message.content == Content::List
            && message.blocks.iter().rposition(is_result) == Some(site.block)
    }

    /// The site after the tool results that the model has not seen yet; `None` without such results.
    pub fn newest_results(&self) -> Option<Site> {
        let mut sites = (self.tail()..self.messages.len()).rev().flat_map(|message| {
            let blocks = 0..self.messages[message].blocks.len();
            blocks.rev().map(move |block| Site { message, block })
        });
        sites.find(|site| self.is_after_results(*site))
    }

    /// The insertions that add `block` at `site` in the request's format. Empty if a block cannot stand there.
    pub fn insert(&self, site: Site, block: &str) -> Vec<Insertion> {
        let Some(message) = self.messages.get(site.message) else {
            return Vec::new();
        };
        let takes_block = |block: &&Block<'_>| block.text.is_some() || self.is_after_results(site);
        let Some(target) = message.blocks.get(site.block).filter(takes_block) else {
            return Vec::new();
        };
        let literal = serde_json::Value::from(block).to_string();
        let kind = match self.format {
            WireFormat::Responses => "input_text",
            WireFormat::Chat | WireFormat::Messages => "text",
        };
        let object = format!(r#"{{"type":"{kind}","text":{literal}}}"#);
        match (self.format, message.content) {
            (_, Content::None) => Vec::new(),
            (WireFormat::Chat, _) => chat::insert(self.body, target, &literal),
            (_, Content::List) => vec![Insertion::new(target.end_in(self.body), format!(",{object}"))],
            (WireFormat::Responses, Content::Bare(original)) => wrap(
                &span(self.body, original),
                r#"[{"type":"message","role":"user","content":[{"type":"input_text","text":"#,
                &format!("}},{object}]}}]"),
            ),
            (_, Content::String(original) | Content::Bare(original)) => {
                wrap(&span(self.body, original), &format!(r#"[{{"type":"{kind}","text":"#), &format!("}},{object}]"))
            }
        }
    }
}

fn wrap(span: &Range<usize>, before: &str, after: &str) -> Vec<Insertion> {
    vec![Insertion::new(span.start, before.to_owned()), Insertion::new(span.end, after.to_owned())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::splice;

    fn spliced(format: WireFormat, body: &str, site: Site) -> String {
        let prompt = Prompt::parse(format, body.as_bytes()).unwrap();
        String::from_utf8(splice(body.as_bytes().to_vec(), prompt.insert(site, "B\"\n")).to_vec()).unwrap()
    }

    const FIRST: Site = Site { message: 0, block: 0 };

    #[test]
    fn blocks_are_inserted_in_each_format() {
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
    fn invalid_bodies_have_distinct_errors() {
        let parse = |body: &[u8]| Prompt::parse(WireFormat::Chat, body).map(|_| ()).unwrap_err();
        assert!(matches!(parse(b"{\"messages\":[}"), ParseError::Json(_)));
        assert!(matches!(parse(b"{\"messages\":[]} x"), ParseError::Json(_)));
        assert!(matches!(parse(b"\xff\xfe"), ParseError::Json(_)));
        assert_eq!(parse(b"[1]"), ParseError::NotAnObject);
        assert_eq!(parse(b"{}"), ParseError::Missing("messages"));
        assert_eq!(parse(b"{\"messages\":3}"), ParseError::WrongType("messages", "an array"));
    }

    #[test]
    fn deeply_nested_bodies_are_parsed() {
        let deep = format!(r#"{{"messages":[],"x":{}{}}}"#, "[".repeat(200_000), "]".repeat(200_000));
        assert!(Prompt::parse(WireFormat::Chat, deep.as_bytes()).is_ok());
        let content =
            format!(r#"{{"messages":[{{"role":"user","content":{}{}}}]}}"#, "[".repeat(200_000), "]".repeat(200_000));
        assert!(Prompt::parse(WireFormat::Messages, content.as_bytes()).is_ok());
    }

    #[test]
    fn blocks_follow_the_last_tool_result_only_in_messages() {
        let result = |id: &str| format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":"x"}}"#);
        let body = format!(
            r#"{{"messages":[{{"role":"user","content":"a"}},{{"role":"assistant","content":"b"}},{{"role":"user","content":[{},{},{{"type":"text","text":"more"}}]}},{{"role":"system","content":"c"}}]}}"#,
            result("1"),
            result("2")
        );
        let prompt = Prompt::parse(WireFormat::Messages, body.as_bytes()).unwrap();
        assert_eq!(prompt.newest_results(), Some(Site { message: 2, block: 1 }));
        assert!(!prompt.is_after_results(Site { message: 2, block: 0 }));
        let chat = Prompt::parse(WireFormat::Chat, body.as_bytes()).unwrap();
        assert_eq!(chat.newest_results(), None);
    }

    #[test]
    fn tools_are_found_in_the_body_and_in_items() {
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
            (WireFormat::Responses, format!(r#"{{"input":[{{"role":"user","content":"a","tools":{tools}}}]}}"#), false),
        ] {
            let prompt = Prompt::parse(format, body.as_bytes()).unwrap();
            assert_eq!(prompt.has_tools(), has_tools, "{body}");
            assert_eq!(prompt.tool_names().collect::<Vec<_>>(), vec!["f"; usize::from(has_tools)], "{body}");
        }
    }

    #[test]
    fn tail_starts_after_the_models_last_message() {
        let body = br#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"tool","content":"c"},{"role":"user","content":"d"}]}"#;
        assert_eq!(Prompt::parse(WireFormat::Chat, body).unwrap().tail(), 2);
    }
}
