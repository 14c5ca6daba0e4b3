//! A model client: conversations as a client keeps them, and the bodies that it makes of them.
//!
//! What a client holds is kept apart from how it writes it down. [`Conversation`] is the first; the second, [`Looks`],
//! changes from request to request in all the ways that were seen in real clients and that must not matter.

use serde_json::{Value, json};

/// What a client puts beside a person's words.
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

/// Who a message is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    System,
    User,
    Assistant,
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    Image(u8),
    /// A call of a tool, in an assistant's message.
    Call(u8),
    /// Its result, in the user's message after it.
    Outcome(u8),
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    pub who: Who,
    pub parts: Vec<Part>,
}

impl Message {
    pub(super) fn text(who: Who, text: impl Into<String>) -> Message {
        Message {
            who,
            parts: vec![Part::Text(text.into())],
        }
    }
}

/// A conversation as a client keeps it.
#[derive(Debug, Clone)]
pub(super) struct Conversation {
    pub format: Format,
    /// The id that the client names, if it names one.
    pub session: Option<String>,
    /// Which of the two repositories its requests go to.
    pub repository: usize,
    /// Whether there is a system prompt of the conversation's own.
    pub system: bool,
    pub messages: Vec<Message>,
}

impl Conversation {
    /// Whether the newest message waits for the model.
    pub(super) fn waits(&self) -> bool {
        let last = self.messages.iter().rfind(|message| message.who != Who::System);
        last.is_some_and(|message| message.who == Who::User)
    }

    /// Indices of the messages that a person wrote.
    pub(super) fn human_turns(&self) -> Vec<usize> {
        let is_human = |message: &Message| {
            message.who == Who::User && !message.parts.iter().any(|part| matches!(part, Part::Outcome(_)))
        };
        (0..self.messages.len())
            .filter(|index| is_human(&self.messages[*index]))
            .collect()
    }

    pub(super) fn say(&mut self, who: Who, text: impl Into<String>) {
        self.messages.push(Message::text(who, text));
    }

    /// The model answers, where it is its turn.
    pub(super) fn answer(&mut self, text: &str) {
        if self.waits() {
            self.say(Who::Assistant, text);
        }
    }
}

/// How a request is written down, drawn from one number so that 0 is the plainest way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Looks(pub u32);

impl Looks {
    /// One more choice out of `count`; 0 where the number was 0.
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

/// A request, ready to be sent.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub path: &'static str,
    pub headers: Vec<(&'static str, String)>,
    pub body: String,
}

/// Writes a conversation down.
pub(super) fn render(conversation: &Conversation, looks: Looks) -> Request {
    let mut looks = looks;
    let mut body = match conversation.format {
        Format::Messages => messages(conversation, &mut looks),
        Format::Chat => chat(conversation, &mut looks),
        Format::Responses => responses(conversation, &mut looks),
    };
    body["model"] = json!("m");
    body["stream"] = json!(false);
    // Tools change what a new block may cost, so that asking twice would not give the same block twice.
    if looks.choose(2) == 1 {
        body["tools"] = json!([{"name": "read", "type": "function"}]);
    }
    let headers = name_session(conversation, &mut looks, &mut body);
    let body = if looks.choose(4) == 3 {
        serde_json::to_string_pretty(&body).unwrap()
    } else {
        body.to_string()
    };
    Request {
        path: conversation.format.path(),
        headers,
        body,
    }
}

fn name_session(conversation: &Conversation, looks: &mut Looks, body: &mut Value) -> Vec<(&'static str, String)> {
    let Some(session) = conversation.session.clone() else {
        return Vec::new();
    };
    match (conversation.format, looks.choose(2)) {
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
            // A key that many conversations share names none of them.
            body["prompt_cache_key"] = json!("shared");
            vec![("x-session-id", session)]
        }
    }
}

const SYSTEM: &str = "You are an agent that edits code. Be brief.";

fn role(who: Who) -> &'static str {
    match who {
        Who::System => "system",
        Who::User => "user",
        Who::Assistant => "assistant",
    }
}

/// A lone text as a string or as a list, whichever way it comes out.
fn content(blocks: Vec<Value>, lone_text: Option<String>, looks: &mut Looks) -> Value {
    match lone_text {
        Some(text) if looks.choose(2) == 0 => json!(text),
        _ => Value::Array(blocks),
    }
}

fn messages(conversation: &Conversation, looks: &mut Looks) -> Value {
    let mut list = Vec::new();
    for message in &conversation.messages {
        let mut blocks = Vec::new();
        let mut lone_text = None;
        for part in &message.parts {
            blocks.push(match part {
                Part::Text(text) => {
                    let text = looks.text(text);
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
        list.push(json!({"role": role(message.who), "content": content(blocks, lone_text, looks)}));
    }
    // The marker stands on the newest block, or on whatever block a client thinks best.
    let marked = match looks.choose(3) {
        0 => None,
        1 => list.len().checked_sub(1),
        _ => Some(looks.choose(u32::try_from(list.len()).unwrap()) as usize),
    };
    let last_block = marked.and_then(|index| list[index]["content"].as_array_mut()?.last_mut());
    if let Some(block) = last_block {
        block["cache_control"] = json!({"type": "ephemeral"});
    }
    let mut body = json!({"max_tokens": 100, "messages": list});
    if conversation.system {
        body["system"] = match looks.choose(2) {
            0 => json!(SYSTEM),
            _ => json!([{"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral"}}]),
        };
    }
    body
}

fn chat(conversation: &Conversation, looks: &mut Looks) -> Value {
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
                    let text = looks.text(text);
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
        let mut written = json!({"role": role(message.who), "content": content(parts, lone_text, looks)});
        if !calls.is_empty() {
            written["tool_calls"] = Value::Array(calls);
        }
        list.push(written);
    }
    json!({"messages": list})
}

fn responses(conversation: &Conversation, looks: &mut Looks) -> Value {
    let mut items = Vec::new();
    if conversation.system {
        items
            .push(json!({"type": "message", "role": "developer", "content": [{"type": "input_text", "text": SYSTEM}]}));
    }
    if let ([message], false) = (conversation.messages.as_slice(), conversation.system)
        && let [Part::Text(text)] = message.parts.as_slice()
        && looks.choose(2) == 1
    {
        return json!({"input": looks.text(text)});
    }
    for message in &conversation.messages {
        let mut parts = Vec::new();
        let mut after = Vec::new();
        let mut lone_text = None;
        for part in &message.parts {
            match part {
                Part::Text(text) => {
                    let text = looks.text(text);
                    lone_text = (parts.is_empty()).then(|| text.clone());
                    let kind = if message.who == Who::Assistant { "output_text" } else { "input_text" };
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
            let role = if message.who == Who::System {
                "developer"
            } else {
                role(message.who)
            };
            items.push(json!({"type": "message", "role": role, "content": content(parts, lone_text, looks)}));
        }
        items.append(&mut after);
    }
    let ids = looks.choose(3);
    if ids > 0 {
        for (index, item) in items.iter_mut().enumerate() {
            item["id"] = json!(format!("item_{ids}_{}_{index}", looks.choose(1000)));
        }
    }
    json!({"input": items, "store": false})
}
