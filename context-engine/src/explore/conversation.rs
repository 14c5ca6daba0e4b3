//! The conversation with an explorer's model. The whole conversation is sent again with each turn.

use std::collections::HashSet;

use muninn_text::model::{Message, Reply, ToolInvocation, ToolOutput};

use super::dialect::{Malformed, ParsedCall};

/// Maximum length of the model's text that is kept, in bytes. An answer can have megabytes.
const MAX_TEXT_BYTES: usize = 8_000;

/// Estimates the tokens of a text; the estimate is rather too high. Counting would take longer than the rest of a turn.
pub(super) fn estimate_tokens(text: &str) -> u64 {
    (text.len() / 3 + 1) as u64
}

/// A conversation with its estimated cost.
pub(super) struct Conversation {
    pub(super) system: String,
    pub(super) messages: Vec<Message>,
    /// Whether calls and results use the backend's tool format. Otherwise, they are written as text.
    pub(super) native: bool,
    /// The estimated tokens of the whole conversation.
    pub(super) tokens: u64,
}

/// A call with the text of its result.
pub(super) struct AnsweredCall {
    pub(super) call: ParsedCall,
    pub(super) text: String,
    pub(super) failed: bool,
}

impl Conversation {
    pub(super) fn new(system: String, opening: String, native: bool) -> Self {
        let mut conversation = Self { tokens: estimate_tokens(&system), system, messages: Vec::new(), native };
        conversation.add_user_text(opening);
        conversation
    }

    /// Adds text for the model, as its own message or at the end of the last user message.
    pub(super) fn add_user_text(&mut self, text: String) {
        self.tokens += estimate_tokens(&text);
        match self.messages.last_mut() {
            Some(Message::User(words)) => {
                words.push_str("\n\n");
                words.push_str(&text);
            }
            _ => self.messages.push(Message::User(text)),
        }
    }

    /// Adds a turn of the model with the results of its calls. Calls that are neither in `answered` nor in `malformed`
    /// are dropped, so that each call has a result.
    pub(super) fn add_turn(
        &mut self,
        number: usize,
        reply: &Reply,
        answered: Vec<AnsweredCall>,
        malformed: Vec<Malformed>,
    ) {
        let words = reply.text[..reply.text.floor_char_boundary(MAX_TEXT_BYTES)].to_owned();
        self.tokens += estimate_tokens(&words);
        if self.native && !reply.calls.is_empty() {
            self.add_native_turn(number, words, answered, malformed);
        } else {
            self.add_text_turn(words, answered, malformed);
        }
    }

    fn add_native_turn(
        &mut self,
        number: usize,
        words: String,
        answered: Vec<AnsweredCall>,
        malformed: Vec<Malformed>,
    ) {
        let (mut calls, mut results, mut ids) = (Vec::new(), Vec::new(), HashSet::new());
        let mut add = |id: Option<String>, name: String, arguments: String, text: String, is_error: bool| {
            let id = id.filter(|id| ids.insert(id.clone()));
            // The strictest server requires an id of nine letters and digits.
            let id = id.unwrap_or_else(|| format!("t{:04}c{:03}", number % 10_000, calls.len() % 1_000));
            self.tokens += estimate_tokens(&arguments) + estimate_tokens(&text) + 16;
            calls.push(ToolInvocation { id: id.clone(), name, arguments });
            results.push(ToolOutput { id, text, is_error });
        };
        for AnsweredCall { call, text, failed } in answered {
            let arguments = serde_json::Value::Object(call.arguments).to_string();
            add(call.id, call.name, arguments, text, failed);
        }
        for Malformed { id, error } in malformed {
            // The backend would refuse the malformed arguments in this turn and in every later turn.
            add(id, super::toolset::FINAL.to_owned(), "{}".to_owned(), error.to_string(), true);
        }
        self.messages.push(Message::Assistant { text: words, calls });
        self.messages.push(Message::Results(results));
    }

    fn add_text_turn(&mut self, words: String, answered: Vec<AnsweredCall>, malformed: Vec<Malformed>) {
        let text = if words.trim().is_empty() { "(nothing)".to_owned() } else { words };
        self.messages.push(Message::Assistant { text, calls: Vec::new() });
        let mut results = String::new();
        for (at, AnsweredCall { call, text, failed }) in answered.into_iter().enumerate() {
            let failed = if failed { ", failed" } else { "" };
            results.push_str(&format!("Result of call {} ({}{failed}):\n{text}\n\n", at + 1, call.name));
        }
        for Malformed { error, .. } in malformed {
            results.push_str(&format!("{error}\n\n"));
        }
        self.add_user_text(results.trim_end().to_owned());
    }
}
