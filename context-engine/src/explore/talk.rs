//! The conversation with an explorer, as its model will hear it again each turn.

use std::collections::HashSet;

use muninn_memory::model::{Call, CallResult, Message, Reply};

use super::dialect::{Malformed, ParsedCall};

/// What is kept of a model's own words, in bytes: it may say megabytes.
const LONGEST_WORDS: usize = 8_000;

/// Tokens of a text, rather too many than too few. Counting them would take longer than all else that is done for a turn.
pub(super) fn estimated(text: &str) -> u64 {
    (text.len() / 3 + 1) as u64
}

/// A conversation that grows.
pub(super) struct Talk {
    pub(super) system: String,
    pub(super) messages: Vec<Message>,
    /// Whether calls and results travel in the backend's own form. If not, they are text.
    pub(super) native: bool,
    /// What all of it costs, estimated.
    pub(super) tokens: u64,
}

/// A call and what is to be said to the model of it.
pub(super) struct Told {
    pub(super) call: ParsedCall,
    pub(super) text: String,
    pub(super) failed: bool,
}

impl Talk {
    pub(super) fn new(system: String, opening: String, native: bool) -> Self {
        let mut talk = Self {
            tokens: estimated(&system),
            system,
            messages: Vec::new(),
            native,
        };
        talk.say(opening);
        talk
    }

    /// Something to the model.
    pub(super) fn say(&mut self, text: String) {
        self.tokens += estimated(&text);
        match self.messages.last_mut() {
            Some(Message::User(words)) => {
                words.push_str("\n\n");
                words.push_str(&text);
            }
            _ => self.messages.push(Message::User(text)),
        }
    }

    /// A turn of the model with what came of its calls. What it called beyond `told` and `malformed` is forgotten, so
    /// that each call that stays has its result.
    pub(super) fn turn(&mut self, number: usize, reply: &Reply, told: Vec<Told>, malformed: Vec<Malformed>) {
        let words = reply.text[..reply.text.floor_char_boundary(LONGEST_WORDS)].to_owned();
        self.tokens += estimated(&words);
        if self.native && !reply.calls.is_empty() {
            self.native_turn(number, words, told, malformed);
        } else {
            self.turn_in_words(words, told, malformed);
        }
    }

    fn native_turn(&mut self, number: usize, words: String, told: Vec<Told>, malformed: Vec<Malformed>) {
        let (mut calls, mut results, mut ids) = (Vec::new(), Vec::new(), HashSet::new());
        let mut add = |id: Option<String>, name: String, arguments: String, text: String, is_error: bool| {
            let id = id.filter(|id| ids.insert(id.clone()));
            // Nine letters and digits: what the strictest server takes.
            let id = id.unwrap_or_else(|| format!("t{:04}c{:03}", number % 10_000, calls.len() % 1_000));
            self.tokens += estimated(&arguments) + estimated(&text) + 16;
            calls.push(Call {
                id: id.clone(),
                name,
                arguments,
            });
            results.push(CallResult { id, text, is_error });
        };
        for Told { call, text, failed } in told {
            let arguments = serde_json::Value::Object(call.arguments).to_string();
            add(call.id, call.name, arguments, text, failed);
        }
        for Malformed { id, error } in malformed {
            // The arguments as they were would be refused, now and on each turn to come.
            add(
                id,
                super::offer::FINAL.to_owned(),
                "{}".to_owned(),
                error.to_string(),
                true,
            );
        }
        self.messages.push(Message::Assistant { text: words, calls });
        self.messages.push(Message::Results(results));
    }

    fn turn_in_words(&mut self, words: String, told: Vec<Told>, malformed: Vec<Malformed>) {
        let text = if words.trim().is_empty() {
            "(nothing)".to_owned()
        } else {
            words
        };
        self.messages.push(Message::Assistant {
            text,
            calls: Vec::new(),
        });
        let mut results = String::new();
        for (at, Told { call, text, failed }) in told.into_iter().enumerate() {
            let failed = if failed { ", failed" } else { "" };
            results.push_str(&format!(
                "Result of call {} ({}{failed}):\n{text}\n\n",
                at + 1,
                call.name
            ));
        }
        for Malformed { error, .. } in malformed {
            results.push_str(&format!("{error}\n\n"));
        }
        self.say(results.trim_end().to_owned());
    }
}
