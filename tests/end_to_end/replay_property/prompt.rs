//! The normalised prompt of a request: a sequence of pieces with roles, without insignificant differences.
//!
//! It shares no code with the gateway and works on parsed JSON, so that it detects errors of the gateway.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use super::conversation::Format;

const OPEN: &str = "<muninn-context>";
const CLOSE: &str = "</muninn-context>\n";

/// One piece of a prompt, with its role.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Piece {
    pub role: String,
    pub content: Content,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Content {
    /// Text of a message, without trailing white space.
    Text(String),
    /// A block of Muninn.
    Injected(String),
    /// All other contents of a message: calls, results, images, settings.
    Other(String),
}

/// A turn of the user: the text up to its end, and its answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    /// The hash of all text up to the turn's end, which identifies the turn.
    pub text: u64,
    /// The hash of all text up to the end of the model's answer, if there is one.
    pub answered: Option<u64>,
    /// The number of pieces up to the turn's end.
    pub end: usize,
}

/// A normalised prompt.
#[derive(Debug, Clone)]
pub(super) struct Prompt {
    pub pieces: Vec<Piece>,
    /// The hashes of all prefixes, from the empty one to the whole prompt.
    pub prefix_hashes: Vec<u64>,
}

impl Prompt {
    pub(super) fn parse(format: Format, body: &[u8]) -> Prompt {
        let body: Value = serde_json::from_slice(body).expect("a body is JSON");
        let mut pieces = Vec::new();
        match format {
            Format::Messages => {
                add_content(&mut pieces, "top", &body["system"]);
                for message in body["messages"].as_array().unwrap() {
                    add_message(&mut pieces, message);
                }
            }
            Format::Chat => {
                body["messages"].as_array().unwrap().iter().for_each(|message| add_message(&mut pieces, message));
            }
            Format::Responses => match &body["input"] {
                Value::String(text) => add_text(&mut pieces, "user", text),
                items => items.as_array().unwrap().iter().for_each(|item| add_message(&mut pieces, item)),
            },
        }
        Prompt::of(pieces)
    }

    fn of(pieces: Vec<Piece>) -> Prompt {
        let mut prefix_hashes = vec![0];
        for piece in &pieces {
            prefix_hashes.push(chain(prefix_hashes[prefix_hashes.len() - 1], piece));
        }
        Prompt { pieces, prefix_hashes }
    }

    /// The hash of the whole prompt.
    pub(super) fn hash(&self) -> u64 {
        self.prefix_hashes[self.pieces.len()]
    }

    /// Whether `later` begins with this prompt.
    pub(super) fn is_prefix_of(&self, later: &Prompt) -> bool {
        later.pieces.starts_with(&self.pieces)
    }

    /// Whether the pieces on both sides of this index are the user's.
    pub(super) fn is_inside_a_message(&self, length: usize) -> bool {
        let is_users = |piece: Option<&Piece>| piece.is_some_and(|piece| piece.role == "user");
        length > 0 && is_users(self.pieces.get(length - 1)) && is_users(self.pieces.get(length))
    }

    /// The prompt without Muninn's blocks, and the blocks, each with the number of the client's pieces before it.
    pub(super) fn without_injected(&self) -> (Prompt, Vec<(usize, &str)>) {
        let mut kept = Vec::new();
        let mut injected = Vec::new();
        for piece in &self.pieces {
            match &piece.content {
                Content::Injected(text) => injected.push((kept.len(), text.as_str())),
                _ => kept.push(piece.clone()),
            }
        }
        (Prompt::of(kept), injected)
    }

