//! A model client: its conversations, and the request bodies that it writes.
//!
//! [`Conversation`] is the content that a client stores. [`Style`] is the formatting of one request. It varies from
//! request to request as in real clients, and must not affect replay.

use serde_json::{Value, json};

/// Text that clients add to a person's message.
pub(super) const REMINDER: &str = "<system-reminder>\nThe user has opened a file.\n</system-reminder>";

/// The wire formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Format {
    Messages,
    Chat,
    Responses,
}

impl Format {
    pub(super) fn path(self) -> &'static str {
        match self {
            Format::Messages => "/v1/messages?beta=true",
            Format::Chat => "/v1/chat/completions",
            Format::Responses => "/v1/responses",
        }
    }
}

/// The sender of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    System,
    User,
    Assistant,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    Image(u8),
    /// A tool call, in an assistant's message.
    Call(u8),
    /// A call's result, in the next user message.
    Outcome(u8),
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    pub role: Role,
    pub parts: Vec<Part>,
}

impl Message {
    pub(super) fn text(role: Role, text: impl Into<String>) -> Message {
        Message { role, parts: vec![Part::Text(text.into())] }
    }
}

/// A conversation as a client stores it.
#[derive(Debug, Clone)]
pub(super) struct Conversation {
    pub format: Format,
    /// The session id; `None` for a client that names none.
    pub session: Option<String>,
    /// The index of the repository whose gateway gets the requests.
    pub repository: usize,
    /// Whether there is a system prompt.
    pub system: bool,
    pub messages: Vec<Message>,
}

impl Conversation {
    /// Whether the newest message is the user's, apart from system messages.
    pub(super) fn awaits_model(&self) -> bool {
        let last = self.messages.iter().rfind(|message| message.role != Role::System);
        last.is_some_and(|message| message.role == Role::User)
    }

    /// The indices of the human messages.
    pub(super) fn human_turns(&self) -> Vec<usize> {
        let is_human = |message: &Message| {
            message.role == Role::User && !message.parts.iter().any(|part| matches!(part, Part::Outcome(_)))
        };
        (0..self.messages.len()).filter(|index| is_human(&self.messages[*index])).collect()
    }

    pub(super) fn push(&mut self, role: Role, text: impl Into<String>) {
        self.messages.push(Message::text(role, text));
    }

    /// Adds an answer of the model, if the newest message awaits one.
    pub(super) fn answer(&mut self, text: &str) {
        if self.awaits_model() {
            self.push(Role::Assistant, text);
        }
    }
}

/// The formatting of a request, derived from one number. 0 is the plain style.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style(pub u32);

impl Style {
    /// The next pseudo-random choice below `count`; always 0 for style 0.
    fn choose(&mut self, count: u32) -> u32 {
        if self.0 == 0 {
            return 0;
        }
        self.0 = self.0.wrapping_mul(0x9E37_79B1).rotate_left(13) | 1;
        (self.0 >> 9) % count
    }

    fn text(&mut self, text: &str) -> String {
        let blank = ["", "", "", "\n", "  ", "\n\n", " \n"][self.choose(7) as usize];
        format!("{text}{blank}")
    }
}

/// A rendered request.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub path: &'static str,
    pub headers: Vec<(&'static str, String)>,
    pub body: String,
    /// The frames of the request over a WebSocket, if it is sent over one. Together they stand for `body`.
    pub frames: Vec<String>,
}

/// Renders a conversation as a request.
pub(super) fn render(conversation: &Conversation, style: Style) -> Request {
    let number = style.0;
    let mut style = style;
    let mut body = match conversation.format {
        Format::Messages => messages(conversation, &mut style),
        Format::Chat => chat(conversation, &mut style),
        Format::Responses => responses(conversation, &mut style),
    };
    body["model"] = json!("m");
    body["stream"] = json!(false);
    // Tools change the budget of a new block, so a second search would not return the same block.
    if style.choose(2) == 1 {
        body["tools"] = json!([{"name": "read", "type": "function"}]);
    }
    let headers = name_session(conversation, &mut style, &mut body);
    let text = if style.choose(4) == 3 { serde_json::to_string_pretty(&body).unwrap() } else { body.to_string() };
    let path = conversation.format.path();
    if conversation.format != Format::Responses || number.is_multiple_of(2) {
        return Request { path, headers, body: text, frames: Vec::new() };
    }
    let (frames, body) = framed(&body, number as usize / 2);
    Request { path, headers, body, frames }
}

