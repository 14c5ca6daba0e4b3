//! Reader of the items of `input`: messages, calls, outputs, tools and settings.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;

use super::super::request::{Dropped, JsonStr, Message, Part, Source, Speaker, Thinking, ToolCall, ToolResult};
use super::super::{ConvertError, check_content, drop_unread, effort, ids, raw_result};
use super::incoming::{held_elsewhere, kind_name};
use super::tools::{SEARCH, Tools};
use super::{CALL, flat_name};
use crate::scan::{Conversation, Element};
use crate::{Members, ParseError};

/// The values that are read from items.
pub(super) struct Items<'a> {
    /// The conversation.
    pub(super) messages: Vec<Message<'a>>,
    /// The tools of the request and of its items.
    pub(super) tools: Tools<'a>,
    /// The effort of the last `configuration_update`.
    pub(super) effort: Option<Cow<'a, str>>,
    /// The number of calls without an output, by their id.
    open: BTreeMap<String, usize>,
}

impl<'a> Items<'a> {
    pub(super) fn new(messages: Vec<Message<'a>>) -> Items<'a> {
        Items { messages, tools: Tools::default(), effort: None, open: BTreeMap::new() }
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
        let kind = kind(members);
        drop_members(members, &kind, dropped);
        match &*kind {
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
                let text = if names.is_empty() {
                    "No tools found".to_owned()
                } else {
                    format!("Tools found: {}", names.join(", "))
                };
                self.output(members, texts(text));
            }
            "reasoning" => self.reasoning(members),
            "additional_tools" => {
                self.tools.extend(members.elements("tools"), dropped);
            }
            "configuration_update" => {
                let reasoning = members.object("reasoning");
                let effort = effort::read(&reasoning, "effort", effort::DROPPED, dropped);
                self.effort = effort.or(self.effort.take());
            }
            "agent_message" => self.agent_message(members, dropped),
            "item_reference" => return Err(held_elsewhere("input.item_reference")),
            // The vendor's encrypted summary replaces the earlier conversation. No other backend can read it, and
            // without it the model would not know the conversation.
            "compaction" | "compaction_summary" | "compaction_trigger" => {
                return Err(held_elsewhere("input.compaction"));
            }
            "context_compaction" if members.present("encrypted_content").is_some() => {
                return Err(held_elsewhere("input.context_compaction"));
            }
            other => dropped.add(format!("input.{}", kind_name(other))),
        }
        Ok(())
    }

    /// Adds parts to the conversation. The items of one answer are merged into one message, and so are adjacent
    /// results.
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

    /// Whether an output is the first one of a call with this id, or of one that is not in the input.
    fn is_first_output(&mut self, call: &str) -> bool {
        match self.open.get_mut(call) {
            Some(0) => false,
            Some(open) => {
                *open -= 1;
                true
            }
            None => {
                self.open.insert(call.to_owned(), 0);
                true
            }
        }
    }

    fn call(&mut self, members: &Members<'a>, name: Cow<'a, str>, arguments: Cow<'a, str>) {
        let id = call_id(members).unwrap_or_default();
        *self.open.entry(id.clone().into_owned()).or_default() += 1;
        let call = ToolCall { id, name: flat_name(members.string("namespace").as_deref(), name), arguments };
        self.push(Speaker::Assistant, vec![Part::ToolCall(call)]);
    }

    /// Adds the output of a call. The first output is the call's result. Later outputs, and outputs without a call,
    /// become text.
    fn output(&mut self, members: &Members<'a>, mut parts: Vec<Part<'a>>) {
        match call_id(members) {
            Some(call) if self.is_first_output(&call) => {
                let result = ToolResult { call, parts, is_error: false };
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
            let thinking = Thinking { text: text.unwrap_or_default(), seal };
            self.push(Speaker::Assistant, vec![Part::Thinking(thinking)]);
        }
    }

    /// Adds a message of another agent, with a heading that distinguishes it from the user's text.
    fn agent_message(&mut self, members: &Members<'a>, dropped: &mut Dropped) {
        let mut parts = content(members.raw("content"), dropped);
        if let (Some(author), false) = (members.string("author"), parts.is_empty()) {
            parts.insert(0, Part::text(format!("Message from agent {author}:")));
        }
        self.push(Speaker::User, parts);
    }
}

/// Returns an item's type. The type of an item without one is derived from its members.
pub(crate) fn kind<'a>(members: &Members<'a>) -> Cow<'a, str> {
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

