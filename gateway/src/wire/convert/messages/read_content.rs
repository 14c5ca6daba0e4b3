//! The system text and the messages of a request from a client.

use std::borrow::Cow;

use super::super::ids;
use super::super::request::{Dropped, Message, Part, Source, Speaker, Thinking, ToolCall, ToolResult};
use super::look::{marker, object, text, unread};
use crate::wire::scan::{Text, elements};
use crate::wire::{Members, ParseError};

/// What our ids of calls begin with, as this format's clients expect.
const CALL: &str = "toolu_";

/// How Claude Code's line of attribution begins, the first of its system text. It is meant for the vendor and differs
/// from request to request: in front of all else, it would end every prefix in another backend's cache.
const BILLING: &str = "x-anthropic-billing-header";

/// The members of blocks that are read, or that no model needs: `citations` of text that was written already, and who
/// made a call.
const READ: &[&str] = &[
    "type",
    "cache_control",
    "text",
    "citations",
    "source",
    "title",
    "thinking",
    "signature",
    "data",
    "id",
    "name",
    "input",
    "caller",
    "tool_use_id",
    "content",
    "is_error",
    "tool_name",
];

/// Reads the system text, then the messages in their order.
///
/// # Errors
/// [`ParseError`] where a message is no object.
pub(super) fn messages<'a>(
    members: &Members<'a>,
    list: &[&'a str],
    dropped: &mut Dropped,
) -> Result<Vec<Message<'a>>, ParseError> {
    let mut messages = Vec::with_capacity(list.len() + 1);
    let mut parts = Vec::new();
    content(members.get("system"), &mut parts, dropped);
    parts.retain_mut(|part| keeps_without_billing(part, dropped));
    if !parts.is_empty() {
        messages.push(Message {
            speaker: Speaker::System,
            parts,
        });
    }
    for raw in list {
        let members = Members::of(raw).ok_or(ParseError::WrongType("messages", "an array of objects"))?;
        messages.push(message(&members, dropped));
    }
    Ok(messages)
}

fn keeps_without_billing(part: &mut Part<'_>, dropped: &mut Dropped) -> bool {
    let Part::Text { text, .. } = part else { return true };
    if !text.starts_with(BILLING) {
        return true;
    }
    dropped.add("system.billing_header");
    // It is a block of its own, or the first line of all the text.
    let Some((_, rest)) = text.split_once('\n') else {
        return false;
    };
    *text = rest.trim_start_matches('\n').to_owned().into();
    !text.is_empty()
}

fn message<'a>(members: &Members<'a>, dropped: &mut Dropped) -> Message<'a> {
    let speaker = match text(members, "role").as_deref() {
        Some("system" | "developer") => Speaker::System,
        Some("assistant") => Speaker::Assistant,
        Some("user") | None => Speaker::User,
        Some(_) => {
            dropped.add("messages.role");
            Speaker::User
        }
    };
    unread(members, &["role", "content"], "messages.", dropped);
    let mut parts = Vec::new();
    content(members.get("content"), &mut parts, dropped);
    Message { speaker, parts }
}

/// Text, or a list of blocks.
fn content<'a>(raw: Option<&'a str>, parts: &mut Vec<Part<'a>>, dropped: &mut Dropped) {
    let Some(raw) = raw.filter(|raw| *raw != "null") else {
        return;
    };
    if let Some(text) = Text::of(raw) {
        parts.push(Part::text(text.decode()));
    } else if let Some(list) = elements(raw) {
        list.into_iter().for_each(|raw| block(raw, parts, dropped));
    } else {
        dropped.add("messages.content");
    }
}

fn block<'a>(raw: &'a str, parts: &mut Vec<Part<'a>>, dropped: &mut Dropped) {
    if let Some(text) = Text::of(raw) {
        parts.push(Part::text(text.decode()));
        return;
    }
    let members = Members::of(raw).unwrap_or_default();
    let kind = text(&members, "type").unwrap_or_else(|| guessed(&members).into());
    let before = parts.len();
    match &*kind {
        "text" => parts.extend(members.text("text").map(|text| Part::Text {
            text: text.decode(),
            cache_control: marker(&members),
        })),
        "image" => parts.extend(image(&members)),
        "document" => document(&members, parts, dropped),
        "search_result" => parts.extend(search_result(&members)),
        "thinking" => parts.push(Part::Thinking(Thinking {
            text: text(&members, "thinking").unwrap_or_default(),
            seal: text(&members, "signature"),
        })),
        "redacted_thinking" => parts.extend(text(&members, "data").map(|data| {
            Part::Thinking(Thinking {
                text: Cow::default(),
                seal: Some(data),
            })
        })),
        "tool_use" => parts.extend(text(&members, "name").map(|name| {
            Part::ToolCall(ToolCall {
                id: id(&members, "id"),
                name,
                arguments: arguments(&members),
            })
        })),
        "tool_result" => parts.push(Part::ToolResult(tool_result(&members, dropped))),
        "tool_reference" => parts.extend(text(&members, "tool_name").map(loaded)),
        // What the vendor summed up of the conversation before it.
        "compaction" => parts.extend(text(&members, "content").map(Part::text)),
        kind if kind.ends_with("_tool_result") => parts.extend(of_server_tool(&members)),
        _ => {}
    }
    if parts.len() == before {
        dropped.add(format!("messages.{kind}"));
        return;
    }
    unread(&members, READ, &format!("messages.{kind}."), dropped);
    if kind != "text" && marker(&members).is_some() {
        dropped.add("messages.cache_control");
    }
}

