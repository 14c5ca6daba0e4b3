//! Writer of a conversation as the items of `input`.
//!
//! OpenAI refuses a request unless each call has one output and each output a call.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::Serialize;

use super::super::request::{
    Dropped, JsonStr, Message, Part, Source, Speaker, Thinking, ToolCall, ToolResult, data_url,
};
use super::super::{NO_RESULT, NameRule, ToolNames, marked_as_error};
use super::SEAL;

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Item<'a> {
    Message {
        role: &'static str,
        content: Content<'a>,
    },
    Reasoning {
        summary: Vec<Summary<'a>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        content: Vec<ReasoningText<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        encrypted_content: Option<&'a str>,
    },
    FunctionCall {
        call_id: &'a str,
        name: Cow<'a, str>,
        arguments: &'a str,
    },
    FunctionCallOutput {
        call_id: &'a str,
        output: Content<'a>,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a> {
    Text(JsonStr<'a>),
    Parts(Vec<Input<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type")]
pub(super) enum Input<'a> {
    #[serde(rename = "input_text")]
    Text { text: JsonStr<'a> },
    #[serde(rename = "input_image")]
    Image { detail: &'a str, image_url: Cow<'a, str> },
    #[serde(rename = "input_file")]
    File {
        #[serde(skip_serializing_if = "Option::is_none")]
        filename: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        file_data: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        file_url: Option<&'a str>,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "summary_text")]
pub(super) struct Summary<'a> {
    text: &'a str,
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "reasoning_text")]
pub(super) struct ReasoningText<'a> {
    text: &'a str,
}

/// Writes a conversation.
pub(super) fn items<'a>(messages: &'a [Message<'a>], dropped: &mut Dropped, names: &mut ToolNames) -> Vec<Item<'a>> {
    let mut writer = Items { items: Vec::new(), open: BTreeSet::new(), dropped, names };
    for (at, message) in messages.iter().enumerate() {
        match message.speaker {
            Speaker::System => writer.system(&message.parts),
            Speaker::User => writer.user(&message.parts),
            Speaker::Assistant => {
                writer.assistant(&message.parts);
                writer.close_calls(&messages[at + 1..]);
            }
        }
    }
    writer.items
}

struct Items<'a, 'w> {
    items: Vec<Item<'a>>,
    /// The ids of calls without an output so far.
    open: BTreeSet<&'a str>,
    dropped: &'w mut Dropped,
    names: &'w mut ToolNames,
}

impl<'a> Items<'a, '_> {
    fn system(&mut self, parts: &'a [Part<'a>]) {
        let parts: Vec<_> = parts.iter().filter_map(|part| input(part, self.dropped)).collect();
        self.message("developer", parts);
    }

    fn message(&mut self, role: &'static str, parts: Vec<Input<'a>>) {
        if !parts.is_empty() {
            let content = Content::Parts(parts);
            self.items.push(Item::Message { role, content });
        }
    }

    fn user(&mut self, parts: &'a [Part<'a>]) {
        let mut inputs = Vec::new();
        for part in parts {
            match part {
                Part::ToolResult(result) if self.open.remove(&*result.call) => {
                    self.message("user", std::mem::take(&mut inputs));
                    let output = self.output(result);
                    self.items.push(Item::FunctionCallOutput { call_id: &result.call, output });
                }
                Part::ToolResult(result) => {
                    let text = format!("Result of the tool call {}:", result.call).into();
                    inputs.push(Input::Text { text });
                    inputs.extend(result.parts.iter().filter_map(|part| input(part, self.dropped)));
                }
                part => inputs.extend(input(part, self.dropped)),
            }
        }
        self.message("user", inputs);
    }

    /// Writes the model's turn. Its text is one plain string, the only form that every server accepts without an item
    /// id.
    fn assistant(&mut self, parts: &'a [Part<'a>]) {
        let mut texts: Vec<JsonStr<'a>> = Vec::new();
        for part in parts {
            match part {
                Part::Text { text, .. } if text.is_empty() => {}
                Part::Text { text, .. } => texts.push(text.borrowed()),
                Part::Thinking(thinking) => {
                    self.flush_text(&mut texts);
                    self.thinking(thinking);
                }
                Part::ToolCall(call) => {
                    self.flush_text(&mut texts);
                    self.call(call);
                }
                Part::Image { .. } => self.dropped.add("messages.image"),
                Part::Document { .. } => self.dropped.add("messages.document"),
                Part::ToolResult(_) => self.dropped.add("messages.tool_result"),
            }
        }
        self.flush_text(&mut texts);
        // OpenAI refuses reasoning without a following item.
        while self.items.pop_if(|item| matches!(item, Item::Reasoning { .. })).is_some() {
            self.dropped.add("messages.thinking");
        }
    }

    fn flush_text(&mut self, texts: &mut Vec<JsonStr<'a>>) {
        if texts.is_empty() {
            return;
        }
        self.items
            .push(Item::Message { role: "assistant", content: Content::Text(JsonStr::joined(std::mem::take(texts))) });
    }

    /// Writes thinking with a seal of this format, or plain thinking of a backend without seals. All other is dropped.
    fn thinking(&mut self, thinking: &'a Thinking<'a>) {
        let text = Some(&*thinking.text).filter(|text| !text.is_empty());
        let seal = thinking.seal.as_deref().and_then(|seal| seal.strip_prefix(SEAL));
        if let Some(seal) = seal {
            self.items.push(Item::Reasoning {
                summary: text.map(|text| Summary { text }).into_iter().collect(),
                content: Vec::new(),
                encrypted_content: Some(seal),
            });
        } else if let (Some(text), true) = (text, thinking.is_plain()) {
            self.items.push(Item::Reasoning {
                summary: Vec::new(),
                content: vec![ReasoningText { text }],
                encrypted_content: None,
            });
        } else {
            self.dropped.add("messages.thinking");
        }
    }

    fn call(&mut self, call: &'a ToolCall<'a>) {
        self.open.insert(&call.id);
        let arguments = match call.arguments.trim() {
            "" => "{}",
            _ => &call.arguments,
        };
        self.items.push(Item::FunctionCall {
            call_id: &call.id,
            name: self.names.backend_name(&call.name, NameRule::OPENAI),
            arguments,
        });
    }

    /// Writes an output for the calls that have none before the model's next message. Later messages are not
    /// considered, so that an appended conversation keeps its beginning.
    fn close_calls(&mut self, following: &[Message<'_>]) {
        if self.open.is_empty() || following.first().is_some_and(|next| next.speaker == Speaker::Assistant) {
            return;
        }
        let turn = following.iter().take_while(|message| message.speaker != Speaker::Assistant);
        let results: BTreeSet<&str> = turn
            .flat_map(|message| &message.parts)
            .filter_map(|part| match part {
                Part::ToolResult(result) => Some(&*result.call),
                _ => None,
            })
            .collect();
        for call_id in self.open.extract_if(.., |call| !results.contains(call)) {
            self.items.push(Item::FunctionCallOutput { call_id, output: Content::Text(NO_RESULT.into()) });
        }
    }

    /// Returns the output of a call. Plain text is one string, because many servers accept nothing else.
    fn output(&mut self, result: &'a ToolResult<'a>) -> Content<'a> {
        let mut parts: Vec<_> = result.parts.iter().filter_map(|part| input(part, self.dropped)).collect();
        if result.is_error {
            mark_error(&mut parts);
        }
        let text = |part: &Input<'a>| match part {
            Input::Text { text } => Some(text.clone()),
            _ => None,
        };
        match parts.iter().map(text).collect::<Option<Vec<_>>>() {
            Some(texts) => Content::Text(JsonStr::joined(texts)),
            None => Content::Parts(parts),
        }
    }
}

