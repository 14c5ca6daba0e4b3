//! Reader of messages and their content.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::super::request::{Dropped, JsonStr, Message, Part, Source, Speaker, Thinking, ToolCall, ToolResult};
use super::super::{check_content, drop_unread, ids, raw_result};
use super::{CALL, reminder};
use crate::scan::Element;
use crate::{Members, ParseError};

/// Reads one message. Returns `None` if it is not an object.
pub(super) fn message<'a>(
    index: usize,
    element: Element<'a>,
    dropped: &mut Dropped,
) -> Result<Option<Message<'a>>, ParseError> {
    let Some(members) = element.object() else {
        dropped.add("messages");
        return Ok(None);
    };
    let speaker = match members.string("role").as_deref() {
        Some("assistant") => Speaker::Assistant,
        Some("system" | "developer") => Speaker::System,
        // All other roles that clients are known to send mean the user.
        _ => Speaker::User,
    };
    check_content(&members, speaker == Speaker::Assistant, "messages", index)?;
    drop_unread(&members, &["role", "content"], "messages.", dropped);
    let parts = content(members.present("content"), dropped);
    Ok(Some(Message { speaker, parts }))
}

/// Reads content: a string or a list of blocks. A string equals one text block.
pub(super) fn content<'a>(raw: Option<&'a RawValue>, dropped: &mut Dropped) -> Vec<Part<'a>> {
    let mut parts = Vec::new();
    for item in items(raw) {
        match item {
            Item::Text(text) => push_text(Some(text), None, &mut parts),
            Item::Block(members, kind) => {
                drop_members(&members, &kind, dropped);
                block(&members, &kind, &mut parts, dropped);
            }
            Item::Other => dropped.add("messages.content"),
        }
    }
    parts
}

/// An element of content.
enum Item<'a> {
    /// A string, equal to a text block.
    Text(JsonStr<'a>),
    /// A block and its type.
    Block(Members<'a>, Cow<'a, str>),
    /// Any other value.
    Other,
}

fn items(raw: Option<&RawValue>) -> Vec<Item<'_>> {
    let Some(raw) = raw else { return Vec::new() };
    let items = super::super::parts(raw).into_iter().map(|block| {
        let members = match block {
            Element::Other(raw) => return JsonStr::of(raw).map_or(Item::Other, Item::Text),
            Element::Object(members) => members,
        };
        let kind = members.string("type").unwrap_or(Cow::Borrowed("text"));
        Item::Block(members, kind)
    });
    items.collect()
}

/// Counts the members of a block that are not read. A block of an unknown type is counted as a whole.
fn drop_members(members: &Members<'_>, kind: &str, dropped: &mut Dropped) {
    // Backends of other formats cache prompts without `cache_control`.
    let read: &[&str] = match kind {
        "text" => &["cache_control", "text"],
        "image" => &["cache_control", "source"],
        "document" => &["cache_control", "source", "title", "context", "citations"],
        "search_result" => &["cache_control", "source", "title", "content"],
        "thinking" => &["thinking", "signature"],
        "redacted_thinking" => &["data"],
        "tool_use" => &["cache_control", "id", "name", "input"],
        "tool_result" => &["cache_control", "tool_use_id", "content", "is_error"],
        "tool_reference" => &["cache_control", "tool_name"],
        // The vendor checks the content by its signature.
        "compaction" => &["cache_control", "content", "signature"],
        "mid_conv_system" => &["cache_control", "content"],
        _ => return,
    };
    drop_unread(members, read, format_args!("messages.{kind}."), dropped);
}