/// The kind of a block that does not say it.
fn guessed(members: &Members<'_>) -> &'static str {
    [
        ("text", "text"),
        ("tool_use_id", "tool_result"),
        ("input", "tool_use"),
        ("thinking", "thinking"),
    ]
    .into_iter()
    .find(|(key, _)| members.get(key).is_some())
    .map_or("content", |(_, kind)| kind)
}

fn id<'a>(members: &Members<'a>, key: &str) -> Cow<'a, str> {
    match text(members, key) {
        Some(Cow::Borrowed(id)) => ids::unwrap(CALL, id),
        Some(Cow::Owned(id)) => ids::unwrap(CALL, &id).into_owned().into(),
        None => Cow::default(),
    }
}

fn arguments<'a>(members: &Members<'a>) -> Cow<'a, str> {
    match members.get("input").filter(|raw| !matches!(*raw, "null" | "\"\"")) {
        Some(raw) => Text::of(raw).map_or(Cow::Borrowed(raw), Text::decode),
        None => "{}".into(),
    }
}

fn tool_result<'a>(members: &Members<'a>, dropped: &mut Dropped) -> ToolResult<'a> {
    let mut parts = Vec::new();
    content(members.get("content"), &mut parts, dropped);
    ToolResult {
        call: id(members, "tool_use_id"),
        parts,
        is_error: members.get("is_error") == Some("true"),
    }
}

fn loaded(tool: Cow<'_, str>) -> Part<'_> {
    Part::text(format!("The tool {tool} can be called now."))
}

fn source<'a>(source: &Members<'a>) -> Option<Source<'a>> {
    match text(source, "type").as_deref() {
        Some("base64") => Some(Source::Base64 {
            media_type: text(source, "media_type")?,
            data: text(source, "data")?,
        }),
        Some("text") => Some(Source::Text(text(source, "data")?)),
        Some("url") => Some(Source::Url(text(source, "url")?)),
        Some("file") => Some(Source::File(text(source, "file_id")?)),
        _ => None,
    }
}

fn image<'a>(members: &Members<'a>) -> Option<Part<'a>> {
    Some(Part::Image {
        source: source(&object(members, "source"))?,
        detail: None,
    })
}

fn document<'a>(members: &Members<'a>, parts: &mut Vec<Part<'a>>, dropped: &mut Dropped) {
    let from = object(members, "source");
    let name = text(members, "title");
    if let Some(source) = source(&from) {
        parts.push(Part::Document { source, name });
        return;
    }
    // A document made of blocks: its text is one, its images stand behind it.
    let mut inner = Vec::new();
    content(from.get("content"), &mut inner, dropped);
    let mut words = Vec::new();
    inner.retain(|part| match part {
        Part::Text { text, .. } => {
            words.push(text.clone());
            false
        }
        _ => true,
    });
    if !words.is_empty() {
        parts.push(Part::Document {
            source: Source::Text(words.join("\n\n").into()),
            name,
        });
    }
    parts.append(&mut inner);
}

fn search_result<'a>(members: &Members<'a>) -> Option<Part<'a>> {
    let mut lines: Vec<_> = ["title", "source"]
        .into_iter()
        .filter_map(|key| text(members, key))
        .collect();
    lines.extend(words(members.get("content")));
    (!lines.is_empty()).then(|| Part::text(lines.join("\n")))
}

/// What a tool of the vendor's found or printed, as far as it is text.
fn of_server_tool<'a>(members: &Members<'a>) -> Option<Part<'a>> {
    let words = words(members.get("content"));
    (!words.is_empty()).then(|| Part::text(words.join("\n")))
}

/// The texts in what holds texts somewhere: a string, a list, a block, a document in a block.
fn words(raw: Option<&str>) -> Vec<Cow<'_, str>> {
    let Some(raw) = raw else { return Vec::new() };
    if let Some(text) = Text::of(raw) {
        return Some(text.decode())
            .filter(|text| !text.is_empty())
            .into_iter()
            .collect();
    }
    if let Some(list) = elements(raw) {
        return list.into_iter().flat_map(|raw| words(Some(raw))).collect();
    }
    let members = Members::of(raw).unwrap_or_default();
    let mut found: Vec<_> = ["title", "url", "text", "stdout", "stderr", "error_code", "tool_name"]
        .into_iter()
        .filter_map(|key| text(&members, key))
        .collect();
    if text(&members, "type").is_some_and(|kind| kind == "text") {
        found.extend(text(&members, "data"));
    }
    for key in ["content", "source", "tool_references"] {
        if members.get(key).is_some_and(|raw| raw.starts_with(['{', '['])) {
            found.extend(words(members.get(key)));
        }
    }
    found
}