/// A request as frames, of which the first sends a number of its items, and the body that the gateway makes of them.
fn framed(body: &Value, number: usize) -> (Vec<String>, String) {
    let members: Vec<String> = body
        .as_object()
        .unwrap()
        .iter()
        .filter(|(name, _)| !matches!(&***name, "input" | "stream"))
        .map(|(name, value)| format!("{}:{value}", json!(name)))
        .collect();
    let members = members.join(",");
    let items = match &body["input"] {
        Value::Array(items) => items.clone(),
        text => vec![json!({"type": "message", "role": "user", "content": text})],
    };
    let listed = |items: &[Value]| items.iter().map(Value::to_string).collect::<Vec<_>>().join(",");
    let (known, new) = items.split_at(number % (items.len() + 1));
    let frame = |more: &str, items: &[Value]| {
        format!(r#"{{"type":"response.create",{members},"stream":true,{more}"input":[{}]}}"#, listed(items))
    };
    let frames = vec![frame(r#""generate":false,"#, known), frame(r#""previous_response_id":"KNOWN","#, new)];
    // The text of an input is written as the gateway writes it.
    (frames, format!(r#"{{{members},"stream":true,"input":[{}]}}"#, listed(&items)))
}

fn name_session(conversation: &Conversation, style: &mut Style, body: &mut Value) -> Vec<(&'static str, String)> {
    let Some(session) = conversation.session.clone() else {
        return Vec::new();
    };
    match (conversation.format, style.choose(2)) {
        (Format::Messages, 0) => vec![("X-Claude-Code-Session-Id", session)],
        (Format::Messages, _) => {
            let user = json!({"device_id": "d", "session_id": session}).to_string();
            body["metadata"] = json!({"user_id": user});
            Vec::new()
        }
        (Format::Chat, 0) => vec![("x-session-id", session)],
        (Format::Chat, _) => vec![("x-muninn-session", session)],
        (Format::Responses, 0) => vec![("session-id", session)],
        (Format::Responses, _) => {
            // A cache key that conversations share must not identify a session.
            body["prompt_cache_key"] = json!("shared");
            vec![("x-session-id", session)]
        }
    }
}

const SYSTEM: &str = "You are an agent that edits code. Be brief.";

fn role_name(role: Role) -> &'static str {
    match role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
    }
}

/// The content of a message: a string for a single text in some styles, otherwise a list.
fn content(blocks: Vec<Value>, lone_text: Option<String>, style: &mut Style) -> Value {
    match lone_text {
        Some(text) if style.choose(2) == 0 => json!(text),
        _ => Value::Array(blocks),
    }
}

fn messages(conversation: &Conversation, style: &mut Style) -> Value {
    let mut list = Vec::new();
    for message in &conversation.messages {
        let mut blocks = Vec::new();
        let mut lone_text = None;
        for part in &message.parts {
            blocks.push(match part {
                Part::Text(text) => {
                    let text = style.text(text);
                    lone_text = (message.parts.len() == 1).then(|| text.clone());
                    json!({"type": "text", "text": text})
                }
                Part::Image(number) => {
                    json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": format!("aW1n{number}")}})
                }
                Part::Call(number) => {
                    json!({"type": "tool_use", "id": format!("call_{number}"), "name": "read", "input": {"n": number}})
                }
                Part::Outcome(number) => {
                    json!({"type": "tool_result", "tool_use_id": format!("call_{number}"), "content": format!("result {number}")})
                }
            });
        }
        list.push(json!({"role": role_name(message.role), "content": content(blocks, lone_text, style)}));
    }
    // The cache marker is absent, on the newest message, or on any message.
    let marked = match style.choose(3) {
        0 => None,
        1 => list.len().checked_sub(1),
        _ => Some(style.choose(u32::try_from(list.len()).unwrap()) as usize),
    };
    let last_block = marked.and_then(|index| list[index]["content"].as_array_mut()?.last_mut());
    if let Some(block) = last_block {
        block["cache_control"] = json!({"type": "ephemeral"});
    }
    let mut body = json!({"max_tokens": 100, "messages": list});
    if conversation.system {
        body["system"] = match style.choose(2) {
            0 => json!(SYSTEM),
            _ => json!([{"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral"}}]),
        };
    }
    body
}

fn chat(conversation: &Conversation, style: &mut Style) -> Value {
    let mut list = Vec::new();
    if conversation.system {
        list.push(json!({"role": "system", "content": SYSTEM}));
    }
    for message in &conversation.messages {
        let mut parts = Vec::new();
        let mut calls = Vec::new();
        let mut lone_text = None;
        for part in &message.parts {
            match part {
                Part::Text(text) => {
                    let text = style.text(text);
                    lone_text = parts.is_empty().then(|| text.clone());
                    parts.push(json!({"type": "text", "text": text}));
                }
                Part::Image(number) => {
                    lone_text = None;
                    parts.push(json!({"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{number}")}}));
                }
                Part::Call(number) => calls.push(
                    json!({"id": format!("call_{number}"), "type": "function", "function": {"name": "read", "arguments": format!("{{\"n\":{number}}}")}}),
                ),
                Part::Outcome(number) => list.push(
                    json!({"role": "tool", "tool_call_id": format!("call_{number}"), "content": format!("result {number}")}),
                ),
            }
        }
        if parts.is_empty() && calls.is_empty() {
            continue;
        }
        let mut written = json!({"role": role_name(message.role), "content": content(parts, lone_text, style)});
        if !calls.is_empty() {
            written["tool_calls"] = Value::Array(calls);
        }
        list.push(written);
    }
    json!({"messages": list})
}

