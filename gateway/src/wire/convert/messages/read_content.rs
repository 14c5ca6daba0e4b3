//! What a message holds.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::super::ids;
use super::super::request::{Dropped, Message, Part, Source, Speaker, Thinking, ToolCall, ToolResult};
use super::read_request::{present, string};
use super::reminder;
use crate::wire::scan::elements;
use crate::wire::{Members, Text};

/// Reads one message, `None` where it is no object.
pub(super) fn message<'a>(raw: &'a str, dropped: &mut Dropped) -> Option<Message<'a>> {
    let Some(members) = Members::of(raw) else {
        dropped.add("messages");
        return None;
    };
    let speaker = match string(&members, "role").as_deref() {
        Some("assistant") => Speaker::Assistant,
        Some("system" | "developer") => Speaker::System,
        // Every other name that clients have come up with was one for the user's side.
        _ => Speaker::User,
    };
    Some(Message {
        speaker,
        parts: content(members.get("content"), dropped),
    })
}

/// Reads content: a string, which is the same as one text block, or blocks.
pub(super) fn content<'a>(raw: Option<&'a str>, dropped: &mut Dropped) -> Vec<Part<'a>> {
    let mut parts = Vec::new();
    for item in items(raw) {
        match item {
            Item::Text(text) => push_text(Some(text), None, &mut parts),
            Item::Block(members, kind) => block(&members, &kind, &mut parts, dropped),
        }
    }
    parts
}

/// One element of content.
enum Item<'a> {
    /// A string, which stands for a text block.
    Text(Cow<'a, str>),
    /// A block and its type.
    Block(Members<'a>, Cow<'a, str>),
}

fn items(raw: Option<&str>) -> Vec<Item<'_>> {
    let Some(raw) = raw else { return Vec::new() };
    let blocks = elements(raw).unwrap_or_else(|| vec![raw]);
    let items = blocks.into_iter().filter_map(|block| {
        if let Some(text) = Text::of(block) {
            return Some(Item::Text(text.decode()));
        }
        let members = Members::of(block)?;
        let kind = string(&members, "type").unwrap_or(Cow::Borrowed("text"));
        Some(Item::Block(members, kind))
    });
    items.collect()
}

fn block<'a>(members: &Members<'a>, kind: &str, parts: &mut Vec<Part<'a>>, dropped: &mut Dropped) {
    match kind {
        "thinking" => parts.push(Part::Thinking(Thinking {
            text: string(members, "thinking").unwrap_or_default(),
            seal: string(members, "signature").filter(|seal| !seal.is_empty()),
        })),
        "redacted_thinking" => parts.push(Part::Thinking(Thinking {
            text: Cow::Borrowed(""),
            seal: string(members, "data"),
        })),
        "tool_use" => parts.push(Part::ToolCall(ToolCall {
            id: id(members, "id"),
            name: string(members, "name").unwrap_or_default(),
            arguments: present(members, "input").map_or(Cow::Borrowed("{}"), |input| Cow::Borrowed(input.get())),
        })),
        "tool_result" => {
            let mut inner = Vec::new();
            for item in items(members.get("content")) {
                match item {
                    Item::Text(text) => push_text(Some(text), None, &mut inner),
                    Item::Block(members, kind) => material(&members, &kind, &mut inner, dropped),
                }
            }
            parts.push(Part::ToolResult(ToolResult {
                call: id(members, "tool_use_id"),
                parts: inner,
                is_error: members.parse("is_error").unwrap_or(false),
            }));
        }
        // What was said before a conversation was cut short by the vendor.
        "compaction" => push_text(string(members, "content"), None, parts),
        "mid_conv_system" => {
            let text = texts(members.get("content"));
            if !text.is_empty() {
                parts.push(Part::text(reminder(&text).into_owned()));
            }
        }
        _ => material(members, kind, parts, dropped),
    }
}

