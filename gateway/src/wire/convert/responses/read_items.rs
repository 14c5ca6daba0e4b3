//! The items of a client's `input`: messages, calls, their outputs, and what steers the model in between.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::value::RawValue;

use super::super::request::{Dropped, JsonStr, Message, Part, Source, Speaker, Thinking, ToolCall, ToolResult};
use super::super::{ConvertError, as_written, check_content, ids};
use super::flat_name;
use super::read_request::held;
use super::tools::{SEARCH, Tools};
use crate::wire::scan::{Conversation, Element};
use crate::wire::{Members, ParseError};

/// A client's name of a kind as a part of a dropped field's name, which must never hold a value.
pub(super) fn kind_name(kind: &str) -> &str {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    if !kind.is_empty() && kind.len() <= 64 && kind.bytes().all(plain) {
        kind
    } else {
        "unknown"
    }
}

/// What the items say, put together.
pub(super) struct Items<'a> {
    /// The conversation.
    pub(super) messages: Vec<Message<'a>>,
    /// The tools, those that came as items included.
    pub(super) tools: Tools<'a>,
    /// How much the model is to think, where an item says so.
    pub(super) effort: Option<Cow<'a, str>>,
    /// Calls that have their output.
    answered: BTreeSet<String>,
}

impl<'a> Items<'a> {
    pub(super) fn new(messages: Vec<Message<'a>>) -> Items<'a> {
        Items {
            messages,
            tools: Tools::default(),
            effort: None,
            answered: BTreeSet::new(),
        }
    }

    /// Reads `input`.
    pub(super) fn input(&mut self, input: Option<Conversation<'a>>, dropped: &mut Dropped) -> Result<(), ConvertError> {
        let list = match input {
            Some(Conversation::List(list)) => list,
            Some(Conversation::Other(raw)) if raw.get() != "null" => {
                let text = JsonStr::of(raw).ok_or(ParseError::WrongType("input", "a string or an array"))?;
                self.push(Speaker::User, texts(text));
                return Ok(());
            }
            _ => return Err(ParseError::Missing("input").into()),
        };
        for (index, element) in list.into_iter().enumerate() {
            match element {
                Element::Object(members) => self.item(index, &members, dropped)?,
                Element::Other(raw) => match JsonStr::of(raw) {
                    Some(text) => self.push(Speaker::User, texts(text)),
                    None => dropped.add("input"),
                },
            }
        }
        Ok(())
    }

    fn item(&mut self, index: usize, members: &Members<'a>, dropped: &mut Dropped) -> Result<(), ConvertError> {
        match &*kind(members) {
            "message" => {
                let optional = members.string("role").as_deref() == Some("assistant");
                check_content(members, optional, "input", index)?;
                self.message(members, dropped);
            }
            "function_call" => {
                let arguments = members
                    .string("arguments")
                    .or_else(|| members.present("arguments").map(|raw| raw.get().into()))
                    .filter(|arguments| !arguments.trim().is_empty())
                    .unwrap_or_else(|| "{}".into());
                self.call(members, members.string("name").unwrap_or_default(), arguments);
            }
            "custom_tool_call" => {
                let input = members.string("input").unwrap_or_default();
                self.call(members, members.string("name").unwrap_or_default(), free_text(&input));
            }
            "local_shell_call" => self.call(members, "local_shell".into(), object(members, "action")),
            "tool_search_call" => self.call(members, SEARCH.into(), object(members, "arguments")),
            "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
                let parts = output(members.raw("output"), dropped);
                self.output(members, parts);
            }
            "tool_search_output" => {
                let names = self.tools.extend(members.elements("tools"), dropped);
                let said = match names.is_empty() {
                    true => "No tools found".to_owned(),
                    false => format!("Tools found: {}", names.join(", ")),
                };
                self.output(members, texts(said));
            }
            "reasoning" => self.reasoning(members),
            "additional_tools" => {
                self.tools.extend(members.elements("tools"), dropped);
            }
            "configuration_update" => {
                let reasoning: Members<'a> = members.parse("reasoning").unwrap_or_default();
                self.effort = reasoning.string("effort").or(self.effort.take());
            }
            "agent_message" => self.agent_message(members, dropped),
            "item_reference" => return Err(held("input.item_reference")),
            // What was said before is in there, for nobody but its maker to read: without it the model would know of
            // nothing.
            "compaction" | "compaction_summary" | "compaction_trigger" => return Err(held("input.compaction")),
            "context_compaction" if members.present("encrypted_content").is_some() => {
                return Err(held("input.context_compaction"));
            }
            other => dropped.add(format!("input.{}", kind_name(other))),
        }
        Ok(())
    }