    /// The user's turns: every text of the user, since each may have been the last one in an earlier request.
    pub(super) fn turns(&self) -> Vec<Turn> {
        let mut turns: Vec<Turn> = Vec::new();
        let mut text = 0;
        let mut waiting = 0;
        for (index, piece) in self.pieces.iter().enumerate() {
            if piece.role != "assistant" && index > 0 && self.pieces[index - 1].role == "assistant" {
                for turn in &mut turns[waiting..] {
                    turn.answered = Some(text);
                }
                waiting = turns.len();
            }
            let Content::Text(words) = &piece.content else { continue };
            // Results of tools and a system prompt outside of the messages do not identify turns.
            if words.is_empty() || matches!(piece.role.as_str(), "top" | "tool") {
                continue;
            }
            text = chain(text, piece);
            if piece.role == "user" {
                turns.push(Turn { text, answered: None, end: index + 1 });
            }
        }
        if self.pieces.last().is_some_and(|piece| piece.role == "assistant") {
            for turn in &mut turns[waiting..] {
                turn.answered = Some(text);
            }
        }
        turns
    }

    /// One line for each piece, for reports.
    pub(super) fn outline(&self) -> String {
        let line = |piece: &Piece| {
            let (mark, text) = match &piece.content {
                Content::Text(text) => ("", text),
                Content::Injected(text) => ("+++ ", text),
                Content::Other(text) => ("* ", text),
            };
            let mut hasher = DefaultHasher::new();
            text.hash(&mut hasher);
            let words: String = text.chars().take(90).collect();
            format!("    {}: {mark}{words:?} #{:04x}", piece.role, hasher.finish() & 0xffff)
        };
        self.pieces.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

fn chain(before: u64, piece: &Piece) -> u64 {
    let mut hasher = DefaultHasher::new();
    before.hash(&mut hasher);
    piece.hash(&mut hasher);
    hasher.finish()
}

fn add_message(pieces: &mut Vec<Piece>, message: &Value) {
    let mut rest = message.as_object().expect("a message is an object").clone();
    rest.remove("id");
    let is_message = message["type"].is_null() || message["type"] == "message";
    if !is_message {
        // Calls have the model's role, results do not.
        let role =
            if message["type"].as_str().is_some_and(|kind| kind.ends_with("_call")) { "assistant" } else { "tool" };
        pieces.push(Piece { role: role.to_owned(), content: Content::Other(Value::Object(rest).to_string()) });
        return;
    }
    let role = match message["role"].as_str().unwrap_or_default() {
        "developer" => "system",
        role => role,
    };
    rest.remove("type");
    rest.remove("role");
    rest.remove("content");
    add_content(pieces, role, &message["content"]);
    if !rest.is_empty() {
        pieces.push(Piece { role: role.to_owned(), content: Content::Other(Value::Object(rest).to_string()) });
    }
}

fn add_content(pieces: &mut Vec<Piece>, role: &str, content: &Value) {
    if let Value::String(text) = content {
        return add_text(pieces, role, text);
    }
    for piece in content.as_array().into_iter().flatten() {
        let mut piece = piece.as_object().expect("a piece is an object").clone();
        piece.remove("cache_control");
        let is_text = piece.get("type").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("text"));
        match piece.get("text").and_then(Value::as_str) {
            Some(text) if is_text => add_text(pieces, role, text),
            _ => {
                pieces.push(Piece { role: role.to_owned(), content: Content::Other(Value::Object(piece).to_string()) });
            }
        }
    }
}

/// Adds a text, and Muninn's blocks within it as separate pieces.
fn add_text(pieces: &mut Vec<Piece>, role: &str, text: &str) {
    let mut add = |content| {
        pieces.push(Piece { role: role.to_owned(), content });
    };
    let mut rest = text;
    let mut found = false;
    while let Some(start) = rest.find(OPEN) {
        let end = start + rest[start..].find(CLOSE).expect("a fence is closed") + CLOSE.len();
        if !rest[..start].trim_end().is_empty() {
            add(Content::Text(rest[..start].trim_end().to_owned()));
        }
        add(Content::Injected(rest[start..end].to_owned()));
        rest = &rest[end..];
        found = true;
    }
    if !found || !rest.trim_end().is_empty() {
        add(Content::Text(rest.trim_end().to_owned()));
    }
}
