//! The conversation of a request for a backend: system text apart, then turns that alternate, each call followed by its
//! result at the beginning of the next turn.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::Serialize;
use serde_json::value::RawValue;

use super::super::request::{Dropped, Message as Said, Part, Source, Speaker, Thinking, ToolCall, ToolResult};
use super::super::{ToolNames, ids};
use super::blocks::{Block, Place};
pub(super) use super::blocks::{Content, Message};
use super::write_request::LONGEST_NAME;

/// Stands where the result of a call should be, which the format wants for each.
const NO_RESULT: &str = "[no result: the call was interrupted]";

/// Stands in the result of a call that failed without a word, which must not be empty.
const NO_REASON: &str = "[failed without output]";

/// Stands before a conversation that the model began, since the user must.
const BEGINNING: &str = "[the conversation begins here]";

/// The longest id of a call.
const LONGEST_ID: usize = 64;

/// The beginning of a seal that OpenAI put on its thinking. Sent to another vendor, it would have the request refused.
const SEAL_OF_OPENAI: &str = "gAAAA";

/// The types of images that the format takes.
const IMAGES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/// Writes a conversation: the system text, and the messages.
pub(super) fn conversation<'r>(
    said: &'r [Said<'_>],
    dropped: &mut Dropped,
    names: &mut ToolNames,
) -> (Option<Content<'r>>, Vec<Message<'r>>) {
    let first = said
        .iter()
        .position(|message| message.speaker != Speaker::System)
        .unwrap_or(said.len());
    let (leading, rest) = said.split_at(first);
    let mut turns = Turns {
        written: Vec::with_capacity(said.len()),
        results: Vec::new(),
        user: Vec::new(),
        thinking: Vec::new(),
        model: Vec::new(),
        open: Vec::new(),
        ids: HashSet::new(),
        dropped,
        names,
    };
    let parts = leading.iter().flat_map(|message| &message.parts);
    let system = parts.filter_map(|part| turns.words(part)).collect();
    for message in rest {
        match message.speaker {
            Speaker::System => turns.remind(&message.parts),
            Speaker::User => message.parts.iter().for_each(|part| turns.hear(part)),
            Speaker::Assistant => message.parts.iter().for_each(|part| turns.speak(part)),
        }
    }
    (Content::of(system), turns.finish())
}

/// Whether the format lets the model think next. A turn that it is in the middle of, be it between a call and what it
/// makes of the result, must have begun with thinking.
pub(super) fn may_think(messages: &[Message<'_>]) -> bool {
    let Some((last, before)) = messages.split_last() else {
        return true;
    };
    if last.role == "assistant" {
        return false;
    }
    let goes_on = matches!(last.content.blocks().first(), Some(Block::ToolResult { .. }));
    let thought = before.last().and_then(|turn| turn.content.blocks().first());
    !goes_on || matches!(thought, Some(Block::Thinking { .. } | Block::RedactedThinking { .. }))
}

/// A conversation as it is being written.
struct Turns<'r, 'w> {
    written: Vec<Message<'r>>,
    /// Results for the calls that the model made last.
    results: Vec<Block<'r>>,
    /// What else the user said since then.
    user: Vec<Block<'r>>,
    /// Thinking that nothing came of yet.
    thinking: Vec<Block<'r>>,
    /// What the model said since the user last spoke.
    model: Vec<Block<'r>>,
    /// The calls of the model's last turn.
    open: Vec<Open<'r>>,
    /// The ids that were written, each of which must be there once.
    ids: HashSet<String>,
    dropped: &'w mut Dropped,
    names: &'w mut ToolNames,
}

struct Open<'r> {
    call: &'r str,
    written: String,
    answered: bool,
}