/// An id as the backend that made the call knows it.
fn id<'a>(members: &Members<'a>, key: &str) -> Cow<'a, str> {
    match string(members, key).unwrap_or_default() {
        Cow::Borrowed(id) => ids::unwrap("toolu_", id),
        Cow::Owned(id) => Cow::Owned(ids::unwrap("toolu_", &id).into_owned()),
    }
}

/// Reads what can stand in a message and in a tool's result.
fn material<'a>(members: &Members<'a>, kind: &str, parts: &mut Vec<Part<'a>>, dropped: &mut Dropped) {
    match kind {
        "text" => push_text(string(members, "text"), present(members, "cache_control"), parts),
        "image" => match source(members, "image/png") {
            Some(source) => parts.push(Part::Image { source, detail: None }),
            None => dropped.add("messages.image"),
        },
        "document" => document(members, parts, dropped),
        "search_result" => {
            let head = [string(members, "title"), string(members, "source")];
            let mut text = head.into_iter().flatten().collect::<Vec<_>>().join("\n");
            text.push_str("\n\n");
            text.push_str(&texts(members.get("content")));
            push_text(
                Some(text.trim().to_owned().into()),
                present(members, "cache_control"),
                parts,
            );
        }
        // The vendor would show the model the tool's definition here; elsewhere it was shown from the beginning.
        "tool_reference" => {
            let name = string(members, "tool_name").unwrap_or_default();
            parts.push(Part::text(format!("The tool {name} can be called.")));
        }
        // Among them what the vendor's own tools did (`server_tool_use` and its results): those are mostly sealed, and
        // what the model said of them follows as text.
        kind => dropped.add(format!("messages.{kind}")),
    }
}

fn push_text<'a>(text: Option<Cow<'a, str>>, cache_control: Option<&'a RawValue>, parts: &mut Vec<Part<'a>>) {
    if let Some(text) = text.filter(|text| !text.is_empty()) {
        parts.push(Part::Text { text, cache_control });
    }
}