/// Counts the members of an item or a part that are not read. One of an unknown type is counted as a whole.
fn drop_members(members: &Members<'_>, kind: &str, dropped: &mut Dropped) {
    let read: &[&str] = match kind {
        "message" => &["role", "content", "phase"],
        "function_call" => &["call_id", "name", "namespace", "arguments"],
        "custom_tool_call" => &["call_id", "name", "namespace", "input"],
        "local_shell_call" => &["call_id", "action"],
        "tool_search_call" => &["call_id", "execution", "arguments"],
        "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
            &["call_id", "name", "output"]
        }
        "tool_search_output" => &["call_id", "execution", "tools"],
        "reasoning" => &["content", "summary", "encrypted_content"],
        "additional_tools" => &["role", "tools"],
        "configuration_update" => &["reasoning"],
        "agent_message" => &["author", "recipient", "content"],
        "input_text" | "output_text" | "text" | "summary_text" => &["text", "prompt_cache_breakpoint"],
        "refusal" => &["refusal"],
        "input_image" | "image_url" => &["image_url", "file_id", "detail", "prompt_cache_breakpoint"],
        "input_file" => &["file_data", "file_url", "file_id", "filename", "prompt_cache_breakpoint"],
        _ => return,
    };
    drop_unread(members, read, format_args!("input.{kind}."), dropped);
}

fn call_id<'a>(members: &Members<'a>) -> Option<Cow<'a, str>> {
    Some(ids::unwrap(CALL, members.string("call_id")?))
}

/// Returns the JSON text of an object as a call's arguments. `{}` if it is not an object.
fn object<'a>(members: &Members<'a>, key: &str) -> Cow<'a, str> {
    let raw = members.get(key).filter(|raw| raw.starts_with('{'));
    raw.unwrap_or("{}").into()
}

/// Returns the arguments of the function that replaces a custom tool.
fn free_text<'a>(input: &str) -> Cow<'a, str> {
    #[derive(Serialize)]
    struct Arguments<'i> {
        input: &'i str,
    }
    serde_json::to_string(&Arguments { input }).expect("all keys are strings").into()
}

fn texts<'a>(text: impl Into<JsonStr<'a>>) -> Vec<Part<'a>> {
    let text = text.into();
    if text.is_empty() { Vec::new() } else { vec![Part::text(text)] }
}

/// Reads a tool's output: a string or a list of parts. Other values become text, as their JSON.
fn output<'a>(raw: Option<&'a RawValue>, dropped: &mut Dropped) -> Vec<Part<'a>> {
    match raw.map_or("null", RawValue::get) {
        "null" => Vec::new(),
        _ => raw_result(raw).map_or_else(|| content(raw, dropped), texts),
    }
}

/// Reads content: a string or a list of parts.
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
    drop_members(&members, &kind, dropped);
    if members.present("prompt_cache_breakpoint").is_some() {
        dropped.add("input.prompt_cache_breakpoint");
    }
    let text_key = match &*kind {
        "input_text" | "output_text" | "text" | "summary_text" | "" => Some("text"),
        "refusal" => Some("refusal"),
        _ => None,
    };
    if let Some(text) = text_key.and_then(|key| members.raw(key)).and_then(JsonStr::of) {
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
    // An object is the form of chat completions.
    let nested = members.get("image_url").and_then(Members::of);
    let url = members.string("image_url").or_else(|| nested.as_ref()?.string("url"));
    let source = match url {
        Some(url) => Source::of_url(url),
        None => Source::File(members.string("file_id")?),
    };
    Some(Part::Image { source, detail: members.string("detail").or_else(|| nested.as_ref()?.string("detail")) })
}

fn file<'a>(members: &Members<'a>) -> Option<Part<'a>> {
    let name = members.string("filename");
    let source = if let Some(data) = members.string("file_data") {
        match Source::of_url(data) {
            Source::Url(data) => Source::Base64 { media_type: media_type(name.as_deref()).into(), data },
            source => source,
        }
    } else if let Some(url) = members.string("file_url") {
        Source::of_url(url)
    } else {
        Source::File(members.string("file_id")?)
    };
    Some(Part::Document { source, name })
}

fn media_type(name: Option<&str>) -> &'static str {
    match name.and_then(|name| name.rsplit_once('.')).map(|(_, end)| end) {
        Some("txt" | "md" | "csv" | "log") => "text/plain",
        Some("html") => "text/html",
        Some("json") => "application/json",
        _ => "application/pdf",
    }
}

/// Joins the texts of a list of parts.
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