impl<'r> Turns<'r, '_> {
    /// System text in the middle, which many servers refuse as a message. Moved to the front it would change the prompt's
    /// beginning; so the user's side says it, marked as what it is.
    fn remind(&mut self, parts: &'r [Part<'_>]) {
        let (mut texts, mut marker) = (Vec::new(), None);
        for part in parts {
            if let Some(Block::Text { text, cache_control }) = self.words(part) {
                texts.push(text);
                marker = cache_control.or(marker);
            }
        }
        if !texts.is_empty() {
            self.turn_to_user();
            let text = texts.join("\n\n");
            self.user.push(Block::Text {
                text: format!("<system-reminder>\n{text}\n</system-reminder>").into(),
                cache_control: marker,
            });
        }
    }

    fn hear(&mut self, part: &'r Part<'_>) {
        if let Part::ToolResult(result) = part {
            self.turn_to_user();
            self.result(result);
        } else if let Some(block) = self.block(part) {
            self.turn_to_user();
            self.user.push(block);
        }
    }

    fn speak(&mut self, part: &'r Part<'_>) {
        match part {
            Part::Thinking(thinking) => match sealed(thinking) {
                Some(block) => self.thinking.push(block),
                None => self.dropped.add("messages.thinking"),
            },
            Part::ToolCall(call) => {
                self.turn_to_model();
                let block = self.call(call);
                self.model.push(block);
            }
            Part::ToolResult(_) => self.hear(part),
            Part::Text { .. } | Part::Image { .. } | Part::Document { .. } => {
                if let Some(words) = self.words(part) {
                    self.turn_to_model();
                    self.model.push(words);
                }
            }
        }
    }

    fn call(&mut self, call: &'r ToolCall<'_>) -> Block<'r> {
        let fitting = fitting(&call.id);
        let mut id = fitting.clone().into_owned();
        let mut count = 1;
        while !self.ids.insert(id.clone()) {
            count += 1;
            id = format!("{}_{count}", &fitting[..fitting.len().min(LONGEST_ID - 8)]);
        }
        self.open.push(Open {
            call: &call.id,
            written: id.clone(),
            answered: false,
        });
        Block::ToolUse {
            id,
            name: self.names.sent(&call.name, LONGEST_NAME),
            input: input(&call.arguments),
        }
    }

    fn result(&mut self, result: &'r ToolResult<'_>) {
        let mut blocks: Vec<_> = result.parts.iter().filter_map(|part| self.block(part)).collect();
        let open = self
            .open
            .iter_mut()
            .find(|open| !open.answered && open.call == result.call);
        let Some(open) = open else {
            let kind = if result.is_error { "Error" } else { "Result" };
            self.user.push(Block::text(format!("{kind} of an earlier tool call:")));
            self.user.append(&mut blocks);
            return;
        };
        if result.is_error && blocks.is_empty() {
            blocks.push(Block::text(NO_REASON));
        }
        open.answered = true;
        self.results.push(Block::ToolResult {
            tool_use_id: open.written.clone(),
            content: Content::of(blocks),
            is_error: result.is_error,
        });
    }

    /// What may stand in the user's turn, and in a result.
    fn block(&mut self, part: &'r Part<'_>) -> Option<Block<'r>> {
        match part {
            // Blank text is refused.
            Part::Text { text, cache_control } => (!text.trim().is_empty()).then(|| Block::Text {
                text: (&**text).into(),
                cache_control: *cache_control,
            }),
            Part::Image { source, .. } => match image(source) {
                Some(source) => Some(Block::Image { source }),
                None => self.omit("image"),
            },
            Part::Document { source, name } => match document(source) {
                Some(Place::Text { data, .. }) if data.trim().is_empty() => None,
                Some(source) => Some(Block::Document {
                    source,
                    title: name.as_deref().filter(|name| !name.is_empty()),
                }),
                None => self.omit("document"),
            },
            Part::Thinking(_) => self.drop("messages.thinking"),
            Part::ToolCall(_) => self.drop("messages.tool_use"),
            Part::ToolResult(_) => self.drop("messages.tool_result"),
        }
    }

    /// What may stand where only text is allowed: in system text and in the model's turn.
    fn words(&mut self, part: &'r Part<'_>) -> Option<Block<'r>> {
        match part {
            Part::Image { .. } => self.omit("image"),
            Part::Document { .. } => self.omit("document"),
            _ => self.block(part),
        }
    }

    /// A note in the place of what cannot be sent, so that what is said about it makes sense.
    fn omit(&mut self, what: &str) -> Option<Block<'r>> {
        self.dropped.add(format!("messages.{what}"));
        Some(Block::text(format!("[{what} omitted]")))
    }

    fn drop(&mut self, name: &str) -> Option<Block<'r>> {
        self.dropped.add(name);
        None
    }

    /// Before the model speaks: what the user said is complete, and what it thought comes first.
    fn turn_to_model(&mut self) {
        if self.model.is_empty() {
            let mut turn = std::mem::take(&mut self.results);
            turn.extend(
                self.open
                    .drain(..)
                    .filter(|open| !open.answered)
                    .map(|open| Block::ToolResult {
                        tool_use_id: open.written,
                        content: Some(Content::Text(NO_RESULT.into())),
                        is_error: false,
                    }),
            );
            turn.append(&mut self.user);
            if turn.is_empty() && self.written.is_empty() {
                turn.push(Block::text(BEGINNING));
            }
            self.write("user", turn);
        }
        self.model.append(&mut self.thinking);
    }

    /// Before the user speaks: what the model said is complete. Thinking must not be the last of it.
    fn turn_to_user(&mut self) {
        for _ in self.thinking.drain(..) {
            self.dropped.add("messages.thinking");
        }
        let turn = std::mem::take(&mut self.model);
        self.write("assistant", turn);
    }

    fn write(&mut self, role: &'static str, blocks: Vec<Block<'r>>) {
        self.written
            .extend(Content::of(blocks).map(|content| Message { role, content }));
    }

    fn finish(mut self) -> Vec<Message<'r>> {
        // The last words of an answer that is to be gone on with must not end in white space.
        if let Some(Block::Text { text, .. }) = self.model.last_mut() {
            *text = text.trim_end().to_owned().into();
        }
        let is_answer = !self.model.is_empty() && self.open.is_empty();
        self.turn_to_user();
        if !is_answer {
            self.turn_to_model();
        }
        self.written
    }
}

