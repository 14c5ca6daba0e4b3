//! An item of a backend's answer while it comes in, and the events that it becomes.

use std::borrow::Cow;

use super::super::answer::{BlockKind, Event, Usage};
use crate::wire::{Joiner, Members, Text};

/// An item that is coming in.
pub(super) struct Item {
    pub(super) id: String,
    pub(super) index: Option<u64>,
    pub(super) state: State,
    /// Its open block.
    pub(super) block: Option<usize>,
    /// The part of the item that the block is of.
    pub(super) part: u64,
    /// How many bytes of that part have come.
    pub(super) seen: usize,
    /// Joins the deltas of that part.
    pub(super) joiner: Joiner,
}

impl Item {
    /// Decodes a delta, joined to those before it, or a whole text.
    pub(super) fn more<'t>(&mut self, text: Text<'t>, is_delta: bool) -> Cow<'t, str> {
        if is_delta {
            self.joiner.join(text.piece())
        } else {
            text.decode()
        }
    }
}

pub(super) enum State {
    Message,
    Reasoning {
        /// Whether the thinking itself comes, or a summary of it. What came first is taken.
        content: Option<bool>,
    },
    Call {
        call: String,
        name: String,
        /// What came before the name was known.
        held: String,
        /// Whether its arguments are free text.
        custom: bool,
    },
}

/// What an event is about.
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

    /// The state of an item by its type; `None` for items that mean nothing here.
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

/// Opens the item's block if need be, and adds to it: a delta, or what the whole text has beyond the deltas.
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
        // The whole text has what a half that waits has become.
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
        output: usage.parse("output_tokens"),
        reasoning: detail("output_tokens_details", "reasoning_tokens"),
    }
}