/// All text of some content.
fn texts(raw: Option<&str>) -> String {
    let texts = items(raw).into_iter().filter_map(|item| match item {
        Item::Text(text) => Some(text),
        Item::Block(members, _) => string(&members, "text"),
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

/// `source`, `None` where it is of no kind that is known.
fn source<'a>(members: &Members<'a>, media_type: &'static str) -> Option<Source<'a>> {
    let source = members.get("source").and_then(Members::of)?;
    match &*string(&source, "type")? {
        "base64" => Some(Source::Base64 {
            media_type: string(&source, "media_type").unwrap_or(Cow::Borrowed(media_type)),
            data: string(&source, "data")?,
        }),
        "text" => string(&source, "data").map(Source::Text),
        "url" => string(&source, "url").map(Source::Url),
        "file" => string(&source, "file_id").map(Source::File),
        _ => None,
    }
}

fn document<'a>(members: &Members<'a>, parts: &mut Vec<Part<'a>>, dropped: &mut Dropped) {
    let name = string(members, "title").filter(|name| !name.is_empty());
    let citations = members.get("citations").and_then(Members::of).unwrap_or_default();
    if citations.parse("enabled") == Some(true) {
        dropped.add("messages.document.citations");
    }
    // What the client says about the document is for the model too.
    push_text(string(members, "context"), None, parts);
    if let Some(source) = source(members, "application/pdf") {
        parts.push(Part::Document { source, name });
        return;
    }
    let inner = members.get("source").and_then(Members::of).unwrap_or_default();
    let Some(content) = present(&inner, "content").map(RawValue::get) else {
        dropped.add("messages.document");
        return;
    };
    let source = Source::Text(texts(Some(content)).into());
    parts.push(Part::Document { source, name });
    for item in items(Some(content)) {
        if let Item::Block(members, kind) = item
            && kind == "image"
        {
            material(&members, &kind, parts, dropped);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &str) -> (String, Vec<String>) {
        let mut dropped = Dropped::default();
        let body = format!(r#"{{"role":"user","content":{content}}}"#);
        let message = message(&body, &mut dropped).unwrap();
        let dropped = dropped.iter().map(|(name, _)| name.to_owned()).collect();
        (format!("{:?}", message.parts), dropped)
    }

    #[test]
    fn a_string_is_one_text_block() {
        let as_block = r#"[{"type":"text","text":"a\nb"}]"#;
        assert_eq!(read(r#""a\nb""#), read(as_block));
        assert_eq!(read(r#"["a\nb"]"#), read(as_block));
        assert_eq!(read(r#"[{"text":"a\nb"}]"#), read(as_block));
        for nothing in ["null", "[]", r#""""#, "[null,7]", r#"[{"type":"text","text":""}]"#] {
            assert_eq!(read(nothing).0, "[]", "{nothing}");
        }
    }

    #[test]
    fn blocks_are_read_as_what_they_are_or_dropped_by_name() {
        for (block, holds, gone) in [
            (
                r#"{"type":"image","source":{"type":"url","url":"http://x/a.png"}}"#,
                "Url(",
                "",
            ),
            (r#"{"type":"image","source":{"type":"film"}}"#, "[]", "messages.image"),
            (
                r#"{"type":"document","source":{"type":"text","media_type":"text/plain","data":"D"},"title":"T"}"#,
                "\"T\"",
                "",
            ),
            (
                r#"{"type":"document","source":{"type":"base64","data":"JVBE"}}"#,
                "application/pdf",
                "",
            ),
            (
                r#"{"type":"document","source":{"type":"content","content":[{"type":"text","text":"A"},{"type":"text","text":"B"}]}}"#,
                "Text(\"A\\n\\nB\")",
                "",
            ),
            (
                r#"{"type":"document","source":{"type":"content","content":"A"},"citations":{"enabled":true}}"#,
                "Text(\"A\")",
                "messages.document.citations",
            ),
            (r#"{"type":"document"}"#, "[]", "messages.document"),
            (
                r#"{"type":"search_result","source":"http://x","title":"T","content":[{"type":"text","text":"A"}]}"#,
                "T\\nhttp://x\\n\\nA",
                "",
            ),
            (
                r#"{"type":"thinking","thinking":"hm","signature":"muninn-1"}"#,
                "muninn-1",
                "",
            ),
            (r#"{"type":"redacted_thinking","data":"xyz"}"#, "xyz", ""),
            (
                r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{}}"#,
                "[]",
                "messages.server_tool_use",
            ),
            (
                r#"{"type":"web_search_tool_result","tool_use_id":"s","content":[]}"#,
                "[]",
                "messages.web_search_tool_result",
            ),
            (
                r#"{"type":"container_upload","file_id":"f"}"#,
                "[]",
                "messages.container_upload",
            ),
            (
                r#"{"type":"mid_conv_system","content":[{"type":"text","text":"S"}]}"#,
                "<system-reminder>\\nS\\n</system-reminder>",
                "",
            ),
            (r#"{"type":"compaction","content":"before"}"#, "before", ""),
            (r#"{"type":"compaction","content":null}"#, "[]", ""),
            (
                r#"{"type":"tool_result","tool_use_id":"toolu_m_functions_2ebash_3a0","is_error":true,"content":"no"}"#,
                "functions.bash:0",
                "",
            ),
            (
                r#"{"type":"tool_result","tool_use_id":"t","content":[{"type":"tool_reference","tool_name":"X"},{"type":"image","source":{"type":"base64","data":"AA"}}]}"#,
                "image/png",
                "",
            ),
            (
                r#"{"type":"tool_use","id":"t","name":"Bash","input":{"a": 1.0}}"#,
                r#"{\"a\": 1.0}"#,
                "",
            ),
        ] {
            let (parts, dropped) = read(&format!("[{block}]"));
            assert!(parts.contains(holds), "{block}: {parts}");
            assert_eq!(dropped.join(","), gone, "{block}");
        }
    }
}