/// Marks the content of a failed result.
fn mark_error(parts: &mut Vec<Input<'_>>) {
    match parts.first_mut() {
        Some(Input::Text { text }) => {
            if let Some(marked) = marked_as_error(text, |text| text) {
                *text = marked;
            }
        }
        _ => parts.insert(0, Input::Text { text: "Error".into() }),
    }
}

fn input<'a>(part: &'a Part<'a>, dropped: &mut Dropped) -> Option<Input<'a>> {
    match part {
        Part::Text { text, .. } => (!text.is_empty()).then_some(Input::Text { text: text.borrowed() }),
        Part::Image { source, detail } => image(source, detail.as_deref(), dropped),
        Part::Document { source, name } => document(source, name.as_deref(), dropped),
        Part::Thinking(_) | Part::ToolCall(_) | Part::ToolResult(_) => {
            dropped.add("messages.content");
            None
        }
    }
}

fn image<'a>(source: &'a Source<'a>, detail: Option<&'a str>, dropped: &mut Dropped) -> Option<Input<'a>> {
    let Some(image_url) = source.image_url() else {
        dropped.add("messages.image.file");
        return None;
    };
    // Some servers require the detail.
    let detail = detail.unwrap_or("auto");
    Some(Input::Image { detail, image_url })
}

fn document<'a>(source: &'a Source<'a>, name: Option<&'a str>, dropped: &mut Dropped) -> Option<Input<'a>> {
    let (filename, file_data, file_url) = match source {
        Source::Base64 { media_type, data } => {
            let name = name.unwrap_or("document.pdf");
            (Some(name), Some(data_url(media_type, data)), None)
        }
        Source::Url(url) => (None, None, Some(&**url)),
        Source::Text(text) => {
            let text = match name {
                Some(name) => format!("{name}:\n\n{text}").into(),
                None => JsonStr::from(&**text),
            };
            return Some(Input::Text { text });
        }
        Source::File(_) => {
            dropped.add("messages.document.file");
            return None;
        }
    };
    Some(Input::File { filename, file_data, file_url })
}
