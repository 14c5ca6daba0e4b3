//! A request as a backend reads it: a plain sequence of who said what, without what makes no difference.
//!
//! Written apart from the gateway, over parsed JSON, so that the two can disagree.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use super::conversation::Format;

const OPEN: &str = "<muninn-context>";
const CLOSE: &str = "</muninn-context>\n";

/// One block, and who said it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Said {
    pub role: String,
    pub what: What,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum What {
    /// Text of a message, without trailing blanks.
    Text(String),
    /// One of our blocks.
    Injected(String),
    /// Calls, results, images, settings: whatever else a message holds.
    Other(String),
}

/// A turn of the user's side: the text so far, and how it went on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    /// Names the turn: all text up to here.
    pub text: u64,
    /// All text up to the end of the model's next words, if it has spoken since.
    pub answered: Option<u64>,
    /// How many blocks stand before the turn's end.
    pub end: usize,
}

/// A normalised prompt.
#[derive(Debug, Clone)]
pub(super) struct Prompt {
    pub said: Vec<Said>,
    /// A hash of each beginning, from the empty one to the whole.
    pub beginnings: Vec<u64>,
}

impl Prompt {
    pub(super) fn parse(format: Format, body: &[u8]) -> Prompt {
        let body: Value = serde_json::from_slice(body).expect("a body is JSON");
        let mut said = Vec::new();
        match format {
            Format::Messages => {
                add_content(&mut said, "top", &body["system"]);
                for message in body["messages"].as_array().unwrap() {
                    add_message(&mut said, message);
                }
            }
            Format::Chat => body["messages"]
                .as_array()
                .unwrap()
                .iter()
                .for_each(|message| add_message(&mut said, message)),
            Format::Responses => match &body["input"] {
                Value::String(text) => add_text(&mut said, "user", text),
                items => items
                    .as_array()
                    .unwrap()
                    .iter()
                    .for_each(|item| add_message(&mut said, item)),
            },
        }
        Prompt::of(said)
    }

    fn of(said: Vec<Said>) -> Prompt {
        let mut beginnings = vec![0];
        for block in &said {
            beginnings.push(chain(beginnings[beginnings.len() - 1], block));
        }
        Prompt { said, beginnings }
    }

    /// The hash of all of it.
    pub(super) fn whole(&self) -> u64 {
        self.beginnings[self.said.len()]
    }

    /// Whether `later` begins with all of this.
    pub(super) fn begins(&self, later: &Prompt) -> bool {
        later.said.starts_with(&self.said)
    }

    /// Whether the user's words go on across this place.
    pub(super) fn is_inside_a_message(&self, length: usize) -> bool {
        let is_users = |block: Option<&Said>| block.is_some_and(|block| block.role == "user");
        length > 0 && is_users(self.said.get(length - 1)) && is_users(self.said.get(length))
    }

    /// The same without our blocks, and each of ours with the number of the client's blocks before it.
    pub(super) fn without_injected(&self) -> (Prompt, Vec<(usize, &str)>) {
        let mut kept = Vec::new();
        let mut injected = Vec::new();
        for block in &self.said {
            match &block.what {
                What::Injected(text) => injected.push((kept.len(), text.as_str())),
                _ => kept.push(block.clone()),
            }
        }
        (Prompt::of(kept), injected)
    }

    /// The user's turns: every text block on the user's side, since any may have been the last one once.
    pub(super) fn turns(&self) -> Vec<Turn> {
        let mut turns: Vec<Turn> = Vec::new();
        let mut text = 0;
        let mut waiting = 0;
        for (index, block) in self.said.iter().enumerate() {
            if block.role != "assistant" && index > 0 && self.said[index - 1].role == "assistant" {
                for turn in &mut turns[waiting..] {
                    turn.answered = Some(text);
                }
                waiting = turns.len();
            }
            let What::Text(words) = &block.what else { continue };
            // A system prompt beside the messages and results of tools do not tell turns apart.
            if words.is_empty() || matches!(block.role.as_str(), "top" | "tool") {
                continue;
            }
            text = chain(text, block);
            if block.role == "user" {
                turns.push(Turn {
                    text,
                    answered: None,
                    end: index + 1,
                });
            }
        }
        if self.said.last().is_some_and(|block| block.role == "assistant") {
            for turn in &mut turns[waiting..] {
                turn.answered = Some(text);
            }
        }
        turns
    }

    /// A few words for each block, for reports.
    pub(super) fn outline(&self) -> String {
        let line = |block: &Said| {
            let (mark, text) = match &block.what {
                What::Text(text) => ("", text),
                What::Injected(text) => ("+++ ", text),
                What::Other(text) => ("* ", text),
            };
            let mut hasher = DefaultHasher::new();
            text.hash(&mut hasher);
            let words: String = text.chars().take(90).collect();
            format!("    {}: {mark}{words:?} #{:04x}", block.role, hasher.finish() & 0xffff)
        };
        self.said.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

fn chain(before: u64, block: &Said) -> u64 {
    let mut hasher = DefaultHasher::new();
    before.hash(&mut hasher);
    block.hash(&mut hasher);
    hasher.finish()
}

fn add_message(said: &mut Vec<Said>, message: &Value) {
    let mut rest = message.as_object().expect("a message is an object").clone();
    rest.remove("id");
    let is_message = message["type"].is_null() || message["type"] == "message";
    if !is_message {
        // A call is the model's, and so is what it thinks; a result is not.
        let role = if message["type"].as_str().is_some_and(|kind| kind.ends_with("_call")) {
            "assistant"
        } else {
            "tool"
        };
        said.push(Said {
            role: role.to_owned(),
            what: What::Other(Value::Object(rest).to_string()),
        });
        return;
    }
    let role = match message["role"].as_str().unwrap_or_default() {
        "developer" => "system",
        role => role,
    };
    rest.remove("type");
    rest.remove("role");
    rest.remove("content");
    add_content(said, role, &message["content"]);
    if !rest.is_empty() {
        said.push(Said {
            role: role.to_owned(),
            what: What::Other(Value::Object(rest).to_string()),
        });
    }
}

fn add_content(said: &mut Vec<Said>, role: &str, content: &Value) {
    if let Value::String(text) = content {
        return add_text(said, role, text);
    }
    for block in content.as_array().into_iter().flatten() {
        let mut block = block.as_object().expect("a block is an object").clone();
        block.remove("cache_control");
        let is_text = block
            .get("type")
            .and_then(Value::as_str)
            .is_some_and(|kind| kind.ends_with("text"));
        match block.get("text").and_then(Value::as_str) {
            Some(text) if is_text => add_text(said, role, text),
            _ => said.push(Said {
                role: role.to_owned(),
                what: What::Other(Value::Object(block).to_string()),
            }),
        }
    }
}

/// Adds a text, with our blocks inside it as blocks of their own.
fn add_text(said: &mut Vec<Said>, role: &str, text: &str) {
    let mut add = |what| {
        said.push(Said {
            role: role.to_owned(),
            what,
        });
    };
    let mut rest = text;
    let mut found = false;
    while let Some(start) = rest.find(OPEN) {
        let end = start + rest[start..].find(CLOSE).expect("a fence is closed") + CLOSE.len();
        if !rest[..start].trim_end().is_empty() {
            add(What::Text(rest[..start].trim_end().to_owned()));
        }
        add(What::Injected(rest[start..end].to_owned()));
        rest = &rest[end..];
        found = true;
    }
    if !found || !rest.trim_end().is_empty() {
        add(What::Text(rest.trim_end().to_owned()));
    }
}
