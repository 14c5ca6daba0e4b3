//! Reader of a request's messages.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::super::request::{Dropped, JsonStr, Message, Part, Source, Speaker, Thinking, ToolCall, ToolResult};
use super::super::{check_content, drop_unread, ids, is_empty, raw_result};
use super::{CALL, thinking};
use crate::scan::Element;
use crate::{Members, ParseError, Text};

/// The members of a message that are not counted as dropped. `name` is not converted, because no other format has it
/// and models do not need it.
const READ: &[&str] = &[
    "role", "name", "content", "refusal", "reasoning_content", "reasoning", "tool_calls", "tool_call_id",
    "cache_control",
];

/// Reads the messages in order.
pub(super) fn messages<'a>(list: Vec<Element<'a>>, dropped: &mut Dropped) -> Result<Vec<Message<'a>>, ParseError> {
    let mut messages = Vec::with_capacity(list.len());
    for (index, element) in list.into_iter().enumerate() {
        let members = element.object().ok_or(ParseError::WrongType("messages", "an array of objects"))?;
        let role = members.non_empty("role").unwrap_or_default();
        if role != "tool" {
            let optional = matches!(&*role, "assistant" | "function");
            check_content(&members, optional, "messages", index)?;
        }
        messages.extend(message(&members, dropped));
    }
    Ok(messages)
}

fn message<'a>(members: &Members<'a>, dropped: &mut Dropped) -> Option<Message<'a>> {
    let speaker = match members.non_empty("role").as_deref() {
        Some("system" | "developer") => Speaker::System,
        Some("assistant") => Speaker::Assistant,
        Some("user" | "tool") | None => Speaker::User,
        Some("function") => {
            dropped.add("messages.function");
            return None;
        }
        Some(_) => {
            dropped.add("messages.role");
            Speaker::User
        }
    };
    drop_unread(members, READ, "messages.", dropped);
    let is_result = members.string("role").as_deref() == Some("tool");
    let raw = members.raw("content");
    let mut parts = match raw_result(raw).filter(|_| is_result) {
        Some(json) => vec![Part::text(json)],
        None => content(raw, dropped),
    };
    // A cache marker on a message applies to its last part (LiteLLM, OpenRouter).
    if let Some(marker) = marker(members) {
        match parts.last_mut() {
            Some(Part::Text { cache_control, .. }) => *cache_control = cache_control.or(Some(marker)),
            _ => dropped.add("messages.cache_control"),
        }
    }
    if speaker == Speaker::Assistant {
        parts = assistant(members, parts, dropped);
    } else if is_result {
        parts = vec![Part::ToolResult(ToolResult { call: id(members, "tool_call_id"), parts, is_error: false })];
    }
    Some(Message { speaker, parts })
}

/// Returns the parts of a model's message in order: thinking, text, calls.
fn assistant<'a>(members: &Members<'a>, texts: Vec<Part<'a>>, dropped: &mut Dropped) -> Vec<Part<'a>> {
    let mut parts = Vec::with_capacity(texts.len() + 1);
    parts.extend(
        thinking(members).map(|(text, seal)| Part::Thinking(Thinking { text: text.decode(), seal: Some(seal.into()) })),
    );
    parts.extend(texts);
    parts.extend(members.non_empty("refusal").map(Part::text));
    parts.extend(members.elements("tool_calls").into_iter().filter_map(|element| call(element, dropped)));
    parts
}

fn call<'a>(element: Element<'a>, dropped: &mut Dropped) -> Option<Part<'a>> {
    let members = element.object().unwrap_or_default();
    let function = members.object("function");
    drop_unread(&members, &["index", "id", "type", "function"], "messages.tool_calls.", dropped);
    let Some(name) = function.non_empty("name") else {
        let kind = members.non_empty("type").unwrap_or("function".into());
        dropped.add(format!("messages.tool_calls.{kind}"));
        return None;
    };
    Some(Part::ToolCall(ToolCall { id: id(&members, "id"), name, arguments: arguments(&function) }))
}

/// Returns the arguments as JSON text: the decoded string, or an object in its place. `{}` if there are none.
fn arguments<'a>(function: &Members<'a>) -> Cow<'a, str> {
    let raw = function.raw("arguments").filter(|raw| !is_empty(raw));
    match raw.map(RawValue::get) {
        Some(raw) => Text::of(raw).map_or(Cow::Borrowed(raw), Text::decode),
        None => "{}".into(),
    }
}

fn id<'a>(members: &Members<'a>, key: &str) -> Cow<'a, str> {
    ids::unwrap(CALL, members.non_empty(key).unwrap_or_default())
}

fn content<'a>(raw: Option<&'a RawValue>, dropped: &mut Dropped) -> Vec<Part<'a>> {
    let Some(raw) = raw else { return Vec::new() };
    if let Some(text) = JsonStr::of(raw) {
        return vec![Part::text(text)];
    }
    if raw.get() == "null" {
        return Vec::new();
    }
    let list = super::super::parts(raw).into_iter();
    list.filter_map(|element| part(element, dropped)).collect()
}

fn part<'a>(element: Element<'a>, dropped: &mut Dropped) -> Option<Part<'a>> {
    if let Some(text) = element.text() {
        return Some(Part::text(text.decode()));
    }
    let members = element.object().unwrap_or_default();
    let kind = members.non_empty("type").unwrap_or_else(|| guess_kind(&members).into());
    let part = match &*kind {
        // `input_text` and `output_text` are names of the responses format. Some clients use them here.
        "text" | "input_text" | "output_text" => {
            members.raw("text").and_then(JsonStr::of).map(|text| Part::Text { text, cache_control: marker(&members) })
        }
        "refusal" => members.non_empty("refusal").map(Part::text),
        "image_url" => image(&members),
        "file" => file(&members.object("file")),
        _ => None,
    };
    if part.is_some() {
        let read = ["type", "text", "refusal", "image_url", "file", "cache_control"];
        drop_unread(&members, &read, "messages.content.", dropped);
    }
    match &part {
        None => dropped.add(format!("messages.{kind}")),
        Some(Part::Text { .. }) => {}
        Some(_) if marker(&members).is_some() => dropped.add("messages.cache_control"),
        Some(_) => {}
    }
    part
}

/// Returns the kind of a part without a type.
fn guess_kind(members: &Members<'_>) -> &'static str {
    ["text", "image_url", "file", "refusal"].into_iter().find(|key| members.get(key).is_some()).unwrap_or("content")
}

fn marker<'a>(members: &Members<'a>) -> Option<&'a RawValue> {
    members.raw("cache_control").filter(|marker| marker.get().starts_with('{'))
}

fn image<'a>(members: &Members<'a>) -> Option<Part<'a>> {
    let image = members.object("image_url");
    let url = image.non_empty("url").or_else(|| members.non_empty("image_url"))?;
    Some(Part::Image { source: Source::of_url(url), detail: image.non_empty("detail") })
}

fn file<'a>(file: &Members<'a>) -> Option<Part<'a>> {
    let name = file.non_empty("filename");
    let source = match file.non_empty("file_data") {
        Some(data) if data.starts_with("data:") || data.starts_with("http") => Source::of_url(data),
        // Several servers accept base64 without the head of a data URL.
        Some(data) => Source::Base64 { media_type: "application/pdf".into(), data },
        None => Source::File(file.non_empty("file_id")?),
    };
    Some(Part::Document { source, name })
}
