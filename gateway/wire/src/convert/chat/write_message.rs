//! Writer of a request's messages: one system message, then alternating turns. Results of tools come directly after
//! their calls, before the user's text.

use std::borrow::Cow;

use serde::Serialize;

use super::super::request::{
    Dropped, JsonStr, Message as RequestMessage, Part, Request, Source, Speaker, Thinking, ToolCall, ToolResult,
    data_url,
};
use super::super::{NO_RESULT, NameRule, ToolNames, marked_as_error};
use super::THINKING;

/// The heading of a result without a call.
const ORPHAN: &str = "Result of an earlier tool call:";

/// The text of a result that has only images. The images follow in the user's message.
const IMAGE_FOLLOWS: &str = "[an image, which follows]";

/// A serialized message.
#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub(super) enum Message<'r> {
    System {
        content: JsonStr<'r>,
    },
    User {
        content: Content<'r>,
    },
    Assistant {
        content: Option<JsonStr<'r>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<JsonStr<'r>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning: Option<JsonStr<'r>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'r>>,
    },
    Tool {
        tool_call_id: &'r str,
        content: JsonStr<'r>,
    },
}

/// The content of a user's message. Plain text is a string, because many servers refuse parts or join them differently.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Content<'r> {
    Text(JsonStr<'r>),
    Parts(Vec<Piece<'r>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Piece<'r> {
    Text { text: JsonStr<'r> },
    ImageUrl { image_url: ImageUrl<'r> },
    File { file: File<'r> },
}

#[derive(Serialize)]
pub(super) struct ImageUrl<'r> {
    url: Cow<'r, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'r str>,
}

#[derive(Serialize)]
pub(super) struct File<'r> {
    filename: &'r str,
    file_data: String,
}

#[derive(Serialize)]
pub(super) struct Call<'r> {
    id: &'r str,
    r#type: &'static str,
    function: FunctionCall<'r>,
}

#[derive(Serialize)]
struct FunctionCall<'r> {
    name: Cow<'r, str>,
    arguments: Cow<'r, str>,
}

/// Writes a conversation.
pub(super) fn messages<'r>(request: &'r Request<'_>, dropped: &mut Dropped, names: &mut ToolNames) -> Vec<Message<'r>> {
    let (leading, rest) = request.split_system();
    let mut turns = Turns {
        written: Vec::with_capacity(request.messages.len()),
        user: Vec::new(),
        model: ModelTurn::default(),
        open: Vec::new(),
        dropped,
        names,
    };
    turns.leading_system(leading);
    for message in rest {
        match message.speaker {
            Speaker::System => turns.reminder(&message.parts),
            Speaker::User => turns.user_parts(&message.parts),
            Speaker::Assistant => message.parts.iter().for_each(|part| turns.model_part(part)),
        }
    }
    turns.finish()
}

/// The state of writing a conversation.
struct Turns<'r, 'w> {
    written: Vec<Message<'r>>,
    /// The unwritten parts of the user's turn.
    user: Vec<Piece<'r>>,
    /// The unwritten parts of the model's turn.
    model: ModelTurn<'r>,
    /// The calls of the last written message of the model that have no result so far.
    open: Vec<&'r ToolCall<'r>>,
    dropped: &'w mut Dropped,
    names: &'w mut ToolNames,
}

#[derive(Default)]
struct ModelTurn<'r> {
    thinking: Vec<&'r Thinking<'r>>,
    texts: Vec<JsonStr<'r>>,
    calls: Vec<&'r ToolCall<'r>>,
}

impl ModelTurn<'_> {
    /// Whether the turn has neither text nor calls. Thinking alone is not written.
    fn is_empty(&self) -> bool {
        self.texts.is_empty() && self.calls.is_empty()
    }
}