/// Thinking that the backend can check. What was never sealed, or by us, or by somebody else, it would refuse.
fn sealed<'r>(thinking: &'r Thinking<'_>) -> Option<Block<'r>> {
    let seal = thinking.seal.as_deref()?;
    if seal.is_empty() || thinking.is_plain() || seal.starts_with(SEAL_OF_OPENAI) {
        return None;
    }
    Some(if thinking.text.is_empty() {
        Block::RedactedThinking { data: seal }
    } else {
        Block::Thinking {
            thinking: &thinking.text,
            signature: seal,
        }
    })
}

/// An id as the format allows it, made of this one alone.
fn fitting(id: &str) -> Cow<'_, str> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if (1..=LONGEST_ID).contains(&id.len()) && id.bytes().all(plain) {
        return id.into();
    }
    let wrapped = ids::wrap("toolu_", id);
    if wrapped.len() <= LONGEST_ID {
        return wrapped.into_owned().into();
    }
    let mark = blake3::hash(id.as_bytes()).to_hex();
    format!("toolu_{}", &mark[..32]).into()
}

/// The arguments as a JSON object; what is none, since the call was broken off, is put into one.
fn input(arguments: &str) -> Cow<'_, RawValue> {
    #[derive(Serialize)]
    struct Broken<'r> {
        broken_arguments: &'r str,
    }
    let trimmed = arguments.trim();
    if trimmed.starts_with('{') {
        if let Ok(input) = serde_json::from_str::<&RawValue>(trimmed) {
            return Cow::Borrowed(input);
        }
    }
    let broken = Broken {
        broken_arguments: arguments,
    };
    let owned = if trimmed.is_empty() {
        RawValue::from_string("{}".to_owned())
    } else {
        serde_json::value::to_raw_value(&broken)
    };
    owned.map_or(Cow::Borrowed(RawValue::NULL), Cow::Owned)
}

fn image<'r>(source: &'r Source<'_>) -> Option<Place<'r>> {
    match source {
        Source::Base64 { media_type, data } => {
            // What many clients write for JPEG.
            let written = if media_type == "image/jpg" {
                IMAGES[0]
            } else {
                media_type
            };
            IMAGES.contains(&written).then_some(Place::Base64 {
                media_type: written,
                data,
            })
        }
        Source::Url(url) => on_the_web(url),
        Source::Text(_) | Source::File(_) => None,
    }
}

fn document<'r>(source: &'r Source<'_>) -> Option<Place<'r>> {
    match source {
        Source::Base64 { media_type, data } => {
            (media_type == "application/pdf").then_some(Place::Base64 { media_type, data })
        }
        Source::Text(data) => Some(Place::Text {
            media_type: "text/plain",
            data,
        }),
        Source::Url(url) => on_the_web(url),
        Source::File(_) => None,
    }
}

fn on_the_web(url: &str) -> Option<Place<'_>> {
    let is_web = url.starts_with("https://") || url.starts_with("http://");
    is_web.then_some(Place::Url { url })
}