fn block<'a>(members: &Members<'a>, kind: &str, parts: &mut Vec<Part<'a>>, dropped: &mut Dropped) {
    match kind {
        "thinking" => parts.push(Part::Thinking(Thinking {
            text: members.string("thinking").unwrap_or_default(),
            seal: members.string("signature").filter(|seal| !seal.is_empty()),
        })),
        "redacted_thinking" => {
            parts.push(Part::Thinking(Thinking { text: Cow::Borrowed(""), seal: members.string("data") }));
        }
        "tool_use" => parts.push(Part::ToolCall(ToolCall {
            id: id(members, "id"),
            name: members.string("name").unwrap_or_default(),
            arguments: members.present("input").map_or(Cow::Borrowed("{}"), |input| Cow::Borrowed(input.get())),
        })),
        "tool_result" => {
            let mut inner: Vec<_> = raw_result(members.raw("content")).map(Part::text).into_iter().collect();
            let readable = members.present("content").filter(|_| inner.is_empty());
            for item in items(readable) {
                match item {
                    Item::Text(text) => push_text(Some(text), None, &mut inner),
                    Item::Block(members, kind) => {
                        drop_members(&members, &kind, dropped);
                        content_block(&members, &kind, &mut inner, dropped);
                    }
                    Item::Other => dropped.add("messages.content"),
                }
            }
            parts.push(Part::ToolResult(ToolResult {
                call: id(members, "tool_use_id"),
                parts: inner,
                is_error: members.parse("is_error").unwrap_or(false),
            }));
        }
        // The vendor's summary of the removed beginning of the conversation.
        "compaction" => push_text(json_str(members, "content"), None, parts),
        "mid_conv_system" => {
            let text = texts(members.raw("content"));
            if !text.is_empty() {
                parts.push(Part::text(reminder(&text).into_owned()));
            }
        }
        _ => content_block(members, kind, parts, dropped),
    }
}

/// Returns the backend's id of a call.
fn id<'a>(members: &Members<'a>, key: &str) -> Cow<'a, str> {
    ids::unwrap(CALL, members.string(key).unwrap_or_default())
}

/// Reads a block that is allowed in a message and in a tool's result.
fn content_block<'a>(members: &Members<'a>, kind: &str, parts: &mut Vec<Part<'a>>, dropped: &mut Dropped) {
    match kind {
        "text" => match json_str(members, "text") {
            None => dropped.add("messages.text"),
            text => push_text(text, members.present("cache_control"), parts),
        },
        "image" => match source(members, "image/png") {
            Some(source) => parts.push(Part::Image { source, detail: None }),
            None => dropped.add("messages.image"),
        },
        "document" => document(members, parts, dropped),
        "search_result" => {
            let head = [members.string("title"), members.string("source")];
            let mut text = head.into_iter().flatten().collect::<Vec<_>>().join("\n");
            text.push_str("\n\n");
            text.push_str(&texts(members.raw("content")));
            push_text(Some(text.trim().to_owned().into()), members.present("cache_control"), parts);
        }
        // The vendor inserts the tool's definition here. Other backends have it from the beginning of the prompt.
        "tool_reference" => {
            let name = members.string("tool_name").unwrap_or_default();
            parts.push(Part::text(format!("The tool {name} can be called.")));
        }
        // This includes calls of the vendor's tools (`server_tool_use`) and their results. Most of them are encrypted,
        // and the model's text about them follows.
        kind => dropped.add(format!("messages.{kind}")),
    }
}

fn json_str<'a>(members: &Members<'a>, key: &str) -> Option<JsonStr<'a>> {
    members.raw(key).and_then(JsonStr::of)
}

fn push_text<'a>(text: Option<JsonStr<'a>>, cache_control: Option<&'a RawValue>, parts: &mut Vec<Part<'a>>) {
    if let Some(text) = text.filter(|text| !text.is_empty()) {
        parts.push(Part::Text { text, cache_control });
    }
}

/// Joins all text of content.
fn texts(raw: Option<&RawValue>) -> String {
    let texts = items(raw).into_iter().filter_map(|item| match item {
        Item::Text(text) => Some(text),
        Item::Block(members, _) => json_str(&members, "text"),
        Item::Other => None,
    });
    JsonStr::joined(texts.collect()).decode().into_owned()
}

