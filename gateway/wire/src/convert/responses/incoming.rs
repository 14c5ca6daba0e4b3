//! Incomplete items of a backend's answer, and their conversion to events.

use std::borrow::Cow;

use super::super::ConvertError;
use super::super::answer::{BlockKind, Event, Usage};
use super::super::request::{Dropped, OUR_SEAL};
use crate::{Joiner, Members, Text};

/// An incomplete item.
pub(super) struct Item {
    pub(super) id: String,
    pub(super) index: Option<u64>,
    pub(super) state: State,
    /// The number of the open block.
    pub(super) block: Option<usize>,
    /// The index of the part in the open block.
    pub(super) part: u64,
    /// The length of the open block's text so far, in bytes.
    pub(super) seen: usize,
    /// The joiner of the deltas of the open block.
    pub(super) joiner: Joiner,
}

impl Item {
    /// Decodes a delta, joined to the previous ones, or a whole text.
    pub(super) fn decode<'t>(&mut self, text: Text<'t>, is_delta: bool) -> Cow<'t, str> {
        if is_delta { self.joiner.join(text.piece()) } else { text.decode() }
    }
}

pub(super) enum State {
    Message,
    Reasoning {
        /// Whether the text is the thinking itself or a summary of it. If a backend sends both, the first is used.
        content: Option<bool>,
    },
    Call {
        call: String,
        name: String,
        /// The arguments before the name is known.
        held: String,
        /// Whether the arguments are free text.
        custom: bool,
    },
}

/// The kind of an item.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Message,
    Reasoning,
    Call,
}

impl State {
    pub(super) fn kind(&self) -> Kind {
        match self {
            State::Message => Kind::Message,
            State::Reasoning { .. } => Kind::Reasoning,
            State::Call { .. } => Kind::Call,
        }
    }

    /// Returns the initial state of an item, `None` for types that are not converted.
    pub(super) fn of(kind: &str) -> Option<State> {
        Some(match kind {
            "message" => State::Message,
            "reasoning" => State::Reasoning { content: None },
            "function_call" | "custom_tool_call" => State::Call {
                call: String::new(),
                name: String::new(),
                held: String::new(),
                custom: kind == "custom_tool_call",
            },
            _ => return None,
        })
    }
}

/// Adds text to the item's block, and opens the block first if necessary. Of a whole text, only the part after the
/// deltas is added.
pub(super) fn emit(
    item: &mut Item,
    next: &mut usize,
    kind: BlockKind,
    text: &str,
    is_delta: bool,
    events: &mut Vec<Event>,
) {
    let text = if is_delta {
        text
    } else {
        // The whole text includes a character whose first half may wait in the joiner.
        item.joiner = Joiner::default();
        text.get(item.seen..).unwrap_or_default()
    };
    let opens = matches!(kind, BlockKind::ToolCall { .. } | BlockKind::SealedThinking);
    if item.block.is_none() && (opens || !text.is_empty()) {
        events.push(Event::Open { block: *next, kind });
        item.block = Some(*next);
        *next += 1;
    }
    if let (Some(block), false) = (item.block, text.is_empty()) {
        item.seen += text.len();
        let text = text.to_owned();
        events.push(Event::Delta { block, text });
    }
}

/// Closes a complete item.
pub(super) fn close(item: &mut Item, events: &mut Vec<Event>) {
    match (&item.state, item.block) {
        // A server that sends thinking itself has no seals. Muninn's seal marks it to be sent back as plain text.
        (State::Reasoning { content: Some(true) }, Some(block)) => {
            let seal = format!("{OUR_SEAL}1");
            events.push(Event::Seal { block, seal });
        }
        (State::Call { .. }, Some(block)) if item.seen == 0 => {
            let text = "{}".to_owned();
            events.push(Event::Delta { block, text });
        }
        _ => {}
    }
    close_block(item, events);
}

pub(super) fn close_block(item: &mut Item, events: &mut Vec<Event>) {
    let half = item.joiner.end();
    if let Some(block) = item.block.take() {
        if let Some(text) = half {
            let text = text.to_owned();
            events.push(Event::Delta { block, text });
        }
        events.push(Event::Close { block });
        item.seen = 0;
    }
}

pub(super) fn read_usage(usage: &Members<'_>) -> Usage {
    let detail = |key: &str, name: &str| usage.get(key).and_then(Members::of)?.parse(name);
    Usage {
        input: usage.parse("input_tokens"),
        cached: detail("input_tokens_details", "cached_tokens"),
        cache_write: detail("input_tokens_details", "cache_write_tokens"),
        cache_write_1h: None,
        output: usage.parse("output_tokens"),
        reasoning: detail("output_tokens_details", "reasoning_tokens"),
    }
}

/// Returns the error for a field that needs state of the client's vendor: a stored conversation or a background answer.
pub(super) fn held_elsewhere(field: &'static str) -> ConvertError {
    ConvertError::HeldElsewhere { field, format: "responses" }
}

/// Counts what a part of an answer has beside its text.
pub(super) fn drop_beside_text(part: &Members<'_>, dropped: &mut Dropped) {
    dropped.add_all("answer.annotations", part.elements("annotations").len());
    if !part.elements("logprobs").is_empty() {
        dropped.add_once("answer.logprobs");
    }
}

/// Returns a type's name for the name of a dropped field. Other text becomes `unknown`, because a dropped field's name
/// must not contain a value.
pub(super) fn kind_name(kind: &str) -> &str {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    if !kind.is_empty() && kind.len() <= 64 && kind.bytes().all(plain) { kind } else { "unknown" }
}