    /// Adds to the conversation. One answer of the model is many items, and one message here.
    fn push(&mut self, speaker: Speaker, mut parts: Vec<Part<'a>>) {
        let results = |parts: &[Part<'_>]| parts.iter().all(|part| matches!(part, Part::ToolResult(_)));
        if parts.is_empty() {
            return;
        }
        match self.messages.last_mut() {
            Some(last)
                if last.speaker == speaker
                    && (speaker == Speaker::Assistant
                        || speaker == Speaker::User && results(&last.parts) && results(&parts)) =>
            {
                last.parts.append(&mut parts);
            }
            _ => self.messages.push(Message { speaker, parts }),
        }
    }

    fn message(&mut self, members: &Members<'a>, dropped: &mut Dropped) {
        let speaker = match members.string("role").as_deref() {
            Some("assistant") => Speaker::Assistant,
            Some("system" | "developer") => Speaker::System,
            _ => Speaker::User,
        };
        self.push(speaker, content(members.raw("content"), dropped));
    }

    fn call(&mut self, members: &Members<'a>, name: Cow<'a, str>, arguments: Cow<'a, str>) {
        let call = ToolCall {
            id: call_id(members).unwrap_or_default(),
            name: flat_name(members.string("namespace").as_deref(), name),
            arguments,
        };
        self.push(Speaker::Assistant, vec![Part::ToolCall(call)]);
    }

    /// The output of a call. Only one can be its result: what a client adds later, or without a call, is text.
    fn output(&mut self, members: &Members<'a>, mut parts: Vec<Part<'a>>) {
        match call_id(members) {
            Some(call) if self.answered.insert(call.clone().into_owned()) => {
                let result = ToolResult {
                    call,
                    parts,
                    is_error: false,
                };
                self.push(Speaker::User, vec![Part::ToolResult(result)]);
            }
            _ => {
                let name = members.string("name").unwrap_or_else(|| "a tool".into());
                parts.insert(0, Part::text(format!("Further output of {name}:")));
                self.push(Speaker::User, parts);
            }
        }
    }

    fn reasoning(&mut self, members: &Members<'a>) {
        let text = joined(members, "content").or_else(|| joined(members, "summary"));
        let seal = members.string("encrypted_content").filter(|seal| !seal.is_empty());
        if text.is_some() || seal.is_some() {
            let thinking = Thinking {
                text: text.unwrap_or_default(),
                seal,
            };
            self.push(Speaker::Assistant, vec![Part::Thinking(thinking)]);
        }
    }

    /// Words of another agent, which the model must be able to tell from the user's.
    fn agent_message(&mut self, members: &Members<'a>, dropped: &mut Dropped) {
        let mut parts = content(members.raw("content"), dropped);
        if let (Some(author), false) = (members.string("author"), parts.is_empty()) {
            parts.insert(0, Part::text(format!("Message from agent {author}:")));
        }
        self.push(Speaker::User, parts);
    }
}

/// What an item is. Items without a type are messages, or tell by their members.
fn kind<'a>(members: &Members<'a>) -> Cow<'a, str> {
    members.string("type").unwrap_or_else(|| {
        let has = |key| members.get(key).is_some();
        match () {
            () if has("call_id") && has("output") => "function_call_output",
            () if has("call_id") && has("arguments") => "function_call",
            () => "message",
        }
        .into()
    })
}

fn call_id<'a>(members: &Members<'a>) -> Option<Cow<'a, str>> {
    let id = members.string("call_id").filter(|id| !id.is_empty())?;
    Some(match id {
        Cow::Borrowed(id) => ids::unwrap("call_", id),
        Cow::Owned(id) => ids::unwrap("call_", &id).into_owned().into(),
    })
}

/// An object as the text of a call's arguments.
fn object<'a>(members: &Members<'a>, key: &str) -> Cow<'a, str> {
    let raw = members.get(key).filter(|raw| raw.starts_with('{'));
    raw.unwrap_or("{}").into()
}

/// The arguments of the function that a custom tool has become.
fn free_text<'a>(input: &str) -> Cow<'a, str> {
    #[derive(Serialize)]
    struct Arguments<'i> {
        input: &'i str,
    }
    serde_json::to_string(&Arguments { input }).unwrap_or_default().into()
}

fn texts<'a>(text: impl Into<JsonStr<'a>>) -> Vec<Part<'a>> {
    let text = text.into();
    if text.is_empty() {
        Vec::new()
    } else {
        vec![Part::text(text)]
    }
}