impl<'r> Turns<'r, '_> {
    /// Writes the system text before the conversation.
    fn leading_system(&mut self, leading: &'r [RequestMessage<'_>]) {
        let parts = leading.iter().flat_map(|message| &message.parts);
        let texts: Vec<_> = parts.filter_map(|part| self.text_of(part)).collect();
        if !texts.is_empty() {
            self.written.push(Message::System { content: JsonStr::joined(texts) });
        }
    }

    /// Writes system text in the middle as a marked part of the user's turn. Templates refuse a system message that is
    /// not the first, and moving the text to the front would change the prompt's beginning.
    fn reminder(&mut self, parts: &'r [Part<'_>]) {
        let texts: Vec<_> = parts.iter().filter_map(|part| self.text_of(part)).collect();
        if texts.is_empty() {
            return;
        }
        let text = JsonStr::joined(texts);
        self.flush_model();
        self.user
            .push(Piece::Text { text: format!("<system-reminder>\n{}\n</system-reminder>", text.decode()).into() });
    }

    fn text_of(&mut self, part: &'r Part<'_>) -> Option<JsonStr<'r>> {
        match self.piece(part)? {
            Piece::Text { text } => Some(text),
            Piece::ImageUrl { .. } => self.drop("messages.image"),
            Piece::File { .. } => self.drop("messages.document"),
        }
    }

    fn user_parts(&mut self, parts: &'r [Part<'_>]) {
        for part in parts {
            if let Part::ToolResult(result) = part {
                self.flush_model();
                self.result(result);
            } else if let Some(piece) = self.piece(part) {
                self.flush_model();
                self.user.push(piece);
            }
        }
    }

    fn model_part(&mut self, part: &'r Part<'_>) {
        match part {
            Part::Thinking(thinking) if !thinking.is_plain() => self.dropped.add("messages.thinking"),
            // Thinking is written with the next text or call of the model.
            Part::Thinking(thinking) => self.model.thinking.push(thinking),
            Part::ToolCall(call) => {
                self.flush_user();
                self.model.calls.push(call);
            }
            Part::ToolResult(result) => {
                self.flush_model();
                self.result(result);
            }
            Part::Text { .. } | Part::Image { .. } | Part::Document { .. } => {
                if let Some(text) = self.text_of(part) {
                    self.flush_user();
                    self.model.texts.push(text);
                }
            }
        }
    }

    /// Writes a result directly after its call, before the other parts of the user's turn.
    fn result(&mut self, result: &'r ToolResult<'_>) {
        let (mut texts, mut others) = (Vec::new(), Vec::new());
        for piece in result.parts.iter().filter_map(|part| self.piece(part)) {
            match piece {
                Piece::Text { text } => texts.push(text),
                other => others.push(other),
            }
        }
        if texts.is_empty() && !others.is_empty() {
            texts.push(IMAGE_FOLLOWS.into());
        }
        let mut text = JsonStr::joined(texts);
        if result.is_error {
            text = marked_as_error(&text, str::trim_start).unwrap_or(text);
        }
        let name = match self.open.iter().position(|open| open.id == result.call) {
            Some(at) => {
                let call = self.open.remove(at);
                self.written.push(Message::Tool { tool_call_id: &call.id, content: text });
                &*call.name
            }
            None => {
                self.user.push(Piece::Text { text: format!("{ORPHAN}\n{}", text.decode()).into() });
                "an earlier tool call"
            }
        };
        if !others.is_empty() {
            let text = format!("From the result of {name}:").into();
            self.user.push(Piece::Text { text });
            self.user.append(&mut others);
        }
    }

    fn piece(&mut self, part: &'r Part<'_>) -> Option<Piece<'r>> {
        match part {
            Part::Text { text, cache_control } => {
                if cache_control.is_some() {
                    self.dropped.add("messages.cache_control");
                }
                (!text.is_empty()).then(|| Piece::Text { text: text.borrowed() })
            }
            Part::Image { source, detail } => match source.image_url() {
                Some(url) => Some(Piece::ImageUrl { image_url: ImageUrl { url, detail: detail.as_deref() } }),
                None => self.drop("messages.image"),
            },
            Part::Document { source, name } => match source {
                Source::Text(text) => (!text.is_empty()).then(|| Piece::Text { text: (&**text).into() }),
                Source::Base64 { media_type, data } => Some(Piece::File {
                    file: File {
                        filename: name.as_deref().unwrap_or("document.pdf"),
                        file_data: data_url(media_type, data),
                    },
                }),
                // The format has no file URLs, and a file id of another vendor is useless.
                Source::Url(_) | Source::File(_) => self.drop("messages.document"),
            },
            Part::Thinking(_) => self.drop("messages.thinking"),
            Part::ToolCall(_) => self.drop("messages.tool_calls"),
            Part::ToolResult(_) => self.drop("messages.tool_results"),
        }
    }

    fn drop<T>(&mut self, name: &str) -> Option<T> {
        self.dropped.add(name);
        None
    }

    /// Writes the user's turn before the first part of the model's turn.
    fn flush_user(&mut self) {
        if !self.model.is_empty() {
            return;
        }
        for call in self.open.drain(..) {
            self.written.push(Message::Tool { tool_call_id: &call.id, content: NO_RESULT.into() });
        }
        let pieces = std::mem::take(&mut self.user);
        if !pieces.is_empty() {
            self.written.push(Message::User { content: content(pieces) });
        }
    }

    /// Writes the model's turn before a part of the user's turn.
    fn flush_model(&mut self) {
        let model = std::mem::take(&mut self.model);
        if model.is_empty() {
            self.dropped.add_all("messages.thinking", model.thinking.len());
            return;
        }
        let [reasoning, reasoning_content] = thinking(&model.thinking);
        let tool_calls = model.calls.iter().map(|call| self.call(call)).collect();
        self.written.push(Message::Assistant {
            content: (!model.texts.is_empty()).then(|| JsonStr::joined(model.texts)),
            reasoning_content,
            reasoning,
            tool_calls,
        });
        self.open = model.calls;
    }

    fn call(&mut self, call: &'r ToolCall<'_>) -> Call<'r> {
        Call {
            id: &call.id,
            r#type: "function",
            function: FunctionCall {
                name: self.names.backend_name(&call.name, NameRule::OPENAI),
                arguments: arguments(&call.arguments),
            },
        }
    }

    fn finish(mut self) -> Vec<Message<'r>> {
        self.flush_model();
        self.flush_user();
        self.written
    }
}