fn responses(conversation: &Conversation, style: &mut Style) -> Value {
    let mut items = Vec::new();
    if conversation.system {
        items
            .push(json!({"type": "message", "role": "developer", "content": [{"type": "input_text", "text": SYSTEM}]}));
    }
    if let ([message], false) = (conversation.messages.as_slice(), conversation.system)
        && let [Part::Text(text)] = message.parts.as_slice()
        && style.choose(2) == 1
    {
        return json!({"input": style.text(text)});
    }
    for message in &conversation.messages {
        let mut parts = Vec::new();
        let mut after = Vec::new();
        let mut lone_text = None;
        for part in &message.parts {
            match part {
                Part::Text(text) => {
                    let text = style.text(text);
                    lone_text = (parts.is_empty()).then(|| text.clone());
                    let kind = if message.role == Role::Assistant { "output_text" } else { "input_text" };
                    parts.push(json!({"type": kind, "text": text}));
                }
                Part::Image(number) => {
                    lone_text = None;
                    parts.push(json!({"type": "input_image", "image_url": format!("data:image/png;base64,{number}")}));
                }
                Part::Call(number) => after.push(
                    json!({"type": "function_call", "call_id": format!("call_{number}"), "name": "read", "arguments": format!("{{\"n\":{number}}}")}),
                ),
                Part::Outcome(number) => items.push(
                    json!({"type": "function_call_output", "call_id": format!("call_{number}"), "output": format!("result {number}")}),
                ),
            }
        }
        if !parts.is_empty() {
            let role = if message.role == Role::System { "developer" } else { role_name(message.role) };
            items.push(json!({"type": "message", "role": role, "content": content(parts, lone_text, style)}));
        }
        items.append(&mut after);
    }
    let ids = style.choose(3);
    if ids > 0 {
        for (index, item) in items.iter_mut().enumerate() {
            item["id"] = json!(format!("item_{ids}_{}_{index}", style.choose(1000)));
        }
    }
    json!({"input": items, "store": false})
}