/// Reads `source`. Returns `None` for an unknown type.
fn source<'a>(members: &Members<'a>, media_type: &'static str) -> Option<Source<'a>> {
    let source = members.get("source").and_then(Members::of)?;
    match &*source.string("type")? {
        "base64" => Some(Source::Base64 {
            media_type: source.string("media_type").unwrap_or(Cow::Borrowed(media_type)),
            data: source.string("data")?,
        }),
        "text" => source.string("data").map(Source::Text),
        "url" => source.string("url").map(Source::Url),
        "file" => source.string("file_id").map(Source::File),
        _ => None,
    }
}

fn document<'a>(members: &Members<'a>, parts: &mut Vec<Part<'a>>, dropped: &mut Dropped) {
    let name = members.string("title").filter(|name| !name.is_empty());
    let citations = members.get("citations").and_then(Members::of).unwrap_or_default();
    if citations.parse("enabled") == Some(true) {
        dropped.add("messages.document.citations");
    }
    // The model also sees the client's description of the document.
    push_text(json_str(members, "context"), None, parts);
    if let Some(source) = source(members, "application/pdf") {
        parts.push(Part::Document { source, name });
        return;
    }
    let inner = members.get("source").and_then(Members::of).unwrap_or_default();
    let Some(content) = inner.present("content") else {
        dropped.add("messages.document");
        return;
    };
    let source = Source::Text(texts(Some(content)).into());
    parts.push(Part::Document { source, name });
    for item in items(Some(content)) {
        if let Item::Block(members, kind) = item
            && kind == "image"
        {
            content_block(&members, &kind, parts, dropped);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &str) -> (String, Vec<String>) {
        let mut dropped = Dropped::default();
        let body = format!(r#"{{"role":"user","content":{content}}}"#);
        let members = Members::of(&body).unwrap();
        let message = message(0, Element::Object(members), &mut dropped).unwrap().unwrap();
        let dropped = dropped.iter().map(|(name, _)| name.to_owned()).collect();
        (format!("{:?}", message.parts), dropped)
    }

    #[test]
    fn string_content_equals_one_text_block() {
        let as_block = r#"[{"type":"text","text":"a\nb"}]"#;
        assert_eq!(read(r#""a\nb""#), read(as_block));
        assert_eq!(read(r#"["a\nb"]"#), read(as_block));
        assert_eq!(read(r#"[{"text":"a\nb"}]"#), read(as_block));
        for empty in ["[]", r#""""#, "[null,7]", r#"[{"type":"text","text":""}]"#] {
            assert_eq!(read(empty).0, "[]", "{empty}");
        }
    }

    #[test]
    fn blocks_are_read_or_dropped_by_type() {
        for (block, contained, expected) in [
            (r#"{"type":"image","source":{"type":"film"}}"#, "[]", "messages.image"),
            (r#"{"type":"document","source":{"type":"base64","data":"JVBE"}}"#, "application/pdf", ""),
            (r#"{"type":"document"}"#, "[]", "messages.document"),
            (r#"{"type":"redacted_thinking","data":"xyz"}"#, "xyz", ""),
            (
                r#"{"type":"mid_conv_system","content":[{"type":"text","text":"S"}]}"#,
                "<system-reminder>\\nS\\n</system-reminder>",
                "",
            ),
            (r#"{"type":"compaction","content":null}"#, "[]", ""),
            (
                r#"{"type":"tool_result","tool_use_id":"t","content":[{"type":"tool_reference","tool_name":"X"},{"type":"image","source":{"type":"base64","data":"AA"}}]}"#,
                "image/png",
                "",
            ),
        ] {
            let (parts, dropped) = read(&format!("[{block}]"));
            assert!(parts.contains(contained), "{block}: {parts}");
            assert_eq!(dropped.join(","), expected, "{block}");
        }
    }
}