/// Returns thinking as the two members of [`THINKING`]. Only the member that the backend uses is set.
fn thinking<'r>(thinking: &[&'r Thinking<'r>]) -> [Option<JsonStr<'r>>; 2] {
    let texts: Vec<JsonStr<'r>> =
        thinking.iter().map(|thinking| JsonStr::from(&*thinking.text)).filter(|text| !text.is_empty()).collect();
    if texts.is_empty() {
        return [None, None];
    }
    let seal = thinking.last().and_then(|thinking| thinking.seal.as_deref());
    let text = Some(JsonStr::joined(texts));
    if seal == Some(THINKING[0].1) { [text, None] } else { [None, text] }
}

/// Returns the arguments as a JSON object; other text is wrapped in one. Servers parse the arguments for the prompt
/// template and would refuse every later request of a conversation with a truncated call.
fn arguments(arguments: &str) -> Cow<'_, str> {
    #[derive(Serialize)]
    struct BrokenArguments<'r> {
        broken_arguments: &'r str,
    }
    let trimmed = arguments.trim();
    if trimmed.is_empty() {
        return "{}".into();
    }
    if trimmed.starts_with('{') && serde_json::from_str::<serde::de::IgnoredAny>(trimmed).is_ok() {
        return arguments.into();
    }
    let broken = BrokenArguments { broken_arguments: arguments };
    serde_json::to_string(&broken).map_or("{}".into(), Cow::Owned)
}

fn content(pieces: Vec<Piece<'_>>) -> Content<'_> {
    let mut merged: Vec<Piece<'_>> = Vec::with_capacity(pieces.len());
    let mut texts = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Text { text } => texts.push(text),
            other => {
                merged.extend(one_piece(&mut texts));
                merged.push(other);
            }
        }
    }
    match one_piece(&mut texts) {
        Some(Piece::Text { text }) if merged.is_empty() => Content::Text(text),
        last => {
            merged.extend(last);
            Content::Parts(merged)
        }
    }
}

/// Joins adjacent texts into one piece and empties the list.
fn one_piece<'r>(texts: &mut Vec<JsonStr<'r>>) -> Option<Piece<'r>> {
    let texts = std::mem::take(texts);
    (!texts.is_empty()).then(|| Piece::Text { text: JsonStr::joined(texts) })
}