/// What a tool gave: a string, a list of parts, or whatever else, which is given as it is written.
fn output<'a>(raw: Option<&'a RawValue>, dropped: &mut Dropped) -> Vec<Part<'a>> {
    match raw.map_or("null", RawValue::get) {
        "null" => Vec::new(),
        _ => as_written(raw).map_or_else(|| content(raw, dropped), texts),
    }
}

/// The content of a message: a string, or a list of parts.
fn content<'a>(raw: Option<&'a RawValue>, dropped: &mut Dropped) -> Vec<Part<'a>> {
    let Some(raw) = raw else { return Vec::new() };
    if let Some(text) = JsonStr::of(raw) {
        return texts(text);
    }
    if raw.get() == "null" {
        return Vec::new();
    }
    let parts = super::super::parts(raw).into_iter();
    parts.filter_map(|element| part(element, dropped)).collect()
}

fn part<'a>(element: Element<'a>, dropped: &mut Dropped) -> Option<Part<'a>> {
    let members = match element {
        Element::Other(raw) => match JsonStr::of(raw) {
            Some(text) => return texts(text).pop(),
            None => {
                dropped.add("input.content");
                return None;
            }
        },
        Element::Object(members) => members,
    };
    let kind = members.string("type").unwrap_or_default();
    let words = match &*kind {
        "input_text" | "output_text" | "text" | "summary_text" | "" => Some("text"),
        "refusal" => Some("refusal"),
        _ => None,
    };
    if let Some(text) = words.and_then(|key| members.raw(key)).and_then(JsonStr::of) {
        return texts(text).pop();
    }
    let part = match &*kind {
        "input_image" | "image_url" => image(&members),
        "input_file" => file(&members),
        _ => None,
    };
    if part.is_none() {
        dropped.add(format!("input.{}", kind_name(&kind)));
    }
    part
}

fn image<'a>(members: &Members<'a>) -> Option<Part<'a>> {
    // An object is the shape of chat completions.
    let nested = members.get("image_url").and_then(Members::of);
    let url = members.string("image_url").or_else(|| nested.as_ref()?.string("url"));
    let source = match url {
        Some(url) => of_url(url),
        None => Source::File(members.string("file_id")?),
    };
    Some(Part::Image {
        source,
        detail: members.string("detail").or_else(|| nested.as_ref()?.string("detail")),
    })
}

fn file<'a>(members: &Members<'a>) -> Option<Part<'a>> {
    let name = members.string("filename");
    let source = if let Some(data) = members.string("file_data") {
        match of_url(data) {
            Source::Url(data) => Source::Base64 {
                media_type: media_type(name.as_deref()).into(),
                data,
            },
            source => source,
        }
    } else if let Some(url) = members.string("file_url") {
        of_url(url)
    } else {
        Source::File(members.string("file_id")?)
    };
    Some(Part::Document { source, name })
}

/// What a URL stands for: itself, or the data in it.
fn of_url(url: Cow<'_, str>) -> Source<'_> {
    let cut = |url: &str| {
        let comma = url.find(',')?;
        let kind = url[..comma].strip_prefix("data:")?.strip_suffix(";base64")?;
        Some((
            "data:".len()..kind.find(';').unwrap_or(kind.len()) + "data:".len(),
            comma + 1,
        ))
    };
    match (cut(&url), url) {
        (Some((kind, data)), Cow::Borrowed(url)) => Source::Base64 {
            media_type: url[kind].into(),
            data: url[data..].into(),
        },
        (Some((kind, data)), Cow::Owned(url)) => Source::Base64 {
            media_type: url[kind].to_owned().into(),
            data: url[data..].to_owned().into(),
        },
        (None, url) => Source::Url(url),
    }
}

fn media_type(name: Option<&str>) -> &'static str {
    match name.and_then(|name| name.rsplit_once('.')).map(|(_, end)| end) {
        Some("txt" | "md" | "csv" | "log") => "text/plain",
        Some("html") => "text/html",
        Some("json") => "application/json",
        _ => "application/pdf",
    }
}

/// The texts of a list of parts as one.
fn joined<'a>(members: &Members<'a>, key: &str) -> Option<Cow<'a, str>> {
    let parts = members.elements(key).into_iter().filter_map(Element::object);
    let mut texts: Vec<_> = parts.filter_map(|part| part.string("text")).collect();
    texts.retain(|text| !text.is_empty());
    match texts.len() {
        0 => None,
        1 => texts.pop(),
        _ => Some(texts.join("\n\n").into()),
    }
}
